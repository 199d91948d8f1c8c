package proccluster_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/elect-go/elect/internal/proccluster"
)

var background = context.Background()

// config returns the config of a cluster of fake nodes.
func config(nodes int, args ...string) proccluster.Config {
	return proccluster.Config{Command: []string{os.Args[0]}, Env: []string{roleEnv + "=node"}, Nodes: nodes, Args: args}
}

// within returns a context that ends after two minutes, which is enough on the slowest machine.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, c proccluster.Config) *proccluster.Cluster {
	t.Helper()
	f, err := proccluster.New(within(t), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// watch returns a function that waits until the process that listens at addr has ended.
func watch(t *testing.T, addr string) (gone func()) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return func() {
		t.Helper()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(2*time.Minute)))
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the process at %s still runs", addr)
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "left behind")
}

func TestNodeNamesFollowPriorities(t *testing.T) {
	f := start(t, config(3))
	seen := make(map[string]bool)
	for i, s := range f.States() {
		require.Equal(t, []string{"n1", "n2", "n3"}[i], s.Name)
		require.Equal(t, idOf(s.Name).String(), s.ID)
		require.Equal(t, proccluster.Up, s.ProcState)
		require.Positive(t, s.Pid)
		require.Positive(t, s.ReadyAt)
		require.DirExists(t, filepath.Join(f.Dir(), s.Name))
		require.False(t, seen[s.Addr], "%s has the address of another", s.Name)
		seen[s.Addr] = true
	}
}

func TestStaticMembersGetDistinctAddresses(t *testing.T) {
	f := start(t, config(2))
	require.NotEqual(t, f.States()[0].Addr, f.States()[1].Addr)
}

// freeAddrs returns addresses at which no process listens.
func freeAddrs(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // after all are chosen, because they must differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

func TestEachNodeRunsOnItsHost(t *testing.T) {
	for _, joins := range []bool{false, true} {
		c := config(2)
		c.Joins, c.Env = joins, nil
		for _, addr := range freeAddrs(t, 2) {
			c.Hosts = append(c.Hosts, proccluster.Host{Command: []string{"env", roleEnv + "=node"}, Addr: addr})
		}
		f := start(t, c)
		for i, s := range f.States() {
			require.Equal(t, c.Hosts[i].Addr, s.Addr)
		}
	}
	c := config(2)
	c.Hosts = []proccluster.Host{{}}
	_, err := proccluster.New(within(t), c)
	require.ErrorContains(t, err, "2 nodes on 1 hosts")
}

func TestRestartedNodeKeepsAddressAndFolder(t *testing.T) {
	f := start(t, config(2))
	before := f.States()[1]
	kept := filepath.Join(f.Dir(), "n2", "kept")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.Error(t, f.Restart(within(t), "n2"), "it still runs")

	_, err := f.Signal("n2", proccluster.Kill)
	require.NoError(t, err)
	require.Equal(t, proccluster.Down, f.States()[1].ProcState)
	_, err = f.Signal("n2", proccluster.Kill)
	require.ErrorContains(t, err, "n2: it is down")
	require.NoError(t, f.Restart(within(t), "n2"))

	after := f.States()[1]
	require.Equal(t, before.Addr, after.Addr)
	require.NotEqual(t, before.Pid, after.Pid)
	require.FileExists(t, kept)
}

func TestNodeCampaignsOnRequest(t *testing.T) {
	f := start(t, config(2))
	require.NoError(t, f.Campaign("n2"))
	require.NoError(t, f.WaitUntil(within(t), func(states []proccluster.State) bool {
		return states[1].Sent[proccluster.Campaign] == 1 && states[0].Total() == 0
	}))
	require.ErrorContains(t, f.Campaign("n3"), `no node "n3"`)
	_, err := f.Signal("n2", proccluster.Kill)
	require.NoError(t, err)
	require.ErrorContains(t, f.Campaign("n2"), "n2: it is down")
}

func TestCloseLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := config(3)
	c.Dir = t.TempDir()
	f, err := proccluster.New(within(t), c)
	require.NoError(t, err)
	var gone []func()
	for _, s := range f.States() {
		gone = append(gone, watch(t, s.Addr))
	}
	_, err = f.Signal("n2", proccluster.Stop) // a paused process does not react to Term
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for _, wait := range gone {
		wait()
	}
	requireEmpty(t, c.Dir)
	require.NoError(t, f.Close(), "a second time")
	require.ErrorContains(t, f.Restart(within(t), "n1"), "closed")
}

func TestFailedStartLeavesNothingAndReportsCause(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*proccluster.Config)
		want   []string
	}{
		{"no such program", func(c *proccluster.Config) { c.Command = []string{"/no/such/program"} }, []string{"start n1", "/no/such/program"}},
		{"first node fails", func(c *proccluster.Config) { c.Args = []string{"--fault", "start", "--at", "n1"} }, []string{"start n1", "exit status 3", "no such luck"}},
		{"other node fails", func(c *proccluster.Config) { c.Args = []string{"--fault", "start", "--at", "n3"} }, []string{"start n3", "exit status 3", "first line\nno such luck"}},
		{"never ready", func(c *proccluster.Config) {
			c.Args = []string{"--fault", "mute", "--at", "n1"}
			c.StartTimeout = 50 * time.Millisecond
		}, []string{"start n1", "not ready after 50ms"}},
		{"no nodes", func(c *proccluster.Config) { c.Nodes = 0 }, []string{"0 nodes"}},
		{"no command", func(c *proccluster.Config) { c.Command = nil }, []string{"command"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config(3)
			c.Dir = t.TempDir()
			tc.change(&c)
			_, err := proccluster.New(within(t), c)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
			requireEmpty(t, c.Dir)
		})
	}
}

func TestNodeGetsItsOwnFlags(t *testing.T) {
	c := config(2)
	c.ArgsOf = func(name string) []string {
		if name == "n2" {
			return []string{"--fault", "start"}
		}
		return nil
	}
	_, err := proccluster.New(within(t), c)
	require.ErrorContains(t, err, "start n2")
	require.NotContains(t, err.Error(), "start n1")
}

func TestNewEndsWithItsContext(t *testing.T) {
	c := config(2, "--fault", "mute")
	c.Dir = t.TempDir()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := proccluster.New(ctx, c)
	require.ErrorIs(t, err, cause)
	requireEmpty(t, c.Dir)
}

func TestAwaitReportsNodeFailure(t *testing.T) {
	for fault, want := range map[string]string{
		"end":     "n2 ended: exit status 4; it said:\nhad enough",
		"garbage": `n2 wrote "no event"`,
	} {
		t.Run(fault, func(t *testing.T) {
			f := start(t, config(2, "--fault", fault, "--at", "n2"))
			err := f.WaitUntil(within(t), func([]proccluster.State) bool { return false })
			require.ErrorContains(t, err, want)
		})
	}
}

func TestAwaitEndsWithContextAndReportsStates(t *testing.T) {
	f := start(t, config(2))
	_, err := f.Signal("n2", proccluster.Kill)
	require.NoError(t, err)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = f.WaitLeader(ctx)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "n1 is up and follows no leader in epoch 0; n2 is down")
	_, err = f.FailLeader(proccluster.Kill)
	require.ErrorIs(t, err, proccluster.ErrNoLeader)
}

// If the holder is killed, the kernel kills the nodes where it can. Elsewhere they end at the end of their standard
// input.
func TestNodesEndWithKilledHolder(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=holder")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	read := bufio.NewScanner(out)
	line := func() string { require.True(t, read.Scan()); return strings.TrimSpace(read.Text()) }
	gone := []func(){watch(t, line()), watch(t, line())}
	dir := line()
	t.Cleanup(func() { os.RemoveAll(dir) }) // the killed holder cannot remove it
	require.NoError(t, cmd.Process.Kill())
	for _, wait := range gone {
		wait()
	}
	_ = cmd.Wait()
}

func TestFleetRejectsUnknownNames(t *testing.T) {
	f := start(t, config(1))
	_, err := f.Signal("n9", proccluster.Kill)
	require.ErrorContains(t, err, `"n9"`)
	require.ErrorContains(t, f.Restart(within(t), "n9"), `"n9"`)
	_, err = f.Recover(within(t), "n9", false)
	require.ErrorContains(t, err, `"n9"`)
	for _, s := range []string{"", "cont", "KILL"} {
		_, err := proccluster.ParseSignal(s)
		require.ErrorContains(t, err, "want kill, stop or term")
	}
}
