package bench

import (
	"fmt"
	"time"

	"golang.org/x/exp/stats"
)

// Summary describes a sample of durations in ms. Of an empty sample all is zero.
type Summary struct {
	N                  int // how many there are
	Min, P50, P90, Max float64
}

// Summarize describes a sample. A quantile between two values is interpolated.
func Summarize(sample []time.Duration) Summary {
	if len(sample) == 0 {
		return Summary{}
	}
	ms := make([]float64, len(sample))
	for i, d := range sample {
		ms[i] = Milliseconds(d)
	}
	q := stats.Quantiles(ms, 0, 0.5, 0.9, 1)
	return Summary{N: len(sample), Min: q[0], P50: q[1], P90: q[2], Max: q[3]}
}

// Milliseconds is d as a number of them, with its fraction.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// A Reporter takes the figures of a benchmark, as a *testing.B does.
type Reporter interface{ ReportMetric(n float64, unit string) }

// Report hands the figures to r, in the units "min-ms", "p50-ms", "p90-ms" and "max-ms".
func (s Summary) Report(r Reporter) {
	r.ReportMetric(s.Min, "min-ms")
	r.ReportMetric(s.P50, "p50-ms")
	r.ReportMetric(s.P90, "p90-ms")
	r.ReportMetric(s.Max, "max-ms")
}

func (s Summary) String() string {
	if s.N == 0 {
		return "none"
	}
	return fmt.Sprintf("min %.2f, median %.2f, p90 %.2f, max %.2f ms of %d", s.Min, s.P50, s.P90, s.Max, s.N)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Median(values)
}
