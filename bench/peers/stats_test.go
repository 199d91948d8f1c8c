package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/fleet"
)

func TestTimes(t *testing.T) {
	c := Case{System: "etcd-raft", Setting: equal, Signal: fleet.Kill, Nodes: 5}
	require.Equal(t, "-", ratioText(times(c, "ms", nil, []float64{1})))
	require.Equal(t, "-", ratioText(times(c, "ms", []float64{1}, nil)))
	require.Equal(t, "2.00 [2.00, 2.00]", ratioText(times(c, "ms", []float64{6, 6}, []float64{3, 3, 3})))
	r := times(c, "ms", []float64{29, 30, 31, 32}, []float64{9, 10, 10, 11})
	require.Equal(t, r, times(c, "ms", []float64{29, 30, 31, 32}, []float64{9, 10, 10, 11}), "the same draws")
	require.InDelta(t, 3.05, r.Times, 1e-9)
	require.Less(t, r.Interval.Low, r.Times)
	require.Greater(t, r.Interval.High, r.Times)
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 3.14159: "3.14", 31.4159: "31.4", 314.159: "314", 3141.59: "3142"} {
		require.Equal(t, want, digits(v))
	}
}
