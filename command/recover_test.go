//go:build unix

package command

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
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/testenv"
)

// Three of five are killed for good. The other two are told so, elect within the bound, and no
// epoch comes twice or goes back. One of the dead that is started all the same stops, and does not
// lead.
func TestALostMajorityIsRecovered(t *testing.T) {
	testenv.OnlyLong(t)
	t.Parallel()
	for _, algorithm := range []string{"vote", "bully", "ring"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			history := newHistory()
			history.oneLeaderPerEpoch = algorithm == "vote"
			var mu sync.Mutex
			var ready, elected int64 // of both survivors, the later one
			var led []string         // since they are recovered
			f := runFleet(t, 5, func(node string, e fleet.Event) {
				history.add(node, e)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case e.What == fleet.Ready:
					ready, elected, led = e.At, 0, nil
				case e.What == fleet.Leader && e.Peer != "":
					elected = e.At
					if e.Leads {
						led = append(led, node)
					}
				}
			}, "--preset", "local", "--algorithm", algorithm)
			before, _ := fleet.Agreement(f.States())
			data := func(node string) string { return filepath.Join(f.Dir(), node) }
			recovers := func(node, survivors string) (int, string, string) {
				return elect("recover", "--data", data(node), "--survivors", survivors, "--yes", "--json")
			}
			signal := func(s fleet.Signal, nodes ...string) {
				for _, node := range nodes {
					_, err := f.Signal(node, s)
					require.NoError(t, err)
				}
			}
			signal(fleet.Kill, "n1", "n3", "n5")
			status, stdout, stderr := recovers("n2", "n2,n4")
			require.Equal(t, statusFailed, status)
			require.Contains(t, stderr, "in use by another process")
			require.Contains(t, stdout, `"written":false,"reason":"`)
			signal(fleet.Term, "n2")
			for began := time.Now(); ; {
				status, _, stderr = recovers("n2", "n2")
				require.Equal(t, statusFailed, status)
				if busy := strings.Contains(stderr, "does not say who it is"); !busy || time.Since(began) > patience {
					break
				}
			}
			require.Contains(t, stderr, "n4 runs, at "+f.States()[3].Addr)
			signal(fleet.Term, "n4")
			survivors, removed := []string{"n4", "n2"}, []string{"n5"}
			if algorithm == "vote" { // with a quorum one survivor is recovered
				survivors, removed = []string{"n2"}, []string{"n4", "n5"}
			}
			var said []recoveryObject
			for _, node := range survivors {
				status, stdout, stderr = recovers(node, strings.Join(survivors, ","))
				require.Zero(t, status, stderr)
				require.Contains(t, stderr, "What may be lost")
				var o recoveryObject
				decodeStrictly(t, stdout, &o)
				said = append(said, o)
			}
			for _, o := range said {
				require.True(t, o.Written)
				require.Equal(t, said[0].Epoch, o.Epoch)
				require.Equal(t, said[0].Removed, o.Removed)
			}

			lost := losing(f)
			for _, node := range survivors {
				require.NoError(t, f.Restart(within(t), node))
			}
			leader, err := f.Settle(within(t))
			require.NoError(t, err)
			require.GreaterOrEqual(t, leader.Epoch, uint64(said[0].Epoch))
			require.Greater(t, leader.Epoch, before.Epoch)
			mu.Lock()
			require.Less(t, time.Duration(elected-ready), algo.Local().Bound()+lost())
			mu.Unlock()
			require.NotContains(t, statusOf(t, leader.Addr), "n3")

			for _, node := range removed {
				err = f.Restart(within(t), node)
				if err == nil { // it was up before it was told
					err = f.Await(within(t), func([]fleet.State) bool { return false })
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

// What answers at the address of one who is removed may be that member: unless it says that it is
// somebody else, or nothing that a node says.
func TestWhoIsRemovedMustNotAnswer(t *testing.T) {
	testenv.OnlyLong(t)
	t.Parallel()
	banner := func(text string) string { return listenAs(t, func(c net.Conn) { _, _ = io.WriteString(c, text) }) }
	member := algo.Member{ID: algo.NodeID{15: 1}, Name: "n1"}
	for _, tc := range []struct {
		name, addr, want string
		timeout          time.Duration
	}{
		{"nobody", "127.0.0.1:1", "", 0},
		{"another program", banner("220 mail.example.org ESMTP Postfix, and so on and so forth\r\n"), "", 0},
		{"another node", runFleet(t, 2, nil).States()[0].Addr, "", 0},
		{"silence", listenAs(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "somebody accepts connections and does not say who it is (", time.Second},
		{"a door that is shut", listenAs(t, func(net.Conn) {}), "somebody accepts connections and does not say who it is (", 0},
	} {
		r := recovery{access: access{table: builtins.fields}, timeout: cmp.Or(tc.timeout, time.Minute)} // only silence waits for its end
		member.Addr = tc.addr
		err := r.reachesNone(t.Context(), []algo.Member{member})
		for began := time.Now(); tc.want == "" && err != nil && time.Since(began) < patience; { // it is busy
			err = r.reachesNone(t.Context(), []algo.Member{member})
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

// stoppedPair is the data folders of a founder and of one that it let in, both of which have stopped.
func stoppedPair(t *testing.T) (a, b string) {
	f := runFleet(t, 2, nil, "--preset", "local")
	for _, node := range []string{"n1", "n2"} {
		_, err := f.Signal(node, fleet.Term)
		require.NoError(t, err)
	}
	return filepath.Join(f.Dir(), "n1"), filepath.Join(f.Dir(), "n2")
}

func TestRecoverSaysWhatItDoes(t *testing.T) {
	testenv.OnlyLong(t)
	t.Parallel()
	a, b := stoppedPair(t)
	status, stdout, stderr := elect("recover", "--data", a, "--survivors", "n1,n2", "--yes")
	require.Zero(t, status, stderr)
	require.Equal(t, "These are all the members already: nothing was written.\n", stdout)
	status, stdout, stderr = elect("recover", "--data", a, "--survivors", "n1,n2", "--json")
	require.Zero(t, status, stderr, "there is nothing to confirm")
	var nothing recoveryObject
	decodeStrictly(t, stdout, &nothing)
	require.Zero(t, nothing.Epoch)
	status, _, stderr = elect("recover", "--data", a, "--survivors", "n3")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, `it knows of no member "n3"`, "a mistake in the list is said before")
	status, _, stderr = elect("recover", "--data", a, "--survivors", "n1")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "--yes is missing: standard input is no terminal on which to ask")
	status, stdout, stderr = elect("recover", "--data", a, "--survivors", "n1", "--yes")
	require.Zero(t, status, stderr)
	for _, want := range []string{
		`(?m)^cluster +elect$`, `(?m)^members +n1 \(127`, `(?m)^removed +n2 \(127`, `(?m)^epoch +goes on at 2147483648$`,
		"may lead, beside the leader", "It will be alone", "Written. It can be started.",
	} {
		require.Regexp(t, want, stdout)
	}
	status, stdout, stderr = elect("recover", "--data", b, "--survivors", "n1,n3", "--yes", "--json")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, `it knows of no member "n3"`)
	require.Equal(t, []string{"cluster", "data", "epoch", "node", "reason", "removed", "survivors", "unmet", "written"}, keys(t, stdout))
}

func TestUsageOfRecover(t *testing.T) {
	for args, want := range map[string]string{
		"--survivors a --yes":                       "--data is missing, want the data folder of a node",
		"--data /no/such/folder --yes":              "--survivors is missing, want the names or ids of all who survive",
		"--data x --survivors a --yes --timeout 0s": "--timeout is 0s, want more than 0",
		"--data x --survivors a b":                  `unknown command "b"`,
	} {
		status, stdout, stderr := elect(append([]string{"recover"}, strings.Fields(args)...)...)
		require.Equal(t, statusUsage, status, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
	}
	status, _, stderr := elect("recover", "--data", "/no/such/folder", "--survivors", "a", "--yes")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "/no/such/folder is not the data folder of a node")
}
