package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// results reads lines in Go's benchmark format.
func results(t *testing.T, lines ...string) (all []*benchfmt.Result) {
	t.Helper()
	r := benchfmt.NewReader(strings.NewReader(strings.Join(lines, "\n")), "lines")
	for r.Scan() {
		one, is := r.Result().(*benchfmt.Result)
		require.True(t, is, r.Result())
		all = append(all, one.Clone())
	}
	return all
}

// trials returns the lines of one metric of a benchmark.
func trials(name, metric string, values ...float64) (lines []string) {
	for _, value := range values {
		lines = append(lines, fmt.Sprintf("Benchmark%s 1 %v %s", name, value, metric))
	}
	return lines
}

func TestTables(t *testing.T) {
	var lines []string
	for _, more := range [][]string{
		trials("Failover/algorithm=ring/signal=kill/n=5-2", result.MetricFailover, 9, 8, 10),
		trials("Failover/algorithm=bully/signal=kill/n=5-2", result.MetricFailover, 3, 1, 2, 5, 4, 6),
		trials("Failover/algorithm=bully/signal=kill/n=5-2", result.MetricDetect, 2, 2, 2, 2, 2, 2),
		trials("Election/algorithm=bully/case=leader-crash/n=5", result.MetricSent, 3),
		trials("Election/algorithm=bully/case=leader-crash/n=9", result.MetricSent, 7),
		trials("Election/algorithm=bully/case=leader-crash/n=9", result.MetricTurnaround, 1),
		trials("Election/algorithm=omega/case=random/n=9", result.MetricSent, 8.5),
		trials("Election/algorithm=textbook-bully/case=random/n=9", result.MetricSent, 32),
		trials("Election/algorithm=ring/case=growth", "exponent", 1),
		trials("Stability/algorithm=vote/fault=heal/host=simulator/n=5", result.MetricEnds, 0, 2, 1),
		trials("Stability/algorithm=vote/fault=heal/host=processes/n=5", result.MetricEnds, 3),
		trials("Detector/threads=4/timeout=380ms/host=processes", result.MetricMistakes, 3),
		trials("Steady/algorithm=bully\x1b[2J/n=5", result.MetricFrames, 1.26, 1.2),
		trials("Other", "ns/op", 1),
	} {
		lines = append(lines, more...)
	}
	var text bytes.Buffer
	require.NoError(t, Write(&text, Tables(results(t, lines...))))
	const path = "testdata/tables.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String(), "rewrite it with -update")
	require.Empty(t, Tables(nil))
	require.ErrorIs(t, Write(full{}, nil), errFull)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestCompare(t *testing.T) {
	slow, fast := []float64{10, 11, 12, 10, 11, 12, 10}, []float64{5, 6, 5, 6, 5, 6, 5}
	var before, after []string
	add := func(to *[]string, name string, values ...float64) {
		*to = append(*to, trials(name, "ms", values...)...)
	}
	add(&before, "Failover/n=3", slow...)
	add(&after, "Failover/n=3", fast...)
	add(&before, "Failover/n=5", fast...)
	add(&after, "Failover/n=5", slow...)
	add(&before, "Failover/n=7", slow...)
	add(&after, "Failover/n=7", 12, 11, 10, 12, 11)
	add(&before, "Failover/n=9", 0, 0, 0, 0)
	add(&after, "Failover/n=9", 3, 3, 3, 3)
	add(&before, "Failover/n=11", 1)
	add(&after, "Failover/n=13", 1)
	add(&before, "Failover/n=15", 1)
	add(&after, "Failover/n=15", 2)
	add(&before, "Election/n=3", 26)
	add(&after, "Election/n=3", 27)
	add(&before, "Election/n=5", 26, 30)
	add(&after, "Election/n=5", 26, 31)
	add(&before, "Election/n=7", 5)
	add(&after, "Election/n=7", 5)
	c := Compare(results(t, append([]string{"cores: 2", "kernel: a"}, before...)...), results(t, append([]string{"cores: 4", "kernel: a", "nodes: x"}, after...)...))
	require.Equal(t, []string{"cores: 2 and 4"}, c.Differs)
	got := make(map[string]Verdict)
	for _, x := range c.Changes {
		got[x.Name] = x.Verdict
	}
	require.Equal(t, map[string]Verdict{
		"Failover/n=3": Less, "Failover/n=5": More, "Failover/n=7": Same, "Failover/n=9": More, "Failover/n=11": Removed, "Failover/n=13": Added,
		"Failover/n=15": Same, // one trial shows no difference
		"Election/n=3":  More, // a count is exact
		"Election/n=5":  Same, "Election/n=7": Same,
	}, got)
	require.Equal(t, Estimate{7, 11, []float64{10, 12}}, c.Changes[0].Old)
	require.Equal(t, Estimate{1, 1, nil}, c.Changes[4].Old)
	require.ErrorIs(t, c.Write(full{}, true), errFull)
	var text bytes.Buffer
	require.NoError(t, c.Write(&text, false))
	require.Equal(t, `the runs differ in cores: 2 and 4
  benchmark      metric  old  new  change    p      trials
  Failover/n=3   ms      11   5    -54.55%   0.001  7 and 7
  Failover/n=5   ms      5    11   +120.00%  0.001  7 and 7
  Failover/n=9   ms      0    3    ?         0.029  4 and 4
  Failover/n=11  ms      1    -    removed          1 and 0
  Election/n=3   ms      26   27   +3.85%    0.000  1 and 1
  Failover/n=13  ms      -    1    added            0 and 1
4 of 10 metrics of benchmarks are the same
`, text.String())
	text.Reset()
	require.NoError(t, c.Write(&text, true))
	require.Contains(t, text.String(), "Failover/n=15  ms      1    2     ~         1.000  1 and 1\n")
}

// TestExpectedEqualsCountedElections counts elections. If all elections of a case are the same, the
// formula must give the count exactly. If they are drawn, the formula must lie between the least and
// the largest count, and near their mean.
func TestExpectedEqualsCountedElections(t *testing.T) {
	const n, draws = 9, 60
	for _, c := range theory.Cases() {
		rounds := 1
		if c.Drawn() {
			rounds = draws
		}
		for metric, formula := range Formulas {
			var values []float64
			for seed := range rounds {
				s, err := election.Run(t.Context(), builtin.Registry(), c, n, uint64(seed))
				require.NoError(t, err)
				values = append(values, map[string]float64{result.MetricSent: float64(s.Sent), result.MetricTurnaround: s.Turnaround}[metric])
			}
			p := stats.Summarize(values)
			want, known := c.Expected(n, formula)
			require.True(t, known, "%s, %s, %s", c.Algorithm, c.Name, metric)
			if c.Drawn() {
				require.GreaterOrEqual(t, want, p.Min, "%s, %s, %s", c.Algorithm, c.Name, metric)
				require.LessOrEqual(t, want, p.Max, "%s, %s, %s", c.Algorithm, c.Name, metric)
				require.InEpsilon(t, want, p.Mean, 0.2, "%s, %s, %s", c.Algorithm, c.Name, metric)
			} else {
				require.Equal(t, p.Mean, want, "%s, %s, %s", c.Algorithm, c.Name, metric)
			}
		}
	}
}

func TestExpectedIsUnknownWithoutRow(t *testing.T) {
	for _, key := range [][]string{{"textbook-bully", "sideways"}, {"paxos", "worst"}, {"", ""}} {
		require.Equal(t, "-", expected(key, Formulas[result.MetricSent]))
	}
	c, found := theory.CaseOf("bully", "leader-crash")
	require.True(t, found)
	_, known := c.Row(1)
	require.False(t, known)
	_, known = c.Expected(1, Formulas[result.MetricSent])
	require.False(t, known)
}
