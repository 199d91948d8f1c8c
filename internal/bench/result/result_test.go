package result

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// trial is one of an election.
func trial(algorithm, n string, round int, metric string, value float64) Trial {
	return Trial{
		Group: Messages, Labels: map[string]string{Algorithm: algorithm, Case: "worst", Nodes: n},
		Round: round, Seed: uint64(round), Values: map[string]float64{metric: value},
	}
}

// series is trials of one series, a round each.
func series(algorithm, n, metric string, values ...float64) []Trial {
	var all []Trial
	for at, value := range values {
		all = append(all, trial(algorithm, n, at+1, metric, value))
	}
	return all
}

func TestSeriesAreNamedAsBenchmarksAre(t *testing.T) {
	s := Series{Failover, map[string]string{Nodes: "5", "signal": "kill", Algorithm: "bully", "evidence": "off"}, "ms/failover"}
	require.Equal(t, "failover/algorithm=bully/evidence=off/signal=kill/n=5 ms/failover", s.Name())
}

// TestSamplesAreInTheOrderOfTheTrials, in that of their groups first.
func TestSamplesAreInTheOrderOfTheTrials(t *testing.T) {
	r := Run{Format: Format}
	r.Trials = append(r.Trials, Trial{Group: Detector, Labels: map[string]string{Case: "codec"}, Values: map[string]float64{"ns/op": 1}})
	for _, n := range []string{"3", "16", "1024"} {
		for _, a := range []string{"bully", "vote"} {
			r.Trials = append(r.Trials, series(a, n, "msgs/election", 1, 2)...)
		}
	}
	require.NoError(t, r.Check())
	var names []string
	for _, s := range r.Samples() {
		names = append(names, s.Name())
		if s.Group == Messages {
			require.Equal(t, []float64{1, 2}, s.Values)
		}
	}
	require.Equal(t, []string{
		"messages/algorithm=bully/case=worst/n=3 msgs/election",
		"messages/algorithm=vote/case=worst/n=3 msgs/election",
		"messages/algorithm=bully/case=worst/n=16 msgs/election",
		"messages/algorithm=vote/case=worst/n=16 msgs/election",
		"messages/algorithm=bully/case=worst/n=1024 msgs/election",
		"messages/algorithm=vote/case=worst/n=1024 msgs/election",
		"detector/case=codec ns/op",
	}, names)
}

func TestCheckFindsWhatIsNotRight(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Run)
		want  string
	}{
		"another format":         {func(r *Run) { r.Format = 2 }, "format 2, want 1"},
		"no group":               {func(r *Run) { r.Trials[0].Group = "gossip" }, `no group "gossip"`},
		"a label of a column":    {func(r *Run) { r.Trials[0].Labels["round"] = "1" }, `a label cannot be named "round"`},
		"a label in capitals":    {func(r *Run) { r.Trials[0].Labels["N"] = "1" }, `a label cannot be named "N"`},
		"a slash in a value":     {func(r *Run) { r.Trials[0].Labels[Case] = "a/b" }, "case is"},
		"an empty value":         {func(r *Run) { r.Trials[0].Labels[Case] = "" }, "case is"},
		"a space at the end":     {func(r *Run) { r.Trials[0].Labels[Case] = "worst " }, "case is"},
		"a label for terminals":  {func(r *Run) { r.Trials[0].Labels[Case] = "a\x1b[2Jb" }, "case is"},
		"a tab in a value":       {func(r *Run) { r.Trials[0].Labels[Case] = "a\tb" }, "case is"},
		"a metric for terminals": {func(r *Run) { r.Trials[0].Values["ms\x1b[2J"] = 1 }, "metric cannot be named"},
		"no values":              {func(r *Run) { r.Trials[0].Values = nil }, "no values"},
		"a metric with a space":  {func(r *Run) { r.Trials[0].Values["ms failover"] = 1 }, "ms failover"},
		"a value that is none":   {func(r *Run) { r.Trials[0].Values["ms"] = math.NaN() }, "ms is NaN"},
		"a value without bounds": {func(r *Run) { r.Trials[0].Values["ms"] = math.Inf(1) }, "ms is +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Run{Format: Format, Trials: series("bully", "3", "msgs/election", 5)}
			require.NoError(t, r.Check())
			c.spoil(&r)
			err := r.Check()
			require.ErrorIs(t, err, ErrFormat)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestCheckSaysTenMistakesAtOnce(t *testing.T) {
	r := Run{Format: Format, Trials: make([]Trial, 30)}
	wrapped, ok := r.Check().(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, wrapped.Unwrap(), maxMistakes)
}
