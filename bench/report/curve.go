package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/elect-go/elect/bench/result"
	"github.com/elect-go/elect/bench/theory"
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
		if t.Group != group || !found || err != nil || n < 1 {
			continue
		}
		of := curve{algorithm: t.Labels[result.Algorithm], name: t.Labels[result.Case], convention: t.Labels[Convention]}
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

// theory returns the row that says what elections of a curve cost, and the elections of n
// nodes whose mean is measured; false where the theory says nothing. The cases are those
// of bench.SimulatedCases.
func (c *curve) theory(n int) (row theory.Row, all []theory.Election, known bool) {
	crashed := 0
	if c.algorithm == "bully" || c.name == "leader-crash" {
		crashed = 1 // books start bully when the leader has crashed
	}
	live := n - crashed
	one := func(initiators ...int) []theory.Election {
		return []theory.Election{{N: n, Crashed: crashed, Initiators: initiators}}
	}
	switch {
	case live < 1:
		return row, nil, false
	case c.algorithm == "ring" && c.name == "all-start":
		return meanOverOrders(n)
	case c.algorithm == "ring" && c.name == "all-start-worst":
		all = []theory.Election{{N: n, Order: theory.Descending(n)}}
	case c.name == "random":
		for i := range live {
			all = append(all, one(i+1)...)
		}
	case c.name == "worst":
		all = one(1)
	case c.algorithm != "vote" && c.name == "best", c.algorithm == "ring" && c.name == "leader-crash":
		all = one(live)
	case c.name == "best", c.name == "all-start", c.name == "leader-crash":
		all = one()
	default:
		return row, nil, false
	}
	row, known = theory.For(c.algorithm, c.convention, all[0])
	for _, e := range all {
		known = known && row.Holds(e)
	}
	return row, all, known
}

func meanOverOrders(n int) (theory.Row, []theory.Election, bool) {
	e := theory.Election{N: n}
	for _, r := range theory.Rows() {
		if r.Algorithm == "ring" && r.Mean == theory.OverOrders && r.Holds(e) {
			return r, []theory.Election{e}, true
		}
	}
	return theory.Row{}, nil, false
}

// expected is the theory's mean at n of a metric of elections.
func (c *curve) expected(metric string, n int) (mean float64, known bool) {
	row, all, known := c.theory(n)
	if !known {
		return 0, false
	}
	for _, e := range all {
		switch metric {
		case Sent:
			mean += row.Sent.At(e)
		case Delivered:
			mean += row.Delivered.At(e)
		case Time:
			mean += row.Turnaround.At(e)
		default:
			return 0, false
		}
	}
	return mean / float64(len(all)), true
}
