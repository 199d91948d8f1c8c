package bench

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
)

// TestTrialsAnswerQuestions: what the simulator counts, as it is written, read and asked.
func TestTrialsAnswerQuestions(t *testing.T) {
	run := result.Run{Format: result.Format, Machine: machine.This(), Seed: 1}
	for _, c := range SimulatedCases() {
		if c.Name != "leader-crash" {
			continue
		}
		s, err := c.Run(t.Context(), 9, run.Seed)
		require.NoError(t, err)
		run.Trials = append(run.Trials, c.Trials(s, 1, run.Seed)...)
	}
	var text bytes.Buffer
	require.NoError(t, run.WriteCSV(&text))
	read, err := result.Read(&text)
	require.NoError(t, err)
	for metric, want := range map[string]map[string]float64{
		result.MetricSent:       {"bully": 7, "ring": 16, "vote": 79}, // N−2, 2(N−1), (m+1)(N−1)+m−1
		result.MetricTurnaround: {"bully": 1, "ring": 15, "vote": 3},
	} {
		got := make(map[string]float64)
		for _, of := range read.Samples() {
			if of.Metric == metric {
				got[of.Labels[result.Algorithm]] = of.Estimate().Median
			}
		}
		require.Equal(t, want, got)
	}
	text.Reset()
	require.NoError(t, report.WriteTables(&text, read))
	require.Regexp(t, "Which costs fewest messages at N=9, when the leader has crashed\\?\n.*\n  bully +detector +7 .* best\n  ring .* 2.29\n  vote .* 11.3\n", text.String())
}

func TestTrialsOfLiveNodes(t *testing.T) {
	w := &Wired{Case: WireCase{Algorithm: "ring", Name: "one-starts"}, Host: OneProcess, N: 3}
	r := WireRound{
		Counted: Counted{Sent: Kinds{"election": 4, "elected": 3}, Received: Kinds{"election": 4, "elected": 3}},
		Flights: []time.Duration{time.Millisecond, 3 * time.Millisecond}, Turnaround: 12 * time.Millisecond,
	}
	trials := w.Trials(r, 2, 7)
	require.NoError(t, (&result.Run{Format: result.Format, Trials: trials}).Check())
	require.Equal(t, map[string]float64{result.MetricSent: 7, result.MetricDelivered: 7}, trials[0].Values)
	require.Equal(t, map[string]float64{result.MetricTurnaround: 6, result.MetricElect: 12, result.MetricT: 2}, trials[1].Values)
	r.Turnaround = 0
	require.Len(t, w.Trials(r, 2, 7), 1, "nobody changed its mind")
}
