package main

import (
	"math/rand/v2"

	"golang.org/x/exp/stats"
)

// summary describes a sample.
type summary struct {
	n                int
	median, p10, p90 float64
}

func summarize(sample []float64) summary {
	if len(sample) == 0 {
		return summary{}
	}
	q := stats.Quantiles(sample, 0.1, 0.5, 0.9)
	return summary{n: len(sample), p10: q[0], median: q[1], p90: q[2]}
}

// ratio is how many times the median of one sample the median of another is, with its
// 95 % interval. It is zero where a sample is empty.
type ratio struct{ value, low, high float64 }

// resamples are enough for two digits of the ends of an interval.
const resamples = 10_000

// ratioOf finds the interval by the bootstrap (Efron 1979): both samples are drawn again
// from themselves, and the middle 95 % of what comes out is the interval.
func ratioOf(theirs, own []float64, seed uint64) ratio {
	if len(theirs) == 0 || len(own) == 0 {
		return ratio{}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	ratios := make([]float64, resamples)
	for i := range ratios {
		ratios[i] = stats.Median(redraw(random, theirs)) / stats.Median(redraw(random, own))
	}
	ends := stats.Quantiles(ratios, 0.025, 0.975)
	return ratio{value: stats.Median(theirs) / stats.Median(own), low: ends[0], high: ends[1]}
}

func redraw(random *rand.Rand, sample []float64) []float64 {
	again := make([]float64, len(sample))
	for i := range again {
		again[i] = sample[random.IntN(len(sample))]
	}
	return again
}
