package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
)

func TestBenchSaysWhatIsWanted(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, csvFile), nil, 0o600))
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"bench x", []string{`unknown command "x"`}},
		{"bench --groups messages,speed --rounds 0 --out=", []string{
			`--groups has "speed", want some of messages, turnaround, failover, idle`, "--rounds is 0, want at least 1", "--out is empty",
		}},
		{"bench --groups=", []string{"--groups is empty"}},
		{"bench --out " + full, []string{csvFile + " is there already, want another folder"}},
		{"bench --out " + filepath.Join(full, csvFile, "below"), []string{"--out: "}},
		{"bench compare a", []string{"bench compare wants two files, and got 1", "See 'elect bench compare --help'"}},
		{"bench compare /no/such/file testdata/bench/old.csv", []string{"open /no/such/file"}},
		{"bench compare testdata/bench/old.csv command.go", []string{"command.go: result: not the results of a benchmark"}},
	} {
		status, stdout, stderr := elect(strings.Fields(tc.args)...)
		require.Equal(t, statusUsage, status, tc.args)
		require.Empty(t, stdout, tc.args)
		for _, want := range tc.want {
			require.Contains(t, stderr, want, tc.args)
		}
	}
}

func TestBenchCompare(t *testing.T) {
	for name, args := range map[string][]string{"changed.txt": nil, "all.txt": {"--all"}, "all.json": {"--json"}} {
		status, got, stderr := elect(append([]string{"bench", "compare", "testdata/bench/old.csv", "testdata/bench/new.csv"}, args...)...)
		require.Zero(t, status, stderr)
		path := filepath.Join("testdata", "bench", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "%s; with -update it is written anew", name)
	}
}

// TestBenchWritesAFolder: elections alone, which take no processes, in the simulator and of bully
// on the wire.
func TestBenchWritesAFolder(t *testing.T) {
	t.Parallel()
	var folder, stdout, stderr string
	for status, tries := 1, 0; status != 0; tries++ {
		folder = filepath.Join(t.TempDir(), "a", "b")
		status, stdout, stderr = elect("bench", "--short", "--groups", "messages,turnaround", "--seed", "7", "--out", folder)
		// On the wire an answer is waited for as long as the network may take, not a busy machine.
		late := tries < 4 && strings.Contains(stderr, "the count on the wire is not that of the simulator")
		require.True(t, status == 0 || late, stderr)
	}
	require.Contains(t, stdout, "Which costs fewest messages at N=9, at worst?")
	require.Contains(t, stdout, "Written: "+filepath.Join(folder, reportFile))
	require.Contains(t, stderr, "  0 %  elections in the simulator\n")
	page, err := os.ReadFile(filepath.Join(folder, reportFile))
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")
	var runs []*result.Run
	for _, name := range []string{jsonFile, csvFile} {
		r, err := result.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, "elect bench --short --groups messages,turnaround --seed 7", r.Command)
		require.NotNil(t, r.Skipped, "%s says that nothing was skipped", name)
		require.Empty(t, r.Skipped)
		runs = append(runs, r)
	}
	require.Equal(t, runs[0].Trials, runs[1].Trials)
	require.Equal(t, uint64(7), runs[0].Trials[0].Seed)
	require.Equal(t, machine.This().Cores, runs[0].Machine.Cores)
	counted := make(map[string]bool)
	for _, trial := range runs[0].Trials {
		counted[trial.Labels[result.Algorithm]+" "+trial.Labels[result.Case]] = true
	}
	wired := map[string]bool{"bully highest-starts": true, "bully third-starts": true}
	require.Len(t, counted, len(theory.Cases())+len(wired))
	require.Subset(t, counted, wired)
}

// TestProgressIsSaid: a pipe has a line for each part, and one for what is not measured.
func TestProgressIsSaid(t *testing.T) {
	var said bytes.Buffer
	shown := newBenchProgress(newProgressLine(&said))
	for _, at := range []bench.Progress{
		{Part: "one", Step: "a"}, {Part: "one", Step: "a", Skipped: "a: 45 nodes"}, {Part: "one", Step: "b", Done: 0.25},
		{Part: "two", Step: "c", Done: 0.5}, {Part: "two", Step: "c", Done: 1},
	} {
		shown.show(at)
	}
	shown.end()
	require.Equal(t, "  0 %  one\nnot measured: a: 45 nodes\n 50 %  two\n", said.String())
}

func TestABarIsAsLongAsWhatIsDone(t *testing.T) {
	for _, tc := range []struct {
		done float64
		want string
	}{
		{0, " [........................]   0 %  1m5s  x"},
		{0.5, " [############............]  50 %  1m5s  x"},
		{1, " [########################] 100 %  1m5s  x"},
	} {
		require.Equal(t, tc.want, bar(tc.done, 65*time.Second+3*time.Millisecond, "x"))
	}
}
