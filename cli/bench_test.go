package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
)

func TestBenchReportsUsageErrors(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"bench x", []string{`unknown command "x"`}},
		{"bench --groups election,speed --rounds 0 --out=", []string{
			`--groups has "speed", want some of election, wire, failover, cost`, "--rounds is 0, want at least 1", "--out is empty",
		}},
		{"bench --groups=", []string{"--groups is empty"}},
		{"bench --out " + there, []string{there + " is there already, want another file"}},
		{"bench --out " + filepath.Join(there, "below"), []string{"--out: "}},
		{"bench compare a", []string{"bench compare wants two files, and got 1", "See 'elect bench compare --help'"}},
		{"bench compare /no/such/file testdata/bench/old.txt", []string{"open /no/such/file"}},
		{"bench compare testdata/bench/old.txt cli.go", []string{"cli.go: want results in Go's benchmark format, and there is none"}},
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
		status, got, stderr := elect(append([]string{"bench", "compare", "testdata/bench/old.txt", "testdata/bench/new.txt"}, args...)...)
		require.Zero(t, status, stderr)
		path := filepath.Join("testdata", "bench", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "%s; -update rewrites it", name)
	}
}

// Only groups without processes run: elections in the simulator, and elections of bully on the wire.
func TestBenchWritesResultsFile(t *testing.T) {
	t.Parallel()
	var file, stdout, stderr string
	for status, tries := 1, 0; status != 0; tries++ {
		file = filepath.Join(t.TempDir(), "file")
		status, stdout, stderr = elect("bench", "--short", "--groups", "election,wire", "--seed", "7", "--out", file)
		// The timeouts on the wire allow for the network, not for a busy machine.
		late := tries < 4 && strings.Contains(stderr, "the count on the wire is not that of the simulator")
		require.True(t, status == 0 || late, stderr)
	}
	require.Contains(t, stdout, "Elections of 9 nodes in the simulator, with the formulas")
	require.Contains(t, stdout, "Written: "+file)
	require.Contains(t, stderr, "  0 %  elections in the simulator\n")
	read, err := result.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "elect bench --short --groups election,wire --seed 7", read.Notes[0])
	require.Len(t, read.Notes, 2, "nothing was skipped")
	require.Equal(t, "7", read.Results[0].GetConfig("seed"))
	require.Equal(t, strconv.Itoa(hostinfo.Describe().Cores), read.Results[0].GetConfig("cores"))
	counted, _ := report.Rows(read.Results, ".name:Election", "/algorithm,/case")
	require.Len(t, counted, len(theory.Cases()))
	wired, _ := report.Rows(read.Results, ".name:Wire", "/algorithm,/case")
	require.Len(t, wired, 2)
}

// A pipe gets a line for each part, and a line for each skipped measurement.
func TestBenchPrintsProgressLinesToPipe(t *testing.T) {
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

func TestBarLengthFollowsProgress(t *testing.T) {
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
