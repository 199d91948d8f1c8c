package report

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

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

// theoryRows is theory.Rows, which takes a while to make.
var theoryRows = sync.OnceValue(theory.Rows)

// rowOf returns the row that says what an election costs by a convention. With mean it is
// one that gives that mean, of elections of which e is one.
func rowOf(algorithm, convention string, mean theory.Mean, e theory.Election) (theory.Row, bool) {
	for _, r := range theoryRows() {
		if r.Algorithm == algorithm && r.Convention.Name == convention && r.Mean == mean && r.Holds(e) {
			return r, true
		}
	}
	return theory.Row{}, false
}

// elections are those whose mean is measured at n, and the mean of them that the theory
// has to give for each; none where the case is unknown. The cases are those of
// bench.SimulatedCases.
func (c *curve) elections(n int) (all []theory.Election, mean theory.Mean) {
	crashed := 0
	if c.algorithm == "bully" || c.name == "leader-crash" {
		crashed = 1 // books start bully when the leader has crashed
	}
	live := n - crashed
	if live < 1 {
		return nil, theory.Single
	}
	start := func(initiators ...int) []theory.Election {
		return []theory.Election{{N: n, Crashed: crashed, Initiators: initiators}}
	}
	ring, vote := c.algorithm == "ring", c.algorithm == "vote"
	switch {
	case ring && c.name == "all-start":
		return start(), theory.OverOrders
	case ring && c.name == "all-start-worst":
		return []theory.Election{{N: n, Order: theory.Descending(n)}}, theory.Single
	case c.name == "random":
		for i := range live {
			all = append(all, start(i+1)...)
		}
		return all, theory.Single
	case c.name == "worst":
		return start(1), theory.Single
	case !vote && c.name == "best", ring && c.name == "leader-crash":
		return start(live), theory.Single
	case c.name == "best", c.name == "all-start", c.name == "leader-crash":
		return start(), theory.Single
	}
	return nil, theory.Single
}

// growth is how the messages grow by the theory; empty where it says nothing.
func (c *curve) growth() string {
	all, mean := c.elections(int(c.points[len(c.points)-1].n))
	if len(all) == 0 {
		return ""
	}
	row, _ := rowOf(c.algorithm, c.convention, mean, all[0])
	return row.Growth
}

// expected is the theory's mean at n of a metric of elections.
func (c *curve) expected(metric string, n int) (sum float64, known bool) {
	all, mean := c.elections(n)
	for _, e := range all {
		row, known := rowOf(c.algorithm, c.convention, mean, e)
		if !known {
			return 0, false
		}
		switch metric {
		case result.MetricSent:
			sum += row.Sent.At(e)
		case result.MetricDelivered:
			sum += row.Delivered.At(e)
		case result.MetricTurnaround:
			sum += row.Turnaround.At(e)
		default:
			return 0, false
		}
	}
	return sum / float64(max(1, len(all))), len(all) > 0
}
