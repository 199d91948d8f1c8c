package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScales(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		log    bool
		ticks  []float64
		isLog  bool
	}{
		{"from zero", []float64{3, 9}, false, []float64{0, 2, 4, 6, 8, 10}, false},
		{"small numbers", []float64{0.02}, false, []float64{0, 0.005, 0.01, 0.015, 0.02}, false},
		{"nothing", nil, true, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, false},
		{"all zero", []float64{0, 0}, true, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, false},
		{"below zero", []float64{-3, 4}, false, []float64{-4, -2, 0, 2, 4}, false},
		{"powers of ten", []float64{2, 50000}, true, []float64{10, 100, 1000, 10000}, true},
		{"few powers", []float64{2, 40}, true, []float64{2, 5, 10, 20, 50}, true},
		{"zero has no logarithm", []float64{0, 4}, true, []float64{0, 1, 2, 3, 4}, false},
	} {
		s := newScale(tc.values, tc.log, 100, 0)
		require.Equal(t, tc.isLog, s.log, tc.name)
		require.InDeltaSlice(t, tc.ticks, s.ticks, 1e-9, tc.name)
		for _, value := range tc.values {
			at := s.at(value)
			require.False(t, math.IsNaN(at), tc.name)
			require.True(t, at >= 0 && at <= 100, "%s: %v is at %v", tc.name, value, at)
		}
	}
}

func TestPlacesGrowWithTheLogarithm(t *testing.T) {
	s := scale{log: true, low: 1, top: 100, from: 0, to: 10}
	require.InDelta(t, 0, s.at(1), 1e-9)
	require.InDelta(t, 5, s.at(10), 1e-9)
	require.InDelta(t, 10, s.at(100), 1e-9)
	require.False(t, s.shown(0))
}

func TestTicksAreShort(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 0.15: "0.15", 0.1 + 0.2: "0.3", 1000: "1000", 20000: "20k", 5e6: "5M", 1e9: "1G"} {
		require.Equal(t, want, tickText(value))
	}
}
