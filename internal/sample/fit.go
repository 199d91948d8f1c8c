package sample

import (
	"errors"
	"fmt"
	"math"
)

// Power is a curve y = Factor · x^Exponent.
type Power struct {
	Exponent float64
	Factor   float64
	// Residual is how far the points are from the curve: the root of the mean square of
	// ln(y/curve). A residual of 0.05 is about 5 %.
	Residual float64
}

// ErrFit says that no curve can be fitted.
var ErrFit = errors.New("sample: no curve can be fitted")

// FitPower fits a power of x to points, by least squares of the logarithms. What grows as
// N log N has no exponent: over N = 8 … 1,024 one of about 1.2 comes closest, and the
// residual does not say that it is wrong. Its error is ErrFit: there are fewer than three
// points, or one that is not above zero, or all have one x.
func FitPower(x, y []float64) (Power, error) {
	if len(x) < 3 || len(x) != len(y) {
		return Power{}, fmt.Errorf("%w to %d and %d numbers, want three pairs", ErrFit, len(x), len(y))
	}
	n := float64(len(x))
	var meanX, meanY float64
	for i := range x {
		if !(x[i] > 0) || !(y[i] > 0) {
			return Power{}, fmt.Errorf("%w: one point is (%v, %v), want both above zero", ErrFit, x[i], y[i])
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
		return Power{}, fmt.Errorf("%w: all points have x = %v", ErrFit, x[0])
	}
	p := Power{Exponent: xy / xx}
	p.Factor = math.Exp(meanY - p.Exponent*meanX)
	var squares float64
	for i := range x {
		off := math.Log(y[i]) - math.Log(p.At(x[i]))
		squares += off * off
	}
	p.Residual = math.Sqrt(squares / n)
	return p, nil
}

// At is the curve at x.
func (p Power) At(x float64) float64 { return p.Factor * math.Pow(x, p.Exponent) }
