package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"

	"github.com/elect-go/elect/bench/result"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// section is figures that belong together.
type section struct {
	Title   string
	Text    string
	Figures []figure
}

// table is what a table of the page holds. The first columns are text.
type table struct {
	Names int
	Head  []string
	Rows  [][]string
}

// answer is a question with its table.
type answer struct {
	Text  string
	Table table
}

// WritePage writes a page of HTML with the tables, the plots and all data: it needs no
// network, no other file and no script. Its error wraps [result.ErrFormat] where r cannot
// be written, or is that of out.
func WritePage(out io.Writer, r *result.Run) error {
	json, err := inline("application/json", r.WriteJSON)
	if err != nil {
		return err
	}
	csv, err := inline("text/csv", r.WriteCSV)
	if err != nil {
		return err
	}
	var answers []answer
	for _, q := range Questions(r) {
		head, rows := r.Ask(q).Cells()
		answers = append(answers, answer{q.Text, table{len(q.By), head, rows}})
	}
	head, rows := growthCells(Growths(r))
	// Into memory first: what fails leaves no half of a page.
	var whole bytes.Buffer
	err = page.Execute(&whole, map[string]any{
		"Run": r, "Answers": answers, "GrowthText": growthText, "Growth": table{1, head, rows},
		"Sections": sections(r), "All": series(r), "JSON": json, "CSV": csv,
	})
	if err != nil {
		return err
	}
	_, err = out.Write(whole.Bytes())
	return err
}

// inline is data as an address that holds it. Base 64 has no character that ends an
// attribute.
func inline(kind string, write func(io.Writer) error) (template.URL, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return "", err
	}
	return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// sections are those that have a figure.
func sections(r *result.Run) []section {
	var all []section
	for _, s := range []section{
		{"Messages of an election", "Counted in the simulator, which runs whole nodes in virtual time: the same on every machine. Points are means of the trials, bars reach from the least to the most; lines are the theory, a formula and not a measurement. Both axes are logarithmic.",
			electionFigures(r, result.Messages, Sent, "messages sent")},
		{"Turnaround", "From the start of the election until the last process knows the leader, in T, the time that one message takes; to find the crash takes none. Points, bars and lines as above.",
			electionFigures(r, result.Turnaround, Time, "T")},
		{"Failover", "Real processes on one machine. Each point is a trial: from right before the fault until the last survivor knows the new leader, by the survivors' own stamps. The line is the median, the band its interval of 95 %.",
			failoverFigures(r)},
		{"At rest", "What a node costs while nothing happens: all nodes in one process, over TCP on the loopback. Lines join the means.",
			restFigures(r)},
	} {
		if len(s.Figures) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// series is a table of all series.
func series(r *result.Run) table {
	t := table{Names: 1, Head: []string{"series", "median", "95 %", "min", "p90", "max", "trials"}}
	for _, s := range r.Samples() {
		e := s.Estimate()
		t.Rows = append(t.Rows, []string{s.Name(), result.Number(e.Median), e.Interval.String(), result.Number(e.Min),
			result.Number(e.P90), result.Number(e.Max), strconv.Itoa(e.Trials)})
	}
	return t
}
