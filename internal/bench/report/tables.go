// Package report tells people what a benchmark has found: the questions that it answers,
// as tables in plain text, and a page of HTML with plots.
//
// All is made of a [result.Run], so that a page can be written again from its data. What
// is drawn as measured comes from its trials; the lines of the theory come from
// [github.com/elect-go/elect/internal/bench/theory], and are named so.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// question is one that trials can answer: a table with a row for each of those that are told
// apart.
type question struct {
	text  string
	usual int // the N at which it is asked, if that was measured
	group result.Group
	where map[string]string // labels that a trial must have to count
	by    []string          // labels that tell the rows apart; trials without one of them do not count
	// metrics are the columns: medians of the trials, in the order in which they were measured.
	// Of a race there is one metric, whose row says all of it, and the lowest is first.
	metrics []string
	race    bool
	worst   bool   // the largest of the trials stands for their median
	note    string // how to read it
}

// questions are those that a run can answer. Each is asked at the size that is nearest to the
// usual one, of those that were measured: that stands behind "N=" then.
func questions(r *result.Run) (asked []question) {
	var all []question
	race := func(usual int, text string, group result.Group, metric string, where map[string]string, by ...string) {
		all = append(all, question{text: text, usual: usual, group: group, where: where, by: by, metrics: []string{metric}, race: true})
	}
	elections := func(text string, group result.Group, metric, which string) {
		race(9, text, group, metric, map[string]string{result.Case: which}, result.Algorithm, result.Convention)
	}
	elections("Which costs fewest messages at N=, when the leader has crashed?", result.Messages, result.MetricSent, "leader-crash")
	elections("Which costs fewest messages at N=, at worst?", result.Messages, result.MetricSent, "worst")
	elections("Which costs fewest messages at N=, when all start?", result.Messages, result.MetricSent, "all-start")
	elections("Which knows the new leader first at N=, when the leader has crashed?", result.Turnaround, result.MetricTurnaround, "leader-crash")
	elections("Which knows the new leader first at N=, at worst?", result.Turnaround, result.MetricTurnaround, "worst")
	for _, fault := range values(r, result.Failover, result.Signal, nil) {
		race(5, "Which recovers fastest from "+cmp.Or(faultsInWords[fault], fault)+", at N=?", result.Failover, result.MetricFailover,
			map[string]string{result.Signal: fault}, result.Algorithm)
	}
	for _, rest := range restMetrics {
		race(15, "What does it cost at rest, in "+rest.inWords+", at N=?", result.Idle, rest.metric, map[string]string{}, result.Algorithm)
	}
	for _, host := range values(r, result.Turnaround, result.Host, nil) {
		if host == simulator {
			continue
		}
		q := question{usual: 5, where: map[string]string{result.Host: host}, by: []string{result.Algorithm, result.Case}}
		q.text, q.group, q.metrics = "How long does an election take on the wire, at N=?", result.Turnaround, []string{result.MetricTurnaround, result.MetricElect, result.MetricT}
		q.note = "T is the mean time of a message of the same election, one way."
		all = append(all, q)
		q.text, q.group, q.metrics = "How many messages does it take there, at N=?", result.Messages, []string{result.MetricSent, result.MetricDelivered}
		q.note = "Counted by the nodes, which the benchmark of the wire compares with what is on the sockets."
		all = append(all, q)
	}
	for _, host := range values(r, result.Application, result.Host, nil) {
		all = append(all, question{
			text: "What does a fault cost an application, at N= (" + host + ")?", usual: 5, note: costText,
			group: result.Application, where: map[string]string{result.Host: host}, by: []string{result.Fault, result.Algorithm},
			metrics: []string{result.MetricNone, result.MetricTwo, result.MetricUnled, result.MetricChanges, result.MetricMessages},
		})
	}
	for _, host := range values(r, result.Stability, result.Host, nil) {
		all = append(all, question{
			text: "Is a leader that works left to work, at N= (" + host + ")?", usual: 5, note: stabilityText, worst: true,
			group: result.Stability, where: map[string]string{result.Host: host}, by: []string{result.Fault, result.Algorithm},
			metrics: []string{result.MetricEnds, result.MetricChanges, result.MetricTwo, result.MetricOneTerm, result.MetricSlower, result.MetricAgreed, result.MetricUp},
		})
	}
	for _, q := range all {
		if n, found := nearest(r, q.group, q.where, q.usual); found {
			q.text, q.where = strings.Replace(q.text, "N=", "N="+n, 1), maps.Clone(q.where)
			q.where[result.Nodes] = n
			asked = append(asked, q)
		}
	}
	if len(values(r, result.Detector, result.Condition, nil)) > 0 {
		asked = append(asked, question{
			text: "How fast is the failure detector, and how often is it wrong?", note: detectorText,
			group: result.Detector, by: []string{result.Condition, result.Adapts, result.Timeout},
			metrics: []string{result.MetricDetection, result.MetricMistakes, result.MetricMistake, result.MetricAccuracy},
		})
	}
	return asked
}

const (
	costText = `no-leader: nobody who runs leads. two-leaders: two who run lead, each in its own eyes. unled-node: a node has no
leader within reach, the mean of all nodes. leader-changes: how often a node begins to lead.`
	stabilityText = `The worst of the trials. leaderships-ended: one whose node ran and had a majority all the while. last/first-detection:
of 40 pauses, whose two-leaders is the 95th of 100. agreement: from the start until all agree for good; agreement-up: from when the last was up.`
	detectorText = `Silence alone tells: a machine dies, and no connection is closed. adapts: the timeout grows after a mistake, as it does by
default. Beside evidence, which finds a killed process at once, this is what is left.`
)

// restMetrics are the costs at rest in the order in which they are shown.
var restMetrics = []struct{ metric, inWords string }{
	{result.MetricFrames, "frames sent a heartbeat interval and node"},
	{result.MetricTraffic, "bytes sent a second and node"},
	{result.MetricProcessor, "percent of a core and node"},
	{result.MetricHeap, "memory a node"},
}

// faultsInWords are the faults of failovers.
var faultsInWords = map[string]string{
	"kill":     "a kill",
	"stop":     "a pause",
	"term":     "a polite stop",
	"drop":     "a partition",
	"drop-out": "the loss of all that the leader sends",
	"drop-in":  "the loss of all that the leader is sent",
}

// simulator is the host of what is simulated.
const simulator = "simulator"

// values are what a label of the trials of a group has been, what was measured first first.
func values(r *result.Run, group result.Group, label string, where map[string]string) (found []string) {
	for _, t := range r.Trials {
		if value, has := t.Labels[label]; has && t.Group == group && t.Has(where) && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found
}

// nearest is the N nearest to the wanted one of those measured; of two the larger.
func nearest(r *result.Run, group result.Group, where map[string]string, wanted int) (string, bool) {
	best, found := 0, false
	for _, text := range values(r, group, result.Nodes, where) {
		n, err := strconv.Atoi(text)
		if err != nil {
			continue
		}
		off, least := max(n-wanted, wanted-n), max(best-wanted, wanted-best)
		if !found || off < least || off == least && n > best {
			best, found = n, true
		}
	}
	return strconv.Itoa(best), found
}

// row is what was measured of one of those that are told apart.
type row struct {
	labels  map[string]string
	samples map[string][]float64 // by metric
	trials  int
}

// rows are in the order in which they were measured.
func (q question) rows(r *result.Run) []*row {
	byName := make(map[string]*row)
	var all []*row
	for _, t := range r.Trials {
		labels := make(map[string]string)
		for _, key := range q.by {
			if value, found := t.Labels[key]; found {
				labels[key] = value
			}
		}
		if t.Group != q.group || !t.Has(q.where) || len(labels) < len(q.by) {
			continue
		}
		name := result.Series{Labels: labels}.Name()
		if byName[name] == nil {
			byName[name] = &row{labels: labels, samples: make(map[string][]float64)}
			all = append(all, byName[name])
		}
		byName[name].trials++
		for metric, value := range t.Values {
			byName[name].samples[metric] = append(byName[name].samples[metric], value)
		}
	}
	return all
}

// table answers the question.
func (q question) table(r *result.Run) result.Table {
	t := result.Table{Title: q.text, Names: len(q.by), Note: q.note}
	if q.race {
		return q.ranking(t, r)
	}
	t.Head = slices.Concat(q.by, q.metrics, []string{"trials"})
	for _, of := range q.rows(r) {
		cells := names(of.labels, q.by)
		for _, metric := range q.metrics {
			text := "-"
			if values := of.samples[metric]; len(values) > 0 {
				summary := sample.Summarize(values)
				if text = result.Number(summary.Median); q.worst {
					text = result.Number(summary.Max)
				}
			}
			cells = append(cells, text)
		}
		t.Rows = append(t.Rows, append(cells, strconv.Itoa(of.trials)))
	}
	return t
}

func names(labels map[string]string, by []string) (cells []string) {
	for _, key := range by {
		cells = append(cells, labels[key])
	}
	return cells
}

// ranking is the table of a race. What cannot be told apart from the best has a ratio in
// parentheses.
func (q question) ranking(t result.Table, r *result.Run) result.Table {
	metric := q.metrics[0]
	t.Head = append(slices.Clone(q.by), metric, "95 %", "min", "p90", "trials", "to the best")
	var samples []result.Sample
	for _, of := range q.rows(r) {
		if values := of.samples[metric]; len(values) > 0 {
			samples = append(samples, result.Sample{Series: result.Series{Group: q.group, Labels: of.labels, Metric: metric}, Values: values})
		}
	}
	slices.SortStableFunc(samples, func(a, b result.Sample) int {
		return cmp.Compare(a.Estimate().Median, b.Estimate().Median)
	})
	for at, s := range samples {
		e, best := s.Estimate(), "best"
		if at > 0 {
			best = times(s.Over(samples[0]))
		}
		cells := names(s.Labels, q.by)
		t.Rows = append(t.Rows, append(cells, result.Number(e.Median), between(e.Interval), result.Number(e.Min), result.Number(e.P90), strconv.Itoa(e.Trials), best))
	}
	return t
}

func between(i sample.Interval) string { return result.Number(i.Low) + " to " + result.Number(i.High) }

func times(r sample.Ratio) string {
	switch {
	case !r.Defined:
		return "-"
	case !r.Apart():
		return fmt.Sprintf("(%.3g)", r.Times)
	}
	return fmt.Sprintf("%.3g", r.Times)
}

// fromN is the least N that a power is fitted to: below it, what is added to the power
// bends the curve.
const fromN = 8

// growth fits a power of N to the messages of each kind of election, and to the frames that all
// nodes together send at rest. There is no row where fewer than three sizes were measured.
func growth(r *result.Run) result.Table {
	t := result.Table{Title: "How does it grow with N?", Names: 1, Head: []string{"what", "exponent", "residual", "theory"}, Note: growing}
	add := func(what string, c *curve, least float64, of func(point) float64, theory string) {
		var x, y []float64
		for _, p := range c.points {
			if p.n >= least {
				x, y = append(x, p.n), append(y, of(p))
			}
		}
		if p, err := sample.FitPower(x, y); err == nil {
			t.Rows = append(t.Rows, []string{what, fmt.Sprintf("%.2f", p.Exponent), fmt.Sprintf("%.1f %%", 100*p.Residual), theory})
		}
	}
	for _, c := range curves(r, result.Messages, result.MetricSent, electionLabels...) {
		add(fmt.Sprintf("messages: %s, %s", c.algorithm, c.name), c, fromN, func(p point) float64 { return p.Mean }, c.growth())
	}
	for _, c := range curves(r, result.Idle, result.MetricFrames, result.Algorithm) {
		add("frames of all nodes at rest: "+c.algorithm, c, 0, func(p point) float64 { return p.Mean * p.n }, "N")
	}
	return t
}

const growing = `The exponent of a power of N that was fitted to what was measured, and how far the points are from it; for messages from N=8 on.
What grows as N log N has no exponent: one between 1 and 1.4 comes closest.`

// tables are all answers, and how it grows.
func tables(r *result.Run) []result.Table {
	var all []result.Table
	for _, q := range questions(r) {
		all = append(all, q.table(r))
	}
	if t := growth(r); len(t.Rows) > 0 {
		all = append(all, t)
	}
	return all
}

// textNote says how to read the tables.
const textNote = `Columns: the median of the trials, its bootstrap interval of 95 %, and the ratio to the best,
in parentheses where the trials do not tell it apart from 1. Of fewer than about ten trials
the interval is too narrow, and of one it has no width.`

// WriteTables writes a table for each question, then how the messages grow, and what was
// skipped.
func WriteTables(out io.Writer, r *result.Run) error {
	var text strings.Builder
	for _, t := range tables(r) {
		_ = t.Write(&text) // into memory
		fmt.Fprintln(&text)
	}
	if len(r.Trials) > 0 {
		fmt.Fprintf(&text, "%s\n\n", textNote)
	}
	for _, what := range r.Skipped {
		fmt.Fprintf(&text, "not measured: %s\n", what)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
