package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	ms := func(values ...float64) []time.Duration {
		var sample []time.Duration
		for _, v := range values {
			sample = append(sample, time.Duration(v*float64(time.Millisecond)))
		}
		return sample
	}
	for _, c := range []struct {
		name   string
		sample []time.Duration
		want   Summary
	}{
		{"empty", nil, Summary{}},
		{"one", ms(1.5), Summary{1, 1.5, 1.5, 1.5, 1.5}},
		{"an even number has its median between two", ms(4, 1, 3, 2), Summary{4, 1, 2.5, 3.7, 4}},
		{"in no order", ms(10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5), Summary{11, 0, 5, 9, 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Summarize(c.sample)
			require.Equal(t, c.want.N, got.N)
			require.InDeltaSlice(t, []float64{c.want.Min, c.want.P50, c.want.P90, c.want.Max},
				[]float64{got.Min, got.P50, got.P90, got.Max}, 1e-9)
		})
	}
}

type reported map[string]float64

func (r reported) ReportMetric(n float64, unit string) { r[unit] = n }

func TestSummaryReportsInMilliseconds(t *testing.T) {
	got := make(reported)
	Summary{N: 3, Min: 1, P50: 2, P90: 3, Max: 4}.Report(got)
	require.Equal(t, reported{"min-ms": 1, "p50-ms": 2, "p90-ms": 3, "max-ms": 4}, got)
}

func TestSummaryString(t *testing.T) {
	require.Equal(t, "none", Summary{}.String())
	require.Equal(t, "min 1.00, median 2.00, p90 3.25, max 4.00 ms of 3", Summary{3, 1, 2, 3.25, 4}.String())
}

func TestMedian(t *testing.T) {
	require.Zero(t, median(nil))
	require.Equal(t, 2.5, median([]float64{9, 2, 1, 3}))
}
