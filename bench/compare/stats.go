package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
)

// ratio is the ratio of two medians. With at least 95 % confidence the true ratio lies between low and
// high, which are ratios of the ends of the two medians' intervals of 97.5 %.
type ratio struct {
	times, low, high float64
	defined          bool // both have values, and no lower end is zero
}

// ratioOf compares durations. With fewer than seven values a median and a ratio have no interval.
func ratioOf(theirs, own []float64) ratio {
	if len(theirs) == 0 || len(own) == 0 || slices.Min(own) <= 0 {
		return ratio{}
	}
	a, b := median(theirs), median(own)
	r := ratio{times: a.Center / b.Center, high: math.Inf(1), defined: true}
	if !math.IsInf(a.Lo, 0) && !math.IsInf(b.Lo, 0) {
		r.low, r.high = a.Lo/b.Hi, a.Hi/b.Lo
	}
	return r
}

func median(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.975)
}

func (r ratio) String() string {
	switch {
	case !r.defined:
		return "-"
	case math.IsInf(r.high, 0):
		return digits(r.times)
	}
	return fmt.Sprintf("%s [%s, %s]", digits(r.times), digits(r.low), digits(r.high))
}

func milliseconds(v float64) string { return digits(v) + " ms" }

// digits formats v with at least two significant digits, and without decimals from 100.
func digits(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
