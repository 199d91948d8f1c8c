package result

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/exp/stats"
)

// Question is one that trials can answer: which of several is best.
type Question struct {
	Text   string `json:"text"` // "Which costs fewest messages at N=9?"
	Group  Group  `json:"group"`
	Metric string `json:"metric"`
	// Where are the labels that a trial must have to count.
	Where map[string]string `json:"where"`
	// By are the labels that tell those apart that are compared.
	By []string `json:"by"`
	// Most: the highest is the best. Else the lowest is.
	Most bool `json:"most"`
}

// Answer is a table, the best first.
type Answer struct {
	Question
	Rows []Place `json:"rows"`
}

// Place is one of those that were compared.
type Place struct {
	Labels map[string]string `json:"labels"` // those of By
	Estimate
	Ratio Ratio `json:"ratio"` // of its median to the best one; of the best it is 1
}

// Ask answers a question. Trials without one of the labels of By do not count. There are
// no rows where there are no trials.
func (r *Run) Ask(q Question) Answer {
	samples := make(map[string]*Sample)
	for _, t := range r.Trials {
		value, found := t.Values[q.Metric]
		labels, full := t.pick(q.By)
		if t.Group != q.Group || !found || !full || !t.Has(q.Where) {
			continue
		}
		s := Series{q.Group, labels, q.Metric}
		if samples[s.Name()] == nil {
			samples[s.Name()] = &Sample{Series: s}
		}
		samples[s.Name()].Values = append(samples[s.Name()].Values, value)
	}
	ranked := slices.SortedFunc(maps.Values(samples), func(a, b *Sample) int {
		c := cmp.Compare(stats.Median(a.Values), stats.Median(b.Values))
		if q.Most {
			c = -c
		}
		return cmp.Or(c, compareLabels(a.Labels, b.Labels))
	})
	answer := Answer{Question: q, Rows: []Place{}}
	for at, s := range ranked {
		ratio := Ratio{Times: 1, Interval: Interval{1, 1}, Defined: true}
		if at > 0 {
			ratio = s.Over(*ranked[0])
		}
		answer.Rows = append(answer.Rows, Place{s.Labels, s.Estimate(), ratio})
	}
	return answer
}

// Has reports whether a trial has all of the labels.
func (t Trial) Has(labels map[string]string) bool {
	for key, value := range labels {
		if t.Labels[key] != value {
			return false
		}
	}
	return true
}

// pick returns the labels of those names, and whether the trial has them all.
func (t Trial) pick(keys []string) (map[string]string, bool) {
	labels := make(map[string]string)
	for _, key := range keys {
		value, found := t.Labels[key]
		if !found {
			return nil, false
		}
		labels[key] = value
	}
	return labels, true
}

// Write writes the question and its table, as Cells has it, in plain text.
func (a Answer) Write(out io.Writer) error {
	if _, err := fmt.Fprintln(out, a.Text); err != nil {
		return err
	}
	if len(a.Rows) == 0 {
		_, err := fmt.Fprintln(out, "  no trial says")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head, rows := a.Cells()
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
	}
	return w.Flush()
}

// Cells returns the table as text: the first len(By) columns are names, the others
// numbers. What cannot be told apart from the best has a ratio in parentheses.
func (a Answer) Cells() (head []string, rows [][]string) {
	head = append(slices.Clone(a.By), a.Metric, "95 %", "min", "p90", "trials", "to the best")
	for at, r := range a.Rows {
		var row []string
		for _, key := range a.By {
			row = append(row, r.Labels[key])
		}
		rows = append(rows, append(row, Number(r.Median), r.Interval.String(), Number(r.Min), Number(r.P90),
			strconv.Itoa(r.Trials), r.Ratio.times(at == 0)))
	}
	return head, rows
}

func (i Interval) String() string { return Number(i.Low) + " to " + Number(i.High) }

func (r Ratio) times(best bool) string {
	switch {
	case best:
		return "best"
	case !r.Defined:
		return "-"
	case !r.Apart():
		return fmt.Sprintf("(%.3g)", r.Times)
	}
	return fmt.Sprintf("%.3g", r.Times)
}
