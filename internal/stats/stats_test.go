package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Quantiles are those of type 7 in R, the default of R and of spreadsheets.
func TestSummarize(t *testing.T) {
	require.Equal(t, Summary{}, Summarize(nil))
	for _, c := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"one", []float64{1.5}, Summary{1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5}},
		{"an even number has its median between two", []float64{4, 1, 3, 2}, Summary{4, 1, 1.3, 2.5, 2.5, 3.7, 4}},
		{"in no order", []float64{10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5}, Summary{11, 0, 1, 5, 5, 9, 10}},
		{"a median is not a mean", []float64{9, 2, 1, 3}, Summary{4, 1, 1.3, 2.5, 3.75, 7.2, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Summarize(c.values)
			require.Equal(t, c.want.Trials, got.Trials)
			require.InDeltaSlice(t, []float64{c.want.Min, c.want.P10, c.want.Median, c.want.Mean, c.want.P90, c.want.Max},
				[]float64{got.Min, got.P10, got.Median, got.Mean, got.P90, got.Max}, 1e-9)
		})
	}
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[(i*37)%101] = float64(i)
	}
	s := Summarize(hundred)
	require.InDeltaSlice(t, []float64{0, 10, 50, 50, 90, 100}, []float64{s.Min, s.P10, s.Median, s.Mean, s.P90, s.Max}, 1e-9)
}

func TestQuantileOfDurations(t *testing.T) {
	require.Zero(t, Quantile(nil, 0.5))
	require.Equal(t, time.Second, Quantile([]time.Duration{time.Second}, 0.99))
	unordered := []time.Duration{3 * time.Second, time.Second, 2 * time.Second}
	require.Equal(t, 2*time.Second, Quantile(unordered, 0.5))
	require.Equal(t, 3*time.Second, Quantile(unordered, 1))
	require.Equal(t, 3*time.Second, unordered[0], "the argument stays in its order")
}

func TestDurationsAreInMilliseconds(t *testing.T) {
	require.Equal(t, Summarize([]float64{0.5, 2, 3000}), Milliseconds([]time.Duration{2 * time.Millisecond, 3 * time.Second, 500 * time.Microsecond}))
	require.Zero(t, Milliseconds(nil))
}
