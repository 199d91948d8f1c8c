package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/elect-go/elect/internal/bench/result"
)

//go:embed head.html
var head string

const (
	reading = "Each table has the median of the trials and its bootstrap interval of 95 %; of fewer than about ten trials the interval is too narrow, " +
		"and of one it has no width. A ratio in parentheses is one that the trials do not tell apart from 1. What real processes took is true of this machine and its load."
	growing = "The exponent of a power of N that was fitted to what was measured, and how far the points are from it; for messages from N=8 on. " +
		"What grows as N log N has no exponent: one between 1 and 1.4 comes closest."
)

// WritePage writes a page of HTML with the tables, the plots and all data: it needs no
// network, no other file and no script. It is XML too. Its error wraps [result.ErrFormat]
// where r cannot be written, or is that of out.
func WritePage(out io.Writer, r *result.Run) error {
	data, err := dataOf(r)
	if err != nil {
		return err
	}
	w := new(writer)
	w.raw(markup(head))
	w.element("h1", "", "elect: which algorithm costs what")
	w.facts(facts(r))
	w.element("p", "soft", reading)
	w.questions(r)
	for _, s := range sections(r) {
		w.section(s)
	}
	w.raw(data)
	all := seriesTable(r)
	w.raw("<details>\n")
	w.element("summary", "", fmt.Sprintf("All %d series", len(all.rows)))
	w.table(all)
	w.raw("</details>\n</body>\n</html>\n")
	_, err = io.WriteString(out, w.b.String())
	return err
}

// facts say what was measured, and where.
func facts(r *result.Run) [][2]string {
	all := [][2]string{
		{"measured", fmt.Sprintf("%s, %d trials", r.Began.Format("2006-01-02 15:04:05 MST"), len(r.Trials))},
		{"by", r.Command},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"on", r.Machine.String()},
	}
	for _, what := range r.Skipped {
		all = append(all, [2]string{"not measured", what})
	}
	return all
}

// questions writes the answers, and how it grows.
func (w *writer) questions(r *result.Run) {
	all := Questions(r)
	more := sheets(r)
	growths := Growths(r)
	if len(all)+len(more)+len(growths) == 0 {
		return
	}
	w.element("h2", "", "Questions")
	for _, q := range all {
		w.element("h3", "", q.Text)
		head, rows := r.Ask(q).Cells()
		w.table(table{len(q.By), head, rows})
	}
	for _, s := range more {
		w.element("h3", "", s.question)
		head, rows := s.cells(r)
		w.table(table{len(s.by), head, rows})
		w.element("p", "soft", s.text)
	}
	if len(growths) > 0 {
		w.element("h3", "", growthText)
		head, rows := growthCells(growths)
		w.table(table{1, head, rows})
		w.element("p", "soft", growing)
	}
}

// dataOf is the data, as links that hold it.
func dataOf(r *result.Run) (markup, error) {
	json, err := inline("application/json", r.WriteJSON)
	if err != nil {
		return "", err
	}
	csv, err := inline("text/csv", r.WriteCSV)
	if err != nil {
		return "", err
	}
	return `<h2>Data</h2>
<p>Every trial with its seed, and the machine: <a download="result.json" href="` + json + `">JSON</a>, which
<code>elect bench compare OLD.json NEW.json</code> reads, or <a download="result.csv" href="` + csv + `">CSV</a>. Both are in this page.</p>
`, nil
}

// inline is data as an address that holds it. Base 64 has no character that ends an
// attribute.
func inline(kind string, write func(io.Writer) error) (markup, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return "", err
	}
	return markup("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// sections are those that have a figure.
func sections(r *result.Run) []section {
	var all []section
	for _, s := range []section{
		{"Messages of an election", "Counted in the simulator, which runs whole nodes in virtual time: the same on every machine. Points are means of the trials, bars reach from the least to the most; lines are the theory: a formula, not a measurement. Both axes are logarithmic.",
			electionFigures(r, result.Messages, result.MetricSent, "messages sent")},
		{"Turnaround", "From the start of the election until the last process knows the leader, in T, the time that one message takes; to find the crash takes none. Points, bars and lines as above.",
			electionFigures(r, result.Turnaround, result.MetricTurnaround, "T")},
		{"Failover", "Real processes on one machine. Each point is a trial: from right before the fault until the last survivor knows the new leader, by the survivors' own stamps. The line is the median, the band its interval of 95 %. Where the trials lie far apart the axis is logarithmic.",
			failoverFigures(r)},
		{"What a fault costs an application", "In the simulator. Each point is a trial: its window reaches from the fault until all agree again. A node has a leader within reach when it leads, or exchanges packets with somebody who leads in the same epoch.",
			costFigures(r)},
		{"The failure detector", "One process watches another, in the simulator, and only silence tells. Points are timeouts, from the shortest on the left, on the mean of the trials; bars reach from the least to the most. A timeout that adapts grows after each mistake.",
			detectorFigures(r)},
		{"At rest", "What a node costs while nothing happens: all nodes in one process, over TCP on the loopback. Lines join the means; bars reach from the least to the most.",
			restFigures(r)},
	} {
		if len(s.figures) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// seriesTable is all series.
func seriesTable(r *result.Run) table {
	t := table{names: 1, head: []string{"series", "median", "95 %", "min", "p90", "max", "trials"}}
	for _, s := range r.Samples() {
		e := s.Estimate()
		t.rows = append(t.rows, []string{s.Name(), result.Number(e.Median), e.Interval.String(), result.Number(e.Min),
			result.Number(e.P90), result.Number(e.Max), strconv.Itoa(e.Trials)})
	}
	return t
}
