package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
)

// curve is a metric against N.
type curve struct {
	algorithm  string
	name       string // of the case; of what is measured at rest it is empty
	convention string
	points     []point // by N
}

// point is what was measured at one N.
type point struct {
	n               float64
	mean, low, high float64 // of the trials; the least and the most
	trials          int
}

// curves collects the trials of a group that have that metric and an N, by case and
// algorithm.
func curves(r *result.Run, group result.Group, metric string) []*curve {
	var all []*curve
	for _, t := range r.Trials {
		value, found := t.Values[metric]
		n, err := strconv.Atoi(t.Labels[result.Nodes])
		if t.Group != group || !found || err != nil || n < 1 || onTheWire(t) {
			continue
		}
		of := curve{algorithm: t.Labels[result.Algorithm], name: t.Labels[result.Case], convention: t.Labels[result.Convention]}
		at := slices.IndexFunc(all, func(c *curve) bool {
			return c.algorithm == of.algorithm && c.name == of.name && c.convention == of.convention
		})
		if at < 0 {
			at, all = len(all), append(all, &of)
		}
		all[at].take(float64(n), value)
	}
	for _, c := range all {
		slices.SortFunc(c.points, func(a, b point) int { return cmp.Compare(a.n, b.n) })
	}
	slices.SortStableFunc(all, func(a, b *curve) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.algorithm, b.algorithm), cmp.Compare(a.convention, b.convention))
	})
	return all
}

// onTheWire reports whether a trial is an election of live nodes, which are few: those have
// a table.
func onTheWire(t result.Trial) bool {
	host, said := t.Labels[result.Host]
	return (t.Group == result.Messages || t.Group == result.Turnaround) && said && host != simulator
}

// take adds a trial.
func (c *curve) take(n, value float64) {
	at := slices.IndexFunc(c.points, func(p point) bool { return p.n == n })
	if at < 0 {
		c.points = append(c.points, point{n: n, mean: value, low: value, high: value, trials: 1})
		return
	}
	p := &c.points[at]
	p.trials++
	p.mean += (value - p.mean) / float64(p.trials)
	p.low, p.high = min(p.low, value), max(p.high, value)
}

// from returns the points from some N on.
func (c *curve) from(least float64) (x, y []float64) {
	for _, p := range c.points {
		if p.n >= least {
			x, y = append(x, p.n), append(y, p.mean)
		}
	}
	return x, y
}

// theory is the case of the theory that the curve is measured of, and whether there is one.
func (c *curve) theory() (theory.Case, bool) {
	all := theory.Cases()
	at := slices.IndexFunc(all, func(t theory.Case) bool {
		return t.Algorithm == c.algorithm && t.Name == c.name && t.Convention == c.convention
	})
	if at < 0 {
		return theory.Case{}, false
	}
	return all[at], true
}

// growth is how the messages grow by the theory; empty where it says nothing.
func (c *curve) growth() string {
	of, _ := c.theory()
	return of.Growth(int(c.points[len(c.points)-1].n))
}

// expected is the theory's mean at n of a metric of elections.
func (c *curve) expected(metric string, n int) (mean float64, known bool) {
	of, known := c.theory()
	number, counted := map[string]func(theory.Row) theory.Formula{
		result.MetricSent:       func(r theory.Row) theory.Formula { return r.Sent },
		result.MetricDelivered:  func(r theory.Row) theory.Formula { return r.Delivered },
		result.MetricTurnaround: func(r theory.Row) theory.Formula { return r.Turnaround },
	}[metric]
	if !known || !counted {
		return 0, false
	}
	return of.Expected(n, number)
}
