//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// The procedure of docs/operations.md with real processes: stop all nodes, change the algorithm in the file, start all
// nodes. IDs stay, and epochs only increase.
func TestClusterChangesAlgorithmByRestart(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "elect.yaml")
	word := func(algorithm string) {
		require.NoError(t, os.WriteFile(file, []byte("algorithm: "+algorithm+"\n"), 0o600))
	}
	var mu sync.Mutex
	newest := make(map[string]uint64) // epoch, by node
	var wrong []string
	follow := func(node string, e trace.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == trace.Announce && !e.Leader.IsVacant() {
			epoch := uint64(e.Leader.Epoch)
			if epoch < newest[node] {
				wrong = append(wrong, node+" goes back from epoch "+strconv.FormatUint(newest[node], 10)+" to "+strconv.FormatUint(epoch, 10))
			}
			newest[node] = epoch
		}
	}
	word("bully")
	f := runCluster(t, 3, follow, "--config", file, "--preset", "local", "--lease=off")
	ids := make(map[string]string)
	for _, s := range f.States() {
		ids[s.Name] = s.ID
	}
	before, agreed := proccluster.Agreement(f.States())
	require.True(t, agreed)
	for _, algorithm := range []string{"vote", "ring", "bully"} {
		for name := range ids {
			_, err := f.Signal(name, proccluster.Term)
			require.NoError(t, err)
		}
		word(algorithm)
		var starts sync.WaitGroup
		for name := range ids {
			starts.Go(func() {
				if err := f.Restart(within(t), name); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		leader, err := f.WaitQuiet(within(t))
		require.NoError(t, err, algorithm)
		require.Greater(t, leader.Epoch, before.Epoch, algorithm)
		for _, s := range f.States() {
			require.Equal(t, ids[s.Name], s.ID, algorithm)
			require.Contains(t, statusOf(t, s.Addr, "--json"), `"algorithm":"`+algorithm+`"`)
		}
		before = leader
	}
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, wrong)
}

// The environment of the user configures a node of the user, not the nodes of the demonstration.
func TestDemoIgnoresEnvironment(t *testing.T) {
	testkit.Processes(t)
	t.Setenv("ELECT_MEMBERS", "nowhere")
	t.Setenv("ELECT_CONFIG", "/no/such/file")
	p := launch(t, "demo", "--json", "--nodes", "3", "--rounds", "0")
	require.Zero(t, p.status(t), p.stderr.text())
	p.requireClean(t)
}
