// Package report tells people what a benchmark has found: the questions that it answers,
// as tables in plain text, and a page of HTML with plots.
//
// All is made of a [result.Run], so that a page can be written again from its data. What
// is drawn as measured comes from its trials; the lines of the theory come from
// [github.com/elect-go/elect/internal/bench/theory], and are named so.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/elect-go/elect/internal/bench/result"
)

// Questions are those that a run can answer. Each is asked at the size that is nearest to
// the usual one, of those that were measured.
func Questions(r *result.Run) []result.Question {
	var all []result.Question
	elections := func(text string, group result.Group, metric, which string) {
		if n, found := nearest(r, group, map[string]string{result.Case: which}, 9); found {
			all = append(all, result.Question{Text: fmt.Sprintf(text, n), Group: group, Metric: metric,
				Where: map[string]string{result.Case: which, result.Nodes: n}, By: []string{result.Algorithm, result.Convention}})
		}
	}
	elections("Which costs fewest messages at N=%s, when the leader has crashed?", result.Messages, result.MetricSent, "leader-crash")
	elections("Which costs fewest messages at N=%s, at worst?", result.Messages, result.MetricSent, "worst")
	elections("Which costs fewest messages at N=%s, when all start?", result.Messages, result.MetricSent, "all-start")
	elections("Which knows the new leader first at N=%s, when the leader has crashed?", result.Turnaround, result.MetricTurnaround, "leader-crash")
	elections("Which knows the new leader first at N=%s, at worst?", result.Turnaround, result.MetricTurnaround, "worst")
	for _, fault := range faults(r) {
		if n, found := nearest(r, result.Failover, map[string]string{result.Signal: fault}, 5); found {
			all = append(all, result.Question{
				Text:  fmt.Sprintf("Which recovers fastest from %s, at N=%s?", faultInWords(fault), n),
				Group: result.Failover, Metric: result.MetricFailover, Where: map[string]string{result.Signal: fault, result.Nodes: n}, By: []string{result.Algorithm},
			})
		}
	}
	for _, rest := range restMetrics {
		if n, found := nearest(r, result.Idle, nil, 15); found {
			all = append(all, result.Question{
				Text:  fmt.Sprintf("What does it cost at rest, in %s, at N=%s?", rest.inWords, n),
				Group: result.Idle, Metric: rest.metric, Where: map[string]string{result.Nodes: n}, By: []string{result.Algorithm},
			})
		}
	}
	return all
}

// restMetrics are the costs at rest in the order in which they are shown.
var restMetrics = []struct{ metric, inWords string }{
	{result.MetricFrames, "frames sent a heartbeat interval and node"},
	{result.MetricTraffic, "bytes sent a second and node"},
	{result.MetricProcessor, "percent of a core and node"},
	{result.MetricHeap, "memory a node"},
}

// knownFaults are in the order in which they are shown.
var knownFaults = []struct{ name, inWords string }{
	{"kill", "a kill"},
	{"stop", "a pause"},
	{"term", "a polite stop"},
	{"drop", "a partition"},
	{"drop-out", "the loss of all that the leader sends"},
	{"drop-in", "the loss of all that the leader is sent"},
}

func faultInWords(name string) string {
	for _, f := range knownFaults {
		if f.name == name {
			return f.inWords
		}
	}
	return name
}

// faults are those that were measured, the known ones first.
func faults(r *result.Run) []string {
	found := values(r, result.Failover, result.Signal, nil)
	var all []string
	for _, f := range knownFaults {
		if at := slices.Index(found, f.name); at >= 0 {
			all = append(all, f.name)
			found = slices.Delete(found, at, at+1)
		}
	}
	return append(all, found...)
}

// values are what a label of the trials of a group has been, in the order of the text.
func values(r *result.Run, group result.Group, label string, where map[string]string) []string {
	found := make(map[string]bool)
	for _, t := range r.Trials {
		if value, has := t.Labels[label]; has && t.Group == group && t.Has(where) {
			found[value] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
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

// textNote says how to read the tables.
const textNote = `Columns: the median of the trials, its bootstrap interval of 95 %, and the ratio to the best,
in parentheses where the trials do not tell it apart from 1. Of fewer than about ten trials
the interval is too narrow, and of one it has no width.`

// WriteTables writes a table for each question, those of several metrics behind the others,
// then how the messages grow, and what was skipped.
func WriteTables(out io.Writer, r *result.Run) error {
	for _, q := range Questions(r) {
		if err := r.Ask(q).Write(out); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	for _, s := range sheets(r) {
		if err := s.write(out, r); err != nil {
			return err
		}
	}
	if err := writeGrowths(out, Growths(r)); err != nil {
		return err
	}
	if len(r.Trials) > 0 {
		if _, err := fmt.Fprintf(out, "%s\n\n", textNote); err != nil {
			return err
		}
	}
	for _, what := range r.Skipped {
		if _, err := fmt.Fprintf(out, "not measured: %s\n", what); err != nil {
			return err
		}
	}
	return nil
}
