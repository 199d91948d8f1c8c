package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	require.Equal(t, summary{}, summarize(nil))
	sample := make([]float64, 101)
	for i := range sample {
		sample[(i*37)%101] = float64(i) // in no order
	}
	s := summarize(sample)
	require.Equal(t, 101, s.n)
	require.InDelta(t, 50, s.median, 1e-9)
	require.InDelta(t, 10, s.p10, 0.5)
	require.InDelta(t, 90, s.p90, 0.5)
}

func TestRatio(t *testing.T) {
	require.Equal(t, ratio{}, ratioOf(nil, []float64{1}, 1))
	require.Equal(t, ratio{}, ratioOf([]float64{1}, nil, 1))
	require.Equal(t, ratio{2, 2, 2}, ratioOf([]float64{6, 6}, []float64{3, 3, 3}, 1))
	random := rand.New(rand.NewPCG(1, 1))
	sample := func(mean float64) []float64 {
		all := make([]float64, 40)
		for i := range all {
			all[i] = mean + random.NormFloat64()
		}
		return all
	}
	own, theirs := sample(10), sample(30)
	r := ratioOf(theirs, own, 1)
	require.Equal(t, r, ratioOf(theirs, own, 1), "the same seed")
	require.InDelta(t, 3, r.value, 0.3)
	require.Less(t, r.low, r.value)
	require.Greater(t, r.high, r.value)
	require.Less(t, r.high-r.low, 0.6)
}

// TestTheIntervalHoldsWhatItSays: of many intervals about 95 % hold the true ratio.
func TestTheIntervalHoldsWhatItSays(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	held := 0
	const times = 60
	for i := range times {
		own, theirs := make([]float64, 20), make([]float64, 20)
		for j := range own {
			own[j], theirs[j] = 10+random.NormFloat64(), 20+2*random.NormFloat64()
		}
		if r := ratioOf(theirs, own, uint64(i)); r.low <= 2 && 2 <= r.high {
			held++
		}
	}
	require.GreaterOrEqual(t, held, times*85/100)
}
