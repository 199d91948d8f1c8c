//go:build unix

package cli

import (
	"cmp"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// Three of five nodes are killed for good. One of the other two becomes the only member and leads within the bound.
// Epochs only increase. A removed node that is started again stops without leading.
func TestSurvivorRecoversLostQuorum(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for algorithm, flags := range map[string][]string{"vote": nil, "bully": {"--lease"}, "ring": {"--lease"}} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			history := newHistory()
			history.oneLeaderPerEpoch = true
			var mu sync.Mutex
			var ready, elected int64 // times of the survivor
			var led []string         // leaders since the last start
			f := runCluster(t, 5, func(node string, e trace.Event) {
				history.add(node, e)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case e.Kind == trace.Ready:
					ready, elected, led = int64(e.At), 0, nil
				case e.Kind == trace.Announce && !e.Leader.IsVacant():
					elected = int64(e.At)
					if proccluster.IsOwnLeadership(e) {
						led = append(led, node)
					}
				}
			}, append(flags, "--preset", "local", "--algorithm", algorithm)...)
			before, _ := proccluster.Agreement(f.States())
			data := func(node string) string { return filepath.Join(f.Dir(), node) }
			recovers := func(node, survivor string) (int, string, string) {
				return elect("recover", "--data-dir", data(node), "--survivor", survivor, "--yes", "--json")
			}
			signal := func(s proccluster.Signal, nodes ...string) {
				for _, node := range nodes {
					_, err := f.Signal(node, s)
					require.NoError(t, err)
				}
			}
			signal(proccluster.Kill, "n1", "n3", "n5")
			status, stdout, stderr := recovers("n2", "n2")
			require.Equal(t, statusFailed, status)
			require.Contains(t, stderr, "in use by another process")
			require.Contains(t, stdout, `"written":false,"reason":"`)
			signal(proccluster.Term, "n2")
			for began := time.Now(); ; {
				status, _, stderr = recovers("n2", "n2")
				require.Equal(t, statusFailed, status)
				if busy := strings.Contains(stderr, "does not identify itself"); !busy || time.Since(began) > patience {
					break
				}
			}
			require.Contains(t, stderr, "n4 runs, at "+f.States()[3].Addr)
			signal(proccluster.Term, "n4")
			status, stdout, stderr = recovers("n2", "n2")
			require.Zero(t, status, stderr)
			require.Contains(t, stderr, "What may be lost")
			var done recoveryObject
			decodeStrictly(t, stdout, &done)
			require.True(t, done.Written)
			require.Equal(t, "n2", done.Survivor.Name)
			require.Len(t, done.Removed, 4)

			lost := losing(f)
			require.NoError(t, f.Restart(within(t), "n2"))
			leader, err := f.WaitQuiet(within(t))
			require.NoError(t, err)
			require.GreaterOrEqual(t, leader.Epoch, uint64(done.Epoch))
			require.Greater(t, leader.Epoch, before.Epoch)
			mu.Lock()
			require.Less(t, time.Duration(elected-ready), algo.Local().RecoveryBound()+lost())
			mu.Unlock()
			require.NotContains(t, statusOf(t, leader.Addr), "n3")

			for _, node := range []string{"n4", "n5"} {
				err = f.Restart(within(t), node)
				if err == nil { // the node was up before it learned of its removal
					err = f.WaitUntil(within(t), func([]proccluster.State) bool { return false })
				}
				require.ErrorContains(t, err, "this node was removed from the cluster")
				mu.Lock()
				require.NotContains(t, led, node)
				mu.Unlock()
			}
			require.Empty(t, history.wrong, "the history")
		})
	}
}

// A process at the address of a removed member may be that member, unless it identifies itself as another node, or
// sends bytes that no node sends.
func TestRecoverRejectsRemovedMemberThatMayRun(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	banner := func(text string) string { return listenAs(t, func(c net.Conn) { _, _ = io.WriteString(c, text) }) }
	member := algo.Member{ID: algo.NodeID{15: 1}, Name: "n1"}
	for _, tc := range []struct {
		name, addr, want string
		timeout          time.Duration
	}{
		{"no process", "127.0.0.1:1", "", 0},
		{"another program", banner("220 mail.example.org ESMTP Postfix, and so on and so forth\r\n"), "", 0},
		{"another node", runCluster(t, 2, nil).States()[0].Addr, "", 0},
		{"silence", listenAs(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "a process accepts connections and does not identify itself (", time.Second},
		{"immediate close", listenAs(t, func(net.Conn) {}), "a process accepts connections and does not identify itself (", 0},
	} {
		r := recovery{access: access{table: builtins.fields}, timeout: cmp.Or(tc.timeout, time.Minute)} // only a silent process exhausts it
		member.Addr = tc.addr
		err := r.requireUnreachable(t.Context(), []algo.Member{member})
		for began := time.Now(); tc.want == "" && err != nil && time.Since(began) < patience; { // the node is busy
			err = r.requireUnreachable(t.Context(), []algo.Member{member})
		}
		if tc.want == "" {
			require.NoError(t, err, tc.name)
			continue
		}
		require.ErrorContains(t, err, "at "+tc.addr+", the address of n1, "+tc.want, tc.name)
	}
}

// listenAs accepts connections, serves each, and closes it.
func listenAs(t *testing.T, serve func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { serve(c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

// stoppedPair returns the data directories of two stopped members.
func stoppedPair(t *testing.T) (a, b string) {
	f := runCluster(t, 2, nil, "--preset", "local", "--lease")
	for _, node := range []string{"n1", "n2"} {
		_, err := f.Signal(node, proccluster.Term)
		require.NoError(t, err)
	}
	return filepath.Join(f.Dir(), "n1"), filepath.Join(f.Dir(), "n2")
}

func TestRecoverExplainsItsEffects(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	a, _ := stoppedPair(t)
	status, _, stderr := elect("recover", "--data-dir", a, "--survivor", "n3")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "the survivor is the node of this folder (n1)", "the problem is reported before the question")
	status, _, stderr = elect("recover", "--data-dir", a, "--survivor", "n1")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "--yes is missing: standard input is no terminal on which to ask")
	status, stdout, stderr := elect("recover", "--data-dir", a, "--survivor", "n1", "--yes")
	require.Zero(t, status, stderr)
	for _, want := range []string{
		`(?m)^cluster +elect$`, `(?m)^member +n1 \(127`, `(?m)^removed +n2 \(127`, `(?m)^epoch +continues at [1-9]\d{9}`,
		"may lead next\n  to the survivor", "will be alone", "Written. It can be started.",
	} {
		require.Regexp(t, want, stdout)
	}
	status, stdout, stderr = elect("recover", "--data-dir", a, "--survivor", "n1", "--yes")
	require.Zero(t, status, stderr)
	require.Equal(t, "It is the only member already: nothing was written.\n", stdout)
	status, stdout, stderr = elect("recover", "--data-dir", a, "--survivor", "n1", "--json")
	require.Zero(t, status, stderr, "there is nothing to confirm")
	var nothing recoveryObject
	decodeStrictly(t, stdout, &nothing)
	require.Zero(t, nothing.Epoch)
	require.Equal(t, []string{"cluster", "data", "epoch", "node", "removed", "survivor", "written"}, keys(t, stdout))
}

func TestNodeWithoutQuorumNeedsNoRecovery(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	f := runCluster(t, 1, nil, "--preset", "local", "--lease=off")
	_, err := f.Signal("n1", proccluster.Term)
	require.NoError(t, err)
	status, _, stderr := elect("recover", "--data-dir", filepath.Join(f.Dir(), "n1"), "--survivor", "n1", "--yes")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "its algorithm needs no quorum")
}

func TestUsageOfRecover(t *testing.T) {
	for args, want := range map[string]string{
		"--survivor a --yes":                           "--data-dir is missing, want the data directory of a node",
		"--data-dir /no/such/folder --yes":             "--survivor is missing, want the name or id of the node of this folder",
		"--data-dir x --survivor a --yes --timeout 0s": "--timeout is 0s, want more than 0",
		"--data-dir x --survivor a b":                  `unknown command "b"`,
	} {
		status, stdout, stderr := elect(append([]string{"recover"}, strings.Fields(args)...)...)
		require.Equal(t, statusUsage, status, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
	}
	status, _, stderr := elect("recover", "--data-dir", "/no/such/folder", "--survivor", "a", "--yes")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "/no/such/folder is not the data directory of a node")
}
