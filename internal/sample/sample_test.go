package sample

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSummarize: quantiles as in R, type 7, which is what spreadsheets have too.
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

func TestDurationsAreInMilliseconds(t *testing.T) {
	require.Equal(t, Summarize([]float64{0.5, 2, 3000}), Milliseconds([]time.Duration{2 * time.Millisecond, 3 * time.Second, 500 * time.Microsecond}))
	require.Zero(t, Milliseconds(nil))
}

func TestFitPower(t *testing.T) {
	curve := func(y func(n float64) float64) (Power, error) {
		var xs, ys []float64
		for n := 8.0; n <= 1024; n *= 2 {
			xs, ys = append(xs, n), append(ys, y(n))
		}
		return FitPower(xs, ys)
	}
	for name, c := range map[string]struct {
		y                  func(float64) float64
		exponent, residual float64
		within             float64
	}{
		"N²":          {func(n float64) float64 { return n * n }, 2, 0, 1e-9},
		"5/N":         {func(n float64) float64 { return 5 / n }, -1, 0, 1e-9},
		"a constant":  {func(float64) float64 { return 7 }, 0, 0, 1e-9},
		"N²-N-1":      {func(n float64) float64 { return n*n - n - 1 }, 2.02, 0.03, 0.01},
		"N log N":     {func(n float64) float64 { return n * math.Log(n) }, 1.24, 0.066, 0.01},
		"2N, and N²·": {func(n float64) float64 { return 2 * n * (1 + 0.1*math.Mod(math.Log2(n), 2)) }, 1, 0.05, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := curve(c.y)
			require.NoError(t, err)
			require.InDelta(t, c.exponent, p.Exponent, c.within)
			require.InDelta(t, c.residual, p.Residual, c.within)
			require.InEpsilon(t, c.y(64), p.At(64), 0.15)
		})
	}
}

func TestWhatCannotBeFitted(t *testing.T) {
	for name, points := range map[string][2][]float64{
		"two points":    {{1, 2}, {1, 2}},
		"a point less":  {{1, 2, 3}, {1, 2}},
		"a zero":        {{1, 2, 3}, {0, 2, 3}},
		"below zero":    {{-1, 2, 3}, {1, 2, 3}},
		"no number":     {{1, 2, 3}, {1, math.NaN(), 3}},
		"a single x":    {{2, 2, 2}, {1, 2, 3}},
		"nothing":       {nil, nil},
		"an x of zeros": {slices.Repeat([]float64{0}, 3), {1, 2, 3}},
	} {
		p, err := FitPower(points[0], points[1])
		require.ErrorIs(t, err, ErrFit, name)
		require.Zero(t, p, name)
	}
}
