package report

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/bench/result"
)

// TestTheLinesAreThoseOfTheTheory counts elections: where they are all the same, a line must
// meet the point exactly; where they are drawn, the mean of all lies between the least and
// the most of many, and not far from their mean.
func TestTheLinesAreThoseOfTheTheory(t *testing.T) {
	const n, draws = 9, 60
	for _, c := range bench.SimulatedCases() {
		of := &curve{algorithm: c.Algorithm, name: c.Name, convention: c.Convention}
		rounds := 1
		if c.Drawn() {
			rounds = draws
		}
		for _, metric := range []string{result.MetricSent, result.MetricDelivered, result.MetricTurnaround} {
			var points curve
			for seed := range rounds {
				s, err := c.Run(t.Context(), n, uint64(seed))
				require.NoError(t, err)
				points.take(n, map[string]float64{result.MetricSent: float64(s.Sent), result.MetricDelivered: float64(s.Delivered), result.MetricTurnaround: s.Turnaround}[metric])
			}
			p := points.points[0]
			want, known := of.expected(metric, n)
			require.True(t, known, "%s, %s, %s", c.Algorithm, c.Name, metric)
			if c.Drawn() {
				require.GreaterOrEqual(t, want, p.low, "%s, %s, %s", c.Algorithm, c.Name, metric)
				require.LessOrEqual(t, want, p.high, "%s, %s, %s", c.Algorithm, c.Name, metric)
				require.InEpsilon(t, want, p.mean, 0.2, "%s, %s, %s", c.Algorithm, c.Name, metric)
			} else {
				require.Equal(t, p.mean, want, "%s, %s, %s", c.Algorithm, c.Name, metric)
			}
		}
	}
}

func TestWhatTheTheoryDoesNotSay(t *testing.T) {
	for _, tc := range []struct {
		algorithm, name, convention, metric string
		n                                   int
	}{
		{"bully", "worst", "textbook", result.MetricBytes, 9},
		{"bully", "worst", "gossip", result.MetricSent, 9},
		{"bully", "sideways", "textbook", result.MetricSent, 9},
		{"paxos", "worst", "textbook", result.MetricSent, 9},
		{"bully", "worst", "textbook", result.MetricSent, 1},
	} {
		c := &curve{algorithm: tc.algorithm, name: tc.name, convention: tc.convention}
		_, known := c.expected(tc.metric, tc.n)
		require.False(t, known, tc)
	}
}

func TestAPointIsTheMeanOfItsTrials(t *testing.T) {
	var c curve
	for _, value := range []float64{4, 1, 7} {
		c.take(3, value)
	}
	require.Equal(t, []point{{n: 3, mean: 4, low: 1, high: 7, trials: 3}}, c.points)
}

func TestGrowthsAreFitted(t *testing.T) {
	r := new(result.Run)
	for _, n := range []float64{4, 8, 16, 32} {
		r.Trials = append(r.Trials, result.Trial{Group: result.Messages, Values: map[string]float64{result.MetricSent: n * n}, Labels: map[string]string{
			result.Algorithm: "bully", result.Case: "worst", result.Convention: "textbook", result.Nodes: strconv.Itoa(int(n))}})
		r.Trials = append(r.Trials, result.Trial{Group: result.Idle, Values: map[string]float64{result.MetricFrames: 2}, Labels: map[string]string{
			result.Algorithm: "ring", result.Nodes: strconv.Itoa(int(n))}})
	}
	all := Growths(r)
	require.Len(t, all, 2)
	require.Equal(t, "messages: bully, worst", all[0].What)
	require.InDelta(t, 2, all[0].Power.Exponent, 1e-9)
	require.Equal(t, "N²", all[0].Theory)
	require.Equal(t, "frames of all nodes at rest: ring", all[1].What)
	require.InDelta(t, 1, all[1].Power.Exponent, 1e-9)
}
