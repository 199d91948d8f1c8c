//go:build unix

package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
)

// The commands priority, resign, remove and leave work with real processes.
func TestOperatorChangesMembers(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for algorithm, flags := range map[string][]string{"bully": {"--lease"}, "vote": nil} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			f := runCluster(t, 4, nil, append(flags, "--algorithm", algorithm, "--preset", "local")...)
			states := f.States()
			known := func(at string) string { return statusOf(t, at) }

			status, stdout, stderr := elect("priority", "--addr", states[0].Addr, "--", "-7")
			require.Zero(t, status, stderr)
			require.Equal(t, "the node at "+states[0].Addr+" has priority -7\n", stdout)
			require.Regexp(t, `(?m)^n1 .* -7  `, known(states[0].Addr))

			leader, ok := proccluster.Agreement(f.States())
			require.True(t, ok)
			status, stdout, stderr = elect("resign", leader.Addr, "--for", "30s", "--json")
			require.Zero(t, status, stderr)
			require.JSONEq(t, `{"action":"resign","addr":"`+leader.Addr+`","done":true}`, stdout)
			require.Regexp(t, `(?m)^`+leader.Name+` +standby `, known(leader.Addr))

			_, err := f.Signal("n4", proccluster.Kill)
			require.NoError(t, err)
			status, stdout, stderr = elect("remove", "n4", "--addr", states[1].Addr, "--json")
			require.Zero(t, status, stderr)
			require.JSONEq(t, `{"action":"remove","addr":"`+states[1].Addr+`","member":"n4","done":true}`, stdout)
			require.NotContains(t, known(states[1].Addr), "n4")

			_, err = f.RemoveNode(within(t), "n3", func(context.Context) error {
				status, stdout, stderr := elect("leave", "--addr", states[2].Addr)
				require.Zero(t, status, stderr)
				require.Equal(t, "the node at "+states[2].Addr+" has left\n", stdout)
				return nil
			})
			require.NoError(t, err)
			require.NotContains(t, known(states[1].Addr), "n3")

			status, stdout, stderr = elect("remove", "n9", "--addr", states[0].Addr, "--json")
			require.Equal(t, statusFailed, status)
			require.Contains(t, stderr, `remove "n9": there is no such member`)
			var o adminResult
			decodeStrictly(t, stdout, &o)
			require.False(t, o.Done)
			require.Contains(t, o.Reason, "no such member")
		})
	}
}

// A node that was removed while it was down learns of it at its next start. The error tells how to join again.
func TestRemovedNodeExplainsHowToRejoin(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	f := runCluster(t, 3, nil, "--preset", "local", "--lease")
	_, err := f.Signal("n3", proccluster.Term)
	require.NoError(t, err)
	require.NoError(t, client.Client{}.Remove(within(t), f.States()[0].Addr, "n3"))
	err = f.Restart(within(t), "n3")
	if err == nil { // the node was up before it learned of its removal
		err = f.WaitUntil(within(t), func([]proccluster.State) bool { return false })
	}
	require.ErrorContains(t, err, "this node was removed from the cluster: empty its data directory to have it join as a new member")
}

// The node applied the request, but could not inform all members: the command succeeds, and prints the reason once.
func TestRequestAppliedAtOneNodeSucceeds(t *testing.T) {
	here := &client.PartiallyAppliedError{Addr: "a:1", Reason: "done here, and not known to n2"}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		cmd := builtins.newPriority()
		cmd.SetOut(&out)
		cmd.SetContext(t.Context())
		o := adminCommand{access: access{table: builtins.fields}, addr: "a:1", timeout: time.Minute, json: asJSON}
		require.NoError(t, o.execute(cmd, adminResult{Action: "priority"}, "the node at a:1 has priority 7", func(context.Context, client.Client) error { return here }))
		if asJSON {
			require.JSONEq(t, `{"action":"priority","addr":"a:1","done":true,"reason":"done here, and not known to n2"}`, out.String())
		} else {
			require.Equal(t, "the node at a:1 has priority 7: done here, and not known to n2\n", out.String())
		}
	}
}

// No restart repairs these settings, so the node exits with a status after which systemd does not restart it.
func TestUnstartableConfigHasUsageStatus(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for want, flags := range map[string][]string{
		"the settings name no members":         {"--lease=off"},
		"a witness cannot bootstrap a cluster": {"--bootstrap", "--witness", "--lease", "--data-dir", t.TempDir()},
	} {
		p := launch(t, append([]string{"node", "--listen", "127.0.0.1:0"}, flags...)...)
		require.Equal(t, statusUsage, p.status(t))
		require.Contains(t, p.stderr.text(), want)
	}
}

func TestUsageOfAdminCommands(t *testing.T) {
	for args, want := range map[string]string{
		"remove --addr a:1":                    "remove wants the name or the id of one member, and got 0",
		"remove a b --addr a:1":                "got 2",
		"remove a":                             "--addr is missing, want the address of a node, host:port",
		"remove a --addr x":                    `the address is "x", want host:port`,
		"remove a x":                           `the address is "x", want host:port`,
		"remove a b:1 --addr a:1":              "remove wants the name or the id of one member, and got 2",
		"resign":                               "resign wants one address, host:port, and got 0",
		"resign a:1 --addr a:1":                "resign wants one address, host:port, and got 2",
		"remove a --addr a:1 --timeout 0s":     "--timeout is 0s, want more than 0",
		"leave x --addr a:1":                   "leave wants one address, host:port, and got 2",
		"priority --addr a:1":                  "priority wants one number, and got 0",
		"priority high --addr a:1":             `the priority is "high", want a whole number of 32 bits`,
		"priority 4294967296 --addr a:1":       "want a whole number of 32 bits",
		"resign --addr a:1 --for -1s":          "--for is -1s, want from 0 to 24h",
		"resign --addr a:1 --for 25h":          "--for is 25h0m0s, want from 0 to 24h",
		"resign --addr a:1 --for soon":         `--for is "soon", want a duration`,
		"demo --join --rounds -1 --nodes 4 -x": "unknown shorthand flag",
	} {
		status, stdout, stderr := elect(strings.Fields(args)...)
		require.Equal(t, statusUsage, status, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
	}
	for _, form := range []string{"leave --addr 127.0.0.1:1 --timeout 1s", "leave 127.0.0.1:1", "status 127.0.0.1:1", "status --addr 127.0.0.1:1", "remove a 127.0.0.1:1"} {
		want := "127.0.0.1:1: connect: connection refused"
		if !strings.HasPrefix(form, "status") {
			want += ": the request was not sent"
		}
		status, _, stderr := elect(strings.Fields(form)...)
		require.Equal(t, statusFailed, status)
		require.Equal(t, "elect: "+want+"\n", stderr, "the address is said once: %s", form)
		_, stdout, _ := elect(append(strings.Fields(form), "--json")...)
		var object map[string]any
		decodeStrictly(t, stdout, &object)
		require.Equal(t, want, object["reason"], form)
		require.Equal(t, "127.0.0.1:1", object["addr"], form)
	}
}

func TestDemoAddsAndRemovesNode(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for _, algorithm := range []string{"bully", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			p := launch(t, "demo", "--join", "--json", "--rounds", "0", "--nodes", "3", "--algorithm", algorithm)
			require.Zero(t, p.status(t), p.stderr.text())
			var o joinObject
			decodeStrictly(t, p.stdout.text(), &o)
			require.Equal(t, algorithm+lease.Suffix, o.Algorithm)
			require.Equal(t, "n4", o.Joined)
			require.Contains(t, []string{"n2", "n3"}, o.Removed, "neither the contacted member nor the leader")
			require.Len(t, o.Members, 3)
			require.Contains(t, o.Members, "n4")
			require.NotContains(t, o.Members, o.Removed)
			require.Positive(t, o.RemoveMS)
			p.requireClean(t)
		})
	}
	p := launch(t, "demo", "--join", "--nodes", "3", "--rounds", "1")
	require.Zero(t, p.status(t), p.stderr.text())
	for _, want := range []string{"n4 joins through n1. All 4 know it", "n4 is the highest now", "n2 is removed through n1 (elect remove n2), and stops. The other 3 know it", "n2     removed", "n4, the leader, is killed"} {
		require.Contains(t, p.stdout.text(), want)
	}
	p.requireClean(t)
}
