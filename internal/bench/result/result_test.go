package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/hostinfo"
)

// written returns a run with a value in every part.
func written() *Run {
	return &Run{
		Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Command: "elect bench --seed 7", Seed: 7, Clock: "monotonic",
		Machine: hostinfo.Machine{System: "linux/amd64", Cores: 2, Model: "AMD\x1b[2J: \"2\"", Kernel: "6.18", Go: "go1.26", Load: "0.1 0.2 0.3", FileSystem: "ext4"},
		Skipped: []string{"Failover/signal=drop: not\nhere"},
		Trials: []Trial{
			{Name(Election, "algorithm", "bully", "case", "worst", "n", 16), map[string]float64{"mine": 1, MetricTurnaround: 4, MetricSent: 239}},
			{Name(Failover, "algorithm", "ring", "signal", "kill", "n", 5), map[string]float64{MetricFailover: 0.30000000000000004}},
			{Name(Failover, "algorithm", "ring", "signal", "kill", "n", 5), map[string]float64{MetricFailover: 1e-300}},
		},
	}
}

func TestRunIsWrittenInGoBenchmarkFormat(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, written().Write(&text))
	require.Equal(t, `# elect bench --seed 7
# 2026-01-02T03:04:05Z, load average 0.1 0.2 0.3
# not measured: Failover/signal=drop: not`+"\uFFFD"+`here
goos: linux
goarch: amd64
cpu: AMD`+"\uFFFD"+`[2J: "2"
cores: 2
kernel: 6.18
go: go1.26
file-system: ext4
clock: monotonic
seed: 7

BenchmarkElection/algorithm=bully/case=worst/n=16 1 239 msgs/election 4 T/election 1 mine
BenchmarkFailover/algorithm=ring/signal=kill/n=5 1 0.30000000000000004 ms/failover
BenchmarkFailover/algorithm=ring/signal=kill/n=5 1 1e-300 ms/failover
`, text.String())
}

func fileOf(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWrittenRunIsReadBack(t *testing.T) {
	var text, again bytes.Buffer
	require.NoError(t, written().Write(&text))
	f, err := ReadFile(fileOf(t, text.String()))
	require.NoError(t, err)
	require.Len(t, f.Notes, 3)
	require.Equal(t, "elect bench --seed 7", f.Notes[0])
	r := Run{Trials: []Trial{}}
	for _, one := range f.Results {
		trial := Trial{Name: one.Name.String(), Values: make(map[string]float64)}
		for _, v := range one.Values {
			trial.Values[v.Unit] = v.Value
		}
		r.Trials = append(r.Trials, trial)
		require.Equal(t, "7", one.GetConfig("seed"))
	}
	require.Equal(t, written().Trials, r.Trials)
	require.NoError(t, r.Write(&again))
}

func TestNameContainsNoSpaceOrExtraKey(t *testing.T) {
	require.Equal(t, "Cost/algorithm=a_b=c_d/n=5", Name(Cost, "algorithm", "a/b=c d", "n", 5))
}

func TestMetricsAreListedOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, metric := range Metrics {
		require.False(t, seen[metric], metric)
		seen[metric] = true
	}
}

func TestFileInOtherFormatIsRejected(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "there is none"},
		"text":            {"no results\n", "there is none"},
		"configuration":   {"goos: linux\n", "there is none"},
		"a word":          {"BenchmarkX 1 many ms\n", "file:1: parsing measurement"},
		"a unit is short": {"BenchmarkX 1 5 ms\nBenchmarkY 1 5\n", "file:2: missing units"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadFile(fileOf(t, c.text))
			require.ErrorIs(t, err, ErrFormat)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := ReadFile("/no/such/file")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadFile("/dev/zero")
	require.ErrorContains(t, err, "/dev/zero: want results in Go's benchmark format of at most 64 MiB")
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFullDiskIsReported(t *testing.T) { require.ErrorIs(t, written().Write(full{}), errFull) }
