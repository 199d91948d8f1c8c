package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchfmt"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/untrusted"
)

// Table is what people read.
type Table struct {
	Title string
	Names int // how many columns from the left are names; the others are numbers
	Head  []string
	Rows  [][]string
	Note  string // how to read it
}

// kind is the table of a group of benchmarks.
type kind struct {
	group, title string
	filter, by   string // which of them it has, and the fields that tell its rows apart
	worst        bool   // the largest of the trials stands for their median
	note         string
}

var kinds = []kind{
	{result.Election, "Elections of 9 nodes in the simulator, beside the formulas", "/n:9", "/algorithm,/case", false, electionNote},
	{result.Wire, "Elections on the wire", "*", "/host,/algorithm,/case,/n", false, wireNote},
	{result.Failover, "Failovers of real processes", "*", "/signal,/algorithm,/n", false, failoverNote},
	{result.Cost, "What a fault costs an application", "*", "/host,/fault,/algorithm,/n", false, costNote},
	{result.Stability, "Whether a leader that works is left to work", "*", "/host,/fault,/algorithm", true, stabilityNote},
	{result.Detector, "How fast the failure detector is, and how often it is wrong", "/condition:/./", "/condition,/adapts,/timeout", false, detectorNote},
	{result.Steady, "The cost at rest", "/n:/./", "/n,/algorithm", false, steadyNote},
}

// How to read the tables.
const (
	electionNote = `T is the time that a message takes, one way. The symbols are those of internal/bench/theory/theory.md. Where a random node starts
there is the mean of the formula over all nodes.`
	wireNote     = `T-ms is the mean time of a message of the same election, one way, and T/election the turnaround in it.`
	failoverNote = `From right before the fault until the last survivor knows the new leader.`
	costNote     = `no-leader: no node that runs leads. two-leaders: two that run lead, each in its own eyes. unled-node: a node has no
leader within reach, the mean of all nodes. leader-changes: how often a node begins to lead.`
	stabilityNote = `The worst of the trials. leaderships-ended: of a leader that ran and reached a majority all the time. last/first-detection:
of 40 pauses, for which two-leaders is the 95th percentile. agreement: from the start until all agree for good; agreement-up: after the last node is up.`
	detectorNote = `Silence alone tells: a machine dies, and no connection is closed. adapts: the timeout grows after a mistake, as it does by
default. Beside evidence, which finds a killed process at once, this is what is left.`
	steadyNote = `All nodes are in one process, which the measurement is a part of.`
)

// Tables are those of which there are trials.
func Tables(results []*benchfmt.Result) (all []Table) {
	for _, k := range kinds {
		if t := k.table(results); len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func (k kind) table(results []*benchfmt.Result) Table {
	rows, metrics := Rows(results, ".name:"+k.group+" "+k.filter, k.by)
	t := Table{Title: k.title, Note: k.note}
	for field := range strings.SplitSeq(k.by, ",") {
		t.Head = append(t.Head, strings.TrimPrefix(field, "/"))
	}
	t.Names = len(t.Head)
	for _, metric := range metrics {
		t.Head = append(t.Head, metric)
		if k.formula(metric) != nil {
			t.Head = append(t.Head, "formula")
		}
	}
	t.Head = append(t.Head, "trials")
	for _, row := range rows {
		cells := slices.Clone(row.Key)
		for _, metric := range metrics {
			cells = append(cells, k.cell(row.Values[metric]))
			if formula := k.formula(metric); formula != nil {
				cells = append(cells, expected(row.Key, formula))
			}
		}
		t.Rows = append(t.Rows, append(cells, strconv.Itoa(row.Trials())))
	}
	return t
}

func (k kind) cell(values []float64) string {
	switch {
	case len(values) == 0:
		return "-"
	case k.worst:
		return Number(slices.Max(values))
	}
	return summary(values)
}

// formula is where a row of the theory has that metric; nil where a table shows none.
func (k kind) formula(metric string) func(theory.Row) theory.Formula {
	if k.group != result.Election {
		return nil
	}
	return Formulas[metric]
}

// Formulas are the metrics of elections of which the theory speaks.
var Formulas = map[string]func(theory.Row) theory.Formula{
	result.MetricSent:       func(r theory.Row) theory.Formula { return r.Sent },
	result.MetricTurnaround: func(r theory.Row) theory.Formula { return r.Turnaround },
}

// expected is what the theory says of an algorithm and a case with 9 nodes.
func expected(key []string, formula func(theory.Row) theory.Formula) string {
	const n = 9
	c, found := theory.CaseOf(key[0], key[1])
	row, known := c.Row(n)
	mean, _ := c.Expected(n, formula)
	if !found || !known {
		return "-"
	}
	if c.Drawn() && c.Mean == theory.Single { // each election that may be drawn has a number of its own
		return "mean = " + Number(mean)
	}
	return fmt.Sprintf("%s = %s", formula(row), Number(mean))
}

// Write writes tables in plain text.
func Write(out io.Writer, tables []Table) error {
	var text strings.Builder
	for _, t := range tables {
		fmt.Fprintln(&text, t.Title)
		writeRows(&text, append([][]string{t.Head}, t.Rows...))
		fmt.Fprintf(&text, "%s\n\n", t.Note)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writeRows lines up the cells, in which no terminal finds a command.
func writeRows(text *strings.Builder, rows [][]string) {
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintf(w, "  %s\n", strings.Join(plain(cells), "\t"))
	}
	_ = w.Flush() // into memory
}

func plain(cells []string) (all []string) {
	for _, cell := range cells {
		all = append(all, untrusted.Printable(cell))
	}
	return all
}
