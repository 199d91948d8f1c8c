package result

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"golang.org/x/exp/stats"
)

// Interval is a confidence interval of 95 %: see the package comment.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains reports whether x lies in i.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Estimate sums a sample up. Of an empty sample all is zero.
type Estimate struct {
	Trials   int      `json:"trials"`
	Min      float64  `json:"min"`
	Median   float64  `json:"median"`
	P90      float64  `json:"p90"`
	Max      float64  `json:"max"`
	Interval Interval `json:"interval"` // of the median
}

// Estimate sums the sample up.
func (s Sample) Estimate() Estimate {
	if len(s.Values) == 0 {
		return Estimate{}
	}
	q := stats.Quantiles(s.Values, 0, 0.5, 0.9, 1)
	return Estimate{
		Trials: len(s.Values), Min: q[0], Median: q[1], P90: q[2], Max: q[3],
		Interval: bootstrap(s.random(), s.urn().median),
	}
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

// random is the source of the draws for a series: the same ones each time.
func (s Sample) random() *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Name())) // never fails
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
	panic("result: a sample without a middle")
}
