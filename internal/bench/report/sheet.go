package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"golang.org/x/exp/stats"

	"github.com/elect-go/elect/internal/bench/result"
)

// sheet is a question that several metrics answer together: a table with a row for each of
// those that are told apart, in the order in which they were measured.
type sheet struct {
	question string
	text     string // what the columns are
	group    result.Group
	where    map[string]string
	by       []string // labels, which are the first columns
	metrics  []string // medians of the trials, which are the others
}

// sheets are those that a run can fill.
func sheets(r *result.Run) []sheet {
	var all []sheet
	for _, host := range values(r, result.Turnaround, result.Host, nil) {
		if host == simulator {
			continue
		}
		n, _ := nearest(r, result.Messages, map[string]string{result.Host: host}, 5)
		where := map[string]string{result.Host: host, result.Nodes: n}
		all = append(all,
			sheet{
				fmt.Sprintf("How long does an election take on the wire, at N=%s?", n), "T is the mean time of a message of the same election, one way.",
				result.Turnaround, where, []string{result.Algorithm, result.Case}, []string{result.MetricTurnaround, result.MetricElect, result.MetricT},
			},
			sheet{
				fmt.Sprintf("How many messages does it take there, at N=%s?", n), "Counted by the nodes and, in one process, at the sockets.",
				result.Messages, where, []string{result.Algorithm, result.Case}, []string{result.MetricSent, result.MetricDelivered},
			})
	}
	for _, host := range values(r, result.Application, result.Host, nil) {
		n, _ := nearest(r, result.Application, map[string]string{result.Host: host}, 5)
		all = append(all, sheet{
			fmt.Sprintf("What does a fault cost an application, at N=%s (%s)?", n, host), costText,
			result.Application, map[string]string{result.Host: host, result.Nodes: n}, []string{result.Fault, result.Algorithm},
			[]string{result.MetricNone, result.MetricTwo, result.MetricUnled, result.MetricChanges, result.MetricMessages},
		})
	}
	if len(values(r, result.Detector, result.Condition, nil)) > 0 {
		all = append(all, sheet{
			"How fast is the failure detector, and how often is it wrong?", detectorText,
			result.Detector, nil, []string{result.Condition, result.Adapts, result.Timeout},
			[]string{result.MetricDetection, result.MetricMistakes, result.MetricMistake, result.MetricAccuracy},
		})
	}
	if len(values(r, result.Parts, result.Part, nil)) > 0 {
		all = append(all, sheet{
			"How fast are the parts?", "Units a second, in one goroutine of this process.",
			result.Parts, nil, []string{result.Part, result.Unit}, []string{result.MetricRate},
		})
	}
	return all
}

// simulator is the host of what is simulated.
const simulator = "simulator"

const (
	costText = `no-leader: nobody who runs leads. two-leaders: two who run lead, each in its own eyes. unled-node: a node has no
leader within reach, the mean of all nodes. leader-changes: how often a node begins to lead.`
	detectorText = `Silence alone tells: a machine dies, and no connection is closed. adapts: the timeout grows after a mistake, as it does by
default. Beside evidence, which finds a killed process at once, this is what is left.`
)

// cells are the table as text. A trial without a metric has none of it to tell.
func (s sheet) cells(r *result.Run) (head []string, rows [][]string) {
	head = append(append(head, s.by...), s.metrics...)
	head = append(head, "trials")
	samples := make(map[string]map[string][]float64) // by row, and metric
	trials := make(map[string]int)
	var order []string
	names := make(map[string][]string)
	for _, t := range r.Trials {
		if t.Group != s.group || !t.Has(s.where) {
			continue
		}
		var row []string
		for _, key := range s.by {
			row = append(row, t.Labels[key])
		}
		name := strings.Join(row, "/")
		if trials[name]++; trials[name] == 1 {
			order, names[name], samples[name] = append(order, name), row, make(map[string][]float64)
		}
		for metric, value := range t.Values {
			samples[name][metric] = append(samples[name][metric], value)
		}
	}
	for _, name := range order {
		row := names[name]
		for _, metric := range s.metrics {
			text := "-"
			if values := samples[name][metric]; len(values) > 0 {
				text = result.Number(stats.Median(values))
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, fmt.Sprint(trials[name])))
	}
	return head, rows
}

// write writes it as plain text.
func (s sheet) write(out io.Writer, r *result.Run) error {
	if _, err := fmt.Fprintf(out, "%s\n", s.question); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head, rows := s.cells(r)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s\n\n", s.text)
	return err
}
