//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// startCopy runs a node on a folder, at an address of its own, with members as its peers. The node must stop by itself.
// startCopy returns its log.
func startCopy(t *testing.T, name, data string, members []proccluster.State) string {
	t.Helper()
	args := []string{"node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", name, "--data-dir", data, "--lease=off", "--priority", name[1:]}
	for _, m := range members {
		args = append(args, "--members", m.Addr)
	}
	p := launch(t, args...)
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	require.NotContains(t, p.stderr.text(), `msg="became leader"`)
	return p.stderr.text()
}

// hears waits until the node has received the given number of further heartbeats.
func hears(t *testing.T, addr string, more uint64) {
	t.Helper()
	received := func() uint64 {
		s, _ := client.Client{}.Status(within(t), addr)
		return s.Counters["received.heartbeat"]
	}
	before := received()
	require.NotZero(t, before)
	require.Eventually(t, func() bool { return received() >= before+more }, patience, algo.LAN().Heartbeat)
}

func copyOf(t *testing.T, folder string) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(data, os.DirFS(folder)))
	return data
}

// A node on a copy of the data directory of a running process stops and reports the reason, and its peers are not
// disturbed. A node on a backup stops too if the original was started again later, even if the original is down.
func TestCopiedOrRestoredDataDirectoryStopsNode(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	var mu sync.Mutex
	var elections []string
	f := runCluster(t, 3, func(node string, e trace.Event) {
		if e.Kind == trace.Announce || e.Kind == trace.Send && (e.Message.Kind() == "election" || e.Message.Kind() == "coordinator") {
			mu.Lock()
			defer mu.Unlock()
			elections = append(elections, node+" "+string(e.Kind))
		}
	}, "--lease=off")
	before := f.States()
	mu.Lock()
	elections = nil
	mu.Unlock()
	backup := copyOf(t, filepath.Join(f.Dir(), "n1"))
	for _, n := range []proccluster.State{before[2], before[0]} { // the leader, a follower
		said := startCopy(t, n.Name, copyOf(t, filepath.Join(f.Dir(), n.Name)), before)
		require.Contains(t, said, cluster.ErrDuplicateID.Error())
		require.Regexp(t, `node id [0-9a-f-]{36} is in use by another process, at `+n.Addr+`; this process is at 127\.0\.0\.1:[0-9]+`, said)
	}
	hears(t, before[0].Addr, uint64(2*algo.LAN().Timeout/algo.LAN().Heartbeat)) // long enough for an election to show
	mu.Lock()
	require.NotContains(t, elections, "n1 leader n1")
	require.Empty(t, slices.DeleteFunc(elections, func(e string) bool { return e == "n3 send coordinator" }))
	mu.Unlock()
	for i, n := range f.States() {
		require.Equal(t, before[i].Epoch, n.Epoch)
		require.Equal(t, before[i].Addr, n.Addr)
	}

	for range 2 {
		_, err := f.Signal("n1", proccluster.Kill)
		require.NoError(t, err)
		require.NoError(t, f.Restart(within(t), "n1"))
		_, err = f.WaitQuiet(within(t))
		require.NoError(t, err)
	}
	_, err := f.Signal("n1", proccluster.Kill)
	require.NoError(t, err)
	said := startCopy(t, "n1", backup, before)
	require.Contains(t, said, cluster.ErrDuplicateID.Error())
	require.Regexp(t, `was started later, at `+before[0].Addr+`; this process is at 127\.0\.0\.1:[0-9]+`, said)
	require.NoError(t, f.Restart(within(t), "n1"))
	_, err = f.WaitQuiet(within(t))
	require.NoError(t, err)
}

// The data directory of a single node names no peer. Its copy contacts the address of the original.
func TestCopyOfSingleNodeFolderStopsNode(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	startNode(t, "--data-dir", data, "--lease")
	p := launch(t, "node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--data-dir", copyOf(t, data), "--lease")
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	require.Contains(t, p.stderr.text(), cluster.ErrDuplicateID.Error())
}
