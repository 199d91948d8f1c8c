package report

import (
	"math"
	"slices"

	"github.com/elect-go/elect/internal/bench/result"
)

// scale turns values into places along an axis, in the units of the drawing.
type scale struct {
	log      bool
	low, top float64 // values at the ends
	from, to float64 // places of the ends
	ticks    []float64
}

// newScale covers values: from zero, or in powers of ten where logarithmic is asked for
// and all of them are above zero.
func newScale(values []float64, logarithmic bool, from, to float64) scale {
	s := scale{from: from, to: to, top: 1}
	if len(values) > 0 {
		s.low, s.top = min(slices.Min(values), 0), slices.Max(values)
	}
	if logarithmic && len(values) > 0 && slices.Min(values) > 0 {
		s.log = true
		s.cover(slices.Min(values), slices.Max(values))
		return s
	}
	if s.top <= s.low {
		s.top = s.low + 1
	}
	step := niceStep((s.top - s.low) / 5)
	s.low, s.top = step*math.Floor(s.low/step), step*math.Ceil(s.top/step)
	for at := 0.0; s.low+at*step <= s.top+step/2; at++ {
		s.ticks = append(s.ticks, s.low+at*step)
	}
	return s
}

// cover has a logarithmic scale reach a little over both ends, with ticks at the powers of
// ten, and between them where there are few.
func (s *scale) cover(low, top float64) {
	s.low, s.top = low/1.3, top*1.3
	first, last := math.Floor(math.Log10(s.low)), math.Ceil(math.Log10(s.top))
	steps := []float64{1}
	if last-first <= 3 {
		steps = []float64{1, 2, 5}
	}
	for power := first; power <= last; power++ {
		for _, step := range steps {
			if tick := step * math.Pow(10, power); tick >= s.low && tick <= s.top {
				s.ticks = append(s.ticks, tick)
			}
		}
	}
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below least.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= least*(1-1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// at is the place of a value. What has no logarithm stands at the low end.
func (s scale) at(value float64) float64 {
	low, top := s.low, s.top
	if s.log {
		value, low, top = math.Log(max(value, s.low)), math.Log(low), math.Log(top)
	}
	return s.from + (value-low)/(top-low)*(s.to-s.from)
}

// shown reports whether a value can be drawn.
func (s scale) shown(value float64) bool { return !s.log || value > 0 }

// tickText is short: a large number has a prefix.
func tickText(value float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(value) >= unit.size {
			if unit.name == "k" {
				unit.size = 1e3
			}
			return result.Number(value/unit.size) + unit.name
		}
	}
	return result.Number(math.Round(value*1e6) / 1e6)
}
