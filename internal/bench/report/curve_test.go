package report

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/sample"
)

// TestTheLinesAreThoseOfTheTheory counts elections: where they are all the same, a line must
// meet the point exactly; where they are drawn, the mean of all lies between the least and
// the most of many, and not far from their mean.
func TestTheLinesAreThoseOfTheTheory(t *testing.T) {
	const n, draws = 9, 60
	for _, c := range theory.Cases() {
		of := &curve{curveName: curveName{c.Name, c.Algorithm, c.Convention}}
		rounds := 1
		if c.Drawn() {
			rounds = draws
		}
		for _, metric := range []string{result.MetricSent, result.MetricDelivered, result.MetricTurnaround} {
			var values []float64
			for seed := range rounds {
				s, err := election.Run(t.Context(), builtin.Registry(), c, n, uint64(seed))
				require.NoError(t, err)
				values = append(values, map[string]float64{result.MetricSent: float64(s.Sent), result.MetricDelivered: float64(s.Delivered), result.MetricTurnaround: s.Turnaround}[metric])
			}
			p := sample.Summarize(values)
			want, known := of.expected(metric, n)
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

func TestWhatTheTheoryDoesNotSay(t *testing.T) {
	for _, tc := range []struct {
		algorithm, name, convention, metric string
		n                                   int
	}{
		{"textbook-bully", "worst", "textbook", result.MetricBytes, 9},
		{"textbook-bully", "worst", "gossip", result.MetricSent, 9},
		{"textbook-bully", "sideways", "textbook", result.MetricSent, 9},
		{"paxos", "worst", "textbook", result.MetricSent, 9},
		{"textbook-bully", "worst", "textbook", result.MetricSent, 1},
	} {
		c := &curve{curveName: curveName{tc.name, tc.algorithm, tc.convention}}
		_, known := c.expected(tc.metric, tc.n)
		require.False(t, known, tc)
	}
}

func TestAPointIsTheMeanOfItsTrials(t *testing.T) {
	r := new(result.Run)
	for _, value := range []float64{4, 1, 7} {
		r.Trials = append(r.Trials, result.Trial{Group: result.Idle, Values: map[string]float64{"x": value}, Labels: map[string]string{result.Algorithm: "bully", result.Nodes: "3"}})
	}
	all := curves(r, result.Idle, "x", result.Algorithm)
	require.Len(t, all, 1)
	require.Len(t, all[0].points, 1)
	p := all[0].points[0]
	require.Equal(t, []float64{3, 4, 1, 7, 3}, []float64{p.n, p.Mean, p.Min, p.Max, float64(p.Trials)})
}

func TestGrowthsAreFitted(t *testing.T) {
	r := new(result.Run)
	for _, n := range []float64{4, 8, 16, 32} {
		r.Trials = append(r.Trials, result.Trial{Group: result.Messages, Values: map[string]float64{result.MetricSent: n * n}, Labels: map[string]string{
			result.Algorithm: "textbook-bully", result.Case: "worst", result.Convention: "textbook", result.Nodes: strconv.Itoa(int(n))}})
		r.Trials = append(r.Trials, result.Trial{Group: result.Idle, Values: map[string]float64{result.MetricFrames: 2}, Labels: map[string]string{
			result.Algorithm: "ring", result.Nodes: strconv.Itoa(int(n))}})
	}
	require.Equal(t, [][]string{
		{"messages: textbook-bully, worst", "2.00", "0.0 %", "N²"},
		{"frames of all nodes at rest: ring", "1.00", "0.0 %", "N"},
	}, growth(r).Rows)
}

// TestLooksTellAlgorithmsApart: three for use, a stranger, and three textbooks.
func TestLooksTellAlgorithmsApart(t *testing.T) {
	names := []string{"bully", "ring", "stranger", "vote", "textbook-bully", "textbook-ring", "textbook-vote"}
	r := new(result.Run)
	for _, name := range names {
		r.Trials = append(r.Trials, result.Trial{Group: result.Messages, Labels: map[string]string{result.Algorithm: name}})
	}
	seen := make(map[string]string)
	for _, name := range names {
		look := class("mark", lookOf(r, name))
		require.Empty(t, seen[look], "%s looks like %s", name, seen[look])
		seen[look] = name
	}
	require.Equal(t, "mark s3", class("mark", lookOf(r, "vote")))
	require.Equal(t, "mark hollow s0", class("mark", lookOf(r, "textbook-bully")))
}
