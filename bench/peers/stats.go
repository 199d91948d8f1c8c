package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
)

// ratio is how many times one median is another. The true one lies between low and high with at least
// 95 % confidence: these are the ratios of the ends of the two medians' intervals of 97.5 %.
type ratio struct {
	times, low, high float64
	defined          bool // there are values, and none of the lower ones is zero
}

// ratioOf compares durations. Of fewer than seven values a median has no interval, nor has a ratio.
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

// digits is v with at least two digits that count, and none after the point from 100.
func digits(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
