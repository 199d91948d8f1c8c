// Package stats summarizes repeated measurements.
//
//	s := stats.Milliseconds(durations)
//	fmt.Printf("median %.1f ms, 90 %% are below %.1f ms\n", s.Median, s.P90)
//
// It does not compare two samples: golang.org/x/perf/benchmath does.
package stats

import (
	"time"

	"golang.org/x/exp/stats"
)

// Summary describes values. A quantile between two values is interpolated. Of no values all is
// zero.
type Summary struct {
	Trials                           int // how many values there are
	Min, P10, Median, Mean, P90, Max float64
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

// Quantile returns a quantile of durations, such as 0.99 of them; zero of none.
func Quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	values := make([]float64, len(durations))
	for i, d := range durations {
		values[i] = float64(d)
	}
	return time.Duration(stats.Quantiles(values, q)[0])
}

// MS is d in milliseconds, with its fraction.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
