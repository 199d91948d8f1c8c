package report

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRatioOf(t *testing.T) {
	require.Equal(t, "-", RatioOf(nil, []float64{1}).String())
	require.Equal(t, "-", RatioOf([]float64{1}, nil).String())
	require.Equal(t, "-", RatioOf([]float64{1}, []float64{0, 1}).String())
	require.Equal(t, "2.00", RatioOf([]float64{6, 6}, []float64{3, 3, 3}).String(), "too few for an interval")
	require.Equal(t, "2.00 [2.00, 2.00]", RatioOf(slices.Repeat([]float64{6}, 7), slices.Repeat([]float64{3}, 7)).String())
	r := RatioOf([]float64{28, 29, 30, 31, 32, 33, 34}, []float64{9, 9, 10, 10, 10, 11, 11})
	require.InDelta(t, 3.1, r.Times, 1e-9)
	require.InDelta(t, 28.0/11, r.Low, 1e-9, "of seven, the interval is all of them")
	require.InDelta(t, 34.0/9, r.High, 1e-9)
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 3.14159: "3.14", 31.4159: "31.4", 314.159: "314", 3141.59: "3142"} {
		require.Equal(t, want, Digits(v))
	}
}
