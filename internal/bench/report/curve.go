package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/sample"
)

// curve is a metric against N.
type curve struct {
	curveName
	points []point // by N
}

// curveName is what tells curves apart; name is that of the case, and empty for what is measured
// at rest.
type curveName struct{ name, algorithm, convention string }

// point is what was measured at one N.
type point struct {
	n float64
	sample.Summary
}

// electionLabels tell curves of elections apart. Those on the wire, which are few, are counted by
// no convention: they have a table.
var electionLabels = []string{result.Case, result.Algorithm, result.Convention}

// curves are the metric of a group against N, one for each of those that the labels tell apart.
func curves(r *result.Run, group result.Group, metric string, by ...string) (all []*curve) {
	q := question{group: group, by: append(slices.Clone(by), result.Nodes)}
	for _, of := range q.rows(r) {
		n, err := strconv.Atoi(of.labels[result.Nodes])
		values := of.samples[metric]
		if err != nil || n < 1 || len(values) == 0 {
			continue
		}
		name := curveName{of.labels[result.Case], of.labels[result.Algorithm], of.labels[result.Convention]}
		at := slices.IndexFunc(all, func(c *curve) bool { return c.curveName == name })
		if at < 0 {
			at, all = len(all), append(all, &curve{curveName: name})
		}
		all[at].points = append(all[at].points, point{float64(n), sample.Summarize(values)})
	}
	for _, c := range all {
		slices.SortFunc(c.points, func(a, b point) int { return cmp.Compare(a.n, b.n) })
	}
	return all
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
