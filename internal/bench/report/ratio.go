package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
)

// Ratio is the ratio of two medians. With at least 95 % confidence the true ratio lies between Low and High, which are
// ratios of the ends of the two medians' intervals of 97.5 %. The zero Ratio is not defined.
type Ratio struct {
	Times, Low, High float64
}

// RatioOf compares values with others. With fewer than seven values a median and a ratio have no interval: then Low is
// 0, and High is infinite. The ratio is not defined without values on both sides, and if one of the others is not
// positive.
func RatioOf(values, others []float64) Ratio {
	if len(values) == 0 || len(others) == 0 || slices.Min(others) <= 0 {
		return Ratio{}
	}
	a, b := median(values), median(others)
	r := Ratio{Times: a.Center / b.Center, High: math.Inf(1)}
	if !math.IsInf(a.Lo, 0) && !math.IsInf(b.Lo, 0) {
		r.Low, r.High = a.Lo/b.Hi, a.Hi/b.Lo
	}
	return r
}

func median(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(sampleOf(values), 0.975)
}

// String formats the ratio with its interval, as "3.10 [2.55, 3.78]".
func (r Ratio) String() string {
	switch {
	case r == Ratio{}:
		return "-"
	case math.IsInf(r.High, 0):
		return Digits(r.Times)
	}
	return fmt.Sprintf("%s [%s, %s]", Digits(r.Times), Digits(r.Low), Digits(r.High))
}

// Digits formats v with at least two significant digits, and without decimals from 100.
func Digits(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
