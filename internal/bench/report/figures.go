package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// figure is a drawing and what stands above it.
type figure struct {
	title string
	svg   markup
}

// casesInWords are the cases of elections.
var casesInWords = map[string]string{
	"leader-crash":    "The leader has crashed, and all who watch it start",
	"best":            "The best case",
	"worst":           "The worst case",
	"all-start":       "All start",
	"all-start-worst": "All start, in the worst order",
	"random":          "A random one starts",
}

// electionFigures has one figure for each case of the elections, with all algorithms.
func electionFigures(r *result.Run, group result.Group, metric, y string) (all []figure) {
	curves := curves(r, group, metric, electionLabels...)
	for _, name := range values(r, group, result.Case, nil) {
		title := cmp.Or(casesInWords[name], name)
		p := plot{title: title + ": " + y + " against N", y: y, log: true}
		for _, c := range curves {
			if c.name == name {
				p.sets = append(p.sets, set{name: c.algorithm, look: lookOf(r, c.algorithm), points: c.points, theory: c.line(metric)})
			}
		}
		if len(p.sets) > 0 {
			all = append(all, figure{title, p.draw()})
		}
	}
	return all
}

// line is the theory between the least and the largest N that were measured.
func (c *curve) line(metric string) [][2]float64 {
	const steps = 24
	least, most := c.points[0].n, c.points[len(c.points)-1].n
	var all [][2]float64
	last := 0
	for at := range steps + 1 {
		n := int(math.Round(least * math.Pow(most/least, float64(at)/steps)))
		if n == last {
			continue
		}
		last = n
		if value, known := c.expected(metric, n); known {
			all = append(all, [2]float64{float64(n), value})
		}
	}
	return all
}

// lookOf numbers the algorithms, so that one has the same look in all figures: those for use
// first, and from looks on the textbooks, which are hollow.
func lookOf(r *result.Run, algorithm string) int {
	textbook := func(name string) bool { return strings.HasPrefix(name, "textbook-") }
	alike := make(map[string]bool)
	for _, t := range r.Trials {
		if name := t.Labels[result.Algorithm]; name != "" && textbook(name) == textbook(algorithm) {
			alike[name] = true
		}
	}
	look := slices.Index(slices.Sorted(maps.Keys(alike)), algorithm) % looks
	if textbook(algorithm) {
		look += looks
	}
	return look
}

// lanes are the samples of a metric that have those labels.
func lanes(r *result.Run, group result.Group, metric string, where map[string]string) (all []lane) {
	sizes := values(r, group, result.Nodes, where)
	for _, s := range r.Samples() {
		if s.Group != group || s.Metric != metric || !(result.Trial{Labels: s.Labels}).Has(where) {
			continue
		}
		name := s.Labels[result.Algorithm]
		if len(sizes) > 1 {
			name += " N=" + s.Labels[result.Nodes]
		}
		all = append(all, lane{name, lookOf(r, s.Labels[result.Algorithm]), s.Values, s.Estimate()})
	}
	return all
}

// failoverFigures has one for each fault, with all trials.
func failoverFigures(r *result.Run) (all []figure) {
	const x = "ms until the last survivor knows the new leader"
	for _, fault := range values(r, result.Failover, result.Signal, nil) {
		where := map[string]string{result.Signal: fault}
		title := "After " + cmp.Or(faultsInWords[fault], fault)
		if sizes := values(r, result.Failover, result.Nodes, where); len(sizes) == 1 {
			title += ", N=" + sizes[0]
		}
		if rows := lanes(r, result.Failover, result.MetricFailover, where); len(rows) > 0 {
			all = append(all, figure{title, (&strip{title + ": " + x, x, rows}).draw()})
		}
	}
	return all
}

// costFigures have, for each fault, how long two lead at once, and how long a node has no leader
// within reach, in the simulator; where there is something to see.
func costFigures(r *result.Run) (all []figure) {
	for _, fault := range values(r, result.Application, result.Fault, map[string]string{result.Host: simulator}) {
		for _, m := range []struct{ metric, inWords string }{
			{result.MetricUnled, "ms that a node has no leader within reach"},
			{result.MetricTwo, "ms with two leaders"},
		} {
			rows := lanes(r, result.Application, m.metric, map[string]string{result.Fault: fault, result.Host: simulator})
			if slices.ContainsFunc(rows, func(l lane) bool { return l.estimate.Max >= 1 }) {
				all = append(all, figure{fault + ": " + m.inWords, (&strip{"fault " + fault + ": " + m.inWords, m.inWords, rows}).draw()})
			}
		}
	}
	return all
}

// knownConditions are in words.
var knownConditions = map[string]string{"lossy": "Frames are lost", "late": "Messages are late", "stalls": "Processes stall"}

// detectorFigures have, for each condition, mistakes against speed. A point is a timeout.
func detectorFigures(r *result.Run) (all []figure) {
	for _, condition := range values(r, result.Detector, result.Condition, nil) {
		title := cmp.Or(knownConditions[condition], condition)
		p := plot{title: title + ": mistakes an hour against ms until a crash is found", x: "ms until a crash is found (median)", y: "mistakes an hour", join: true}
		most := 0.0
		for look, adapts := range []string{"false", "true"} {
			s := set{name: map[string]string{"false": "fixed timeout", "true": "adapts"}[adapts], look: look}
			q := question{group: result.Detector, where: map[string]string{result.Condition: condition, result.Adapts: adapts}, by: []string{result.Timeout}}
			for _, of := range q.rows(r) {
				at := point{sample.Summarize(of.samples[result.MetricDetection]).Mean, sample.Summarize(of.samples[result.MetricMistakes])}
				s.points = append(s.points, at)
				most = max(most, at.Max)
			}
			if len(s.points) > 0 {
				p.sets = append(p.sets, s)
			}
		}
		if most > 0 {
			all = append(all, figure{title, p.draw()})
		}
	}
	return all
}

// restFigures has one for each cost at rest.
func restFigures(r *result.Run) []figure {
	var all []figure
	for _, rest := range restMetrics {
		p := plot{title: fmt.Sprintf("%s against N", rest.metric), y: rest.metric, join: true}
		for _, c := range curves(r, result.Idle, rest.metric, result.Algorithm) {
			p.sets = append(p.sets, set{name: c.algorithm, look: lookOf(r, c.algorithm), points: c.points})
		}
		if len(p.sets) > 0 {
			all = append(all, figure{"At rest: " + rest.inWords, p.draw()})
		}
	}
	return all
}
