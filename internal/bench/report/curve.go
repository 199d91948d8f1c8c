package report

import (
	"cmp"
	"maps"
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

// curves collects the trials of a group that have that metric and an N, by case and
// algorithm.
func curves(r *result.Run, group result.Group, metric string) []*curve {
	var all []*curve
	byCase := make(map[curveName]*curve)
	values := make(map[curveName]map[float64][]float64) // by N
	for _, t := range r.Trials {
		value, found := t.Values[metric]
		n, err := strconv.Atoi(t.Labels[result.Nodes])
		if t.Group != group || !found || err != nil || n < 1 || onTheWire(t) {
			continue
		}
		of := curveName{t.Labels[result.Case], t.Labels[result.Algorithm], t.Labels[result.Convention]}
		if byCase[of] == nil {
			byCase[of], values[of] = &curve{curveName: of}, make(map[float64][]float64)
			all = append(all, byCase[of])
		}
		values[of][float64(n)] = append(values[of][float64(n)], value)
	}
	for _, c := range all {
		for _, n := range slices.Sorted(maps.Keys(values[c.curveName])) {
			c.points = append(c.points, point{n, sample.Summarize(values[c.curveName][n])})
		}
	}
	slices.SortFunc(all, func(a, b *curve) int {
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
