// Package sample sums up what was measured again and again: quantiles, a confidence interval
// of the median, the ratio of two medians, and a power that fits points. It is the one place
// that does.
//
// # Uncertainty
//
// An interval is a bootstrap interval of 95 %: the median is taken anew of 2,000 samples
// that are drawn from the values with replacement, and 95 % of these medians lie in it.
// The draws come from a fixed seed, so the same values have the same interval. Of fewer
// than about ten values it is too narrow, and of one value it has no width.
package sample

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/exp/stats"
)

// Summary describes values. A quantile between two values is interpolated. Of no values all is
// zero.
type Summary struct {
	Trials int     `json:"trials"` // how many values there are
	Min    float64 `json:"min"`
	P10    float64 `json:"-"`
	Median float64 `json:"median"`
	Mean   float64 `json:"-"`
	P90    float64 `json:"p90"`
	Max    float64 `json:"max"`
}

// Summarize describes values.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	q := stats.Quantiles(values, 0, 0.1, 0.5, 0.9, 1)
	return Summary{Trials: len(values), Min: q[0], P10: q[1], Median: q[2], Mean: stats.Mean(values), P90: q[3], Max: q[4]}
}

// Milliseconds describes durations, in ms.
func Milliseconds(durations []time.Duration) Summary {
	values := make([]float64, len(durations))
	for i, d := range durations {
		values[i] = MS(d)
	}
	return Summarize(values)
}

// MS is d in milliseconds, with its fraction.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Interval is a confidence interval of 95 %: see the package comment.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains reports whether x lies in i.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Estimate is a summary with the uncertainty of its median.
type Estimate struct {
	Summary
	Interval Interval `json:"interval"`
}

// Sample is values with a name, from which the draws follow.
type Sample struct {
	Name   string
	Values []float64
}

// Estimate sums the sample up.
func (s Sample) Estimate() Estimate {
	if len(s.Values) == 0 {
		return Estimate{}
	}
	return Estimate{Summarize(s.Values), bootstrap(s.random(), s.urn().median)}
}

// Ratio is how many times something is something else.
type Ratio struct {
	Times float64 `json:"times"`
	// Interval is what the two samples leave open.
	Interval Interval `json:"interval"`
	// Defined is false where the other is zero, or may be: then there is no ratio.
	Defined bool `json:"defined"`
}

// Apart reports whether the two are told apart: the interval leaves 1 out.
func (r Ratio) Apart() bool { return r.Defined && !r.Interval.Contains(1) }

// Over returns the ratio of the median of s to that of o.
func (s Sample) Over(o Sample) Ratio {
	if len(s.Values) == 0 || len(o.Values) == 0 {
		return Ratio{}
	}
	median := stats.Median(o.Values)
	defined := median != 0
	mine, others := s.urn(), o.urn()
	within := bootstrap(s.random(), func(random *rand.Rand) float64 {
		over, below := mine.median(random), others.median(random)
		if below == 0 {
			defined = false
			return 0
		}
		return over / below
	})
	if !defined {
		return Ratio{}
	}
	return Ratio{Times: stats.Median(s.Values) / median, Interval: within, Defined: true}
}

// random is the source of the draws for a sample: the same ones each time.
func (s Sample) random() *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Name)) // never fails
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// draws are how many samples are drawn for an interval.
const draws = 2000

// bootstrap returns the interval in which 95 % of the draws of a statistic lie.
func bootstrap(random *rand.Rand, statistic func(*rand.Rand) float64) Interval {
	all := make([]float64, draws)
	for i := range all {
		all[i] = statistic(random)
	}
	q := stats.Quantiles(all, 0.025, 0.975)
	return Interval{q[0], q[1]}
}

// urn is a sample to draw from.
type urn struct {
	sorted []float64
	drawn  []int // how often each was
}

func (s Sample) urn() urn {
	return urn{slices.Sorted(slices.Values(s.Values)), make([]int, len(s.Values))}
}

// median draws as many values as there are, with replacement, and returns their median. To
// count what is drawn spares sorting it.
func (u urn) median(random *rand.Rand) float64 {
	clear(u.drawn)
	for range u.sorted {
		u.drawn[random.IntN(len(u.sorted))]++
	}
	lower, upper := (len(u.sorted)-1)/2, len(u.sorted)/2 // the places in the middle
	var sum float64
	for at, passed := 0, 0; at < len(u.sorted); at++ {
		for place := passed; place < passed+u.drawn[at]; place++ {
			if place == lower {
				sum += u.sorted[at]
			}
			if place == upper {
				return (sum + u.sorted[at]) / 2
			}
		}
		passed += u.drawn[at]
	}
	panic("sample: one without a middle")
}
