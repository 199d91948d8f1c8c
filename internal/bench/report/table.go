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

// Table is a table for readers.
type Table struct {
	Title string
	Names int // number of columns with names, on the left; the others are numbers
	Head  []string
	Rows  [][]string
	Note  string // explanation of the columns
}

// kind describes the table of a group of benchmarks.
type kind struct {
	group, title string
	filter, by   string // filter of the results, and the fields that distinguish the rows
	worst        bool   // shows the maximum of the trials instead of the median
	note         string
}

var kinds = []kind{
	{result.Election, "Elections of 9 nodes in the simulator, with the formulas", "/n:9", "/algorithm,/case", false, electionNote},
	{result.Wire, "Elections on the wire", "*", "/host,/algorithm,/case,/n", false, wireNote},
	{result.Failover, "Failovers of real processes", "*", "/signal,/algorithm,/n", false, failoverNote},
	{result.Cost, "What a fault costs an application", "*", "/host,/fault,/algorithm,/n", false, costNote},
	{result.Stability, "Whether a working leader keeps its leadership", "*", "/host,/fault,/algorithm", true, stabilityNote},
	{result.Detector, "Speed and mistakes of the failure detector", "/condition:/./", "/condition,/adapts,/timeout", false, detectorNote},
	{result.Steady, "The cost of an idle cluster", "/n:/./", "/n,/algorithm", false, steadyNote},
}

// The explanations of the tables.
const (
	electionNote = `T is the one-way time of a message. internal/bench/theory/theory.md defines the symbols. If a random node starts,
the formula is the mean over all nodes.`
	wireNote     = `T-ms is the mean one-way time of a message in the same election, and T/election the turnaround in T.`
	failoverNote = `From right before the fault until the last survivor knows the new leader.`
	costNote     = `no-leader: no running node leads. two-leaders: two running nodes lead. unled-node: a node has no reachable leader,
as the mean of all nodes. leader-changes: the number of leaderships that begin.`
	stabilityNote = `The worst of the trials. leaderships-ended: of a leader that ran and reached a majority all the time. last/first-detection:
of 40 pauses, for which two-leaders is the 95th percentile. agreement: from the start until all agree for good; agreement-up: after the last node is up.`
	detectorNote = `A machine crashes and no connection closes, so silence is the only sign. adapts: the timeout grows after a mistake, which is
the default. A killed process is detected at once by evidence.`
	steadyNote = `All nodes and the measurement run in one process.`
)

// Tables returns the tables that have trials.
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

// formula returns the formula of a metric in a row of the theory; nil if the table has no formulas.
func (k kind) formula(metric string) func(theory.Row) theory.Formula {
	if k.group != result.Election {
		return nil
	}
	return Formulas[metric]
}

// Formulas maps each metric with a formula to its formula in a row.
var Formulas = map[string]func(theory.Row) theory.Formula{
	result.MetricSent:       func(r theory.Row) theory.Formula { return r.Sent },
	result.MetricTurnaround: func(r theory.Row) theory.Formula { return r.Turnaround },
}

// expected formats the formula of an algorithm and a case, with its value for 9 nodes.
func expected(key []string, formula func(theory.Row) theory.Formula) string {
	const n = 9
	c, found := theory.CaseOf(key[0], key[1])
	row, known := c.Row(n)
	mean, _ := c.Expected(n, formula)
	if !found || !known {
		return "-"
	}
	if c.Drawn() && c.Mean == theory.Single { // each drawn election has its own number
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

// writeRows aligns the cells, without control characters.
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
