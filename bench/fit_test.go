package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// power is a curve y = Factor · x^Exponent.
type power struct {
	Exponent float64
	Factor   float64
	// Residual is the distance of the points from the curve: the root of the mean square of
	// ln(y/curve). A residual of 0.05 is about 5 %.
	Residual float64
}

// errFit reports that no curve can be fitted.
var errFit = errors.New("bench: no curve can be fitted")

// fitPower fits a power of x to points, by least squares of the logarithms. N log N has no exponent:
// over N = 8 … 1,024 the best is about 1.2, and the residual does not show the difference. The error
// is errFit if there are fewer than three points, a point is not above zero, or all have one x.
func fitPower(x, y []float64) (power, error) {
	if len(x) < 3 || len(x) != len(y) {
		return power{}, fmt.Errorf("%w to %d and %d numbers, want three pairs", errFit, len(x), len(y))
	}
	n := float64(len(x))
	var meanX, meanY float64
	for i := range x {
		if !(x[i] > 0) || !(y[i] > 0) {
			return power{}, fmt.Errorf("%w: one point is (%v, %v), want both above zero", errFit, x[i], y[i])
		}
		meanX += math.Log(x[i]) / n
		meanY += math.Log(y[i]) / n
	}
	var xx, xy float64
	for i := range x {
		dx := math.Log(x[i]) - meanX
		xx += dx * dx
		xy += dx * (math.Log(y[i]) - meanY)
	}
	if xx == 0 {
		return power{}, fmt.Errorf("%w: all points have x = %v", errFit, x[0])
	}
	p := power{Exponent: xy / xx}
	p.Factor = math.Exp(meanY - p.Exponent*meanX)
	var squares float64
	for i := range x {
		off := math.Log(y[i]) - math.Log(p.At(x[i]))
		squares += off * off
	}
	p.Residual = math.Sqrt(squares / n)
	return p, nil
}

// At returns the value of the curve at x.
func (p power) At(x float64) float64 { return p.Factor * math.Pow(x, p.Exponent) }

func TestFitPower(t *testing.T) {
	curve := func(y func(n float64) float64) (power, error) {
		var xs, ys []float64
		for n := 8.0; n <= 1024; n *= 2 {
			xs, ys = append(xs, n), append(ys, y(n))
		}
		return fitPower(xs, ys)
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

func TestFitRejectsTooFewPoints(t *testing.T) {
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
		p, err := fitPower(points[0], points[1])
		require.ErrorIs(t, err, errFit, name)
		require.Zero(t, p, name)
	}
}
