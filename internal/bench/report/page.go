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

const reading = "Each table has the median of the trials and its bootstrap interval of 95 %; of fewer than about ten trials the interval is too narrow, " +
	"and of one it has no width. A ratio in parentheses is one that the trials do not tell apart from 1. What real processes took is true of this machine and its load."

// WritePage writes a page of HTML with the tables, the plots and all data: it needs no
// network, no other file and no script. It is XML too. Its error wraps [result.ErrFormat]
// where r cannot be written, or is that of out.
func WritePage(out io.Writer, r *result.Run) error {
	data, err := dataOf(r)
	if err != nil {
		return err
	}
	w := new(writer)
	w.b.WriteString(head)
	w.line(element("h1", "elect: which algorithm costs what"))
	w.line("<dl>")
	for _, f := range facts(r) {
		w.line(element("dt", escaped(f[0])))
		w.line(element("dd", escaped(f[1])))
	}
	w.line("</dl>")
	w.line(element("p", reading, "class", "soft"))
	if all := tables(r); len(all) > 0 {
		w.line("<h2>Questions</h2>")
		for _, t := range all {
			w.line(element("h3", escaped(t.Title)))
			w.table(t)
			if t.Note != "" {
				w.line(element("p", escaped(t.Note), "class", "soft"))
			}
		}
	}
	for _, s := range sections(r) {
		w.section(s)
	}
	w.line(data)
	all := seriesTable(r)
	w.line("<details>")
	w.line(element("summary", escaped(all.Title)))
	w.table(all)
	w.line("</details>\n</body>\n</html>")
	_, err = io.WriteString(out, w.b.String())
	return err
}

func (w *writer) table(t result.Table) {
	row := func(kind string, texts []string) markup {
		var cells markup
		for at, text := range texts {
			class := ""
			if at < t.Names {
				class = "text"
			}
			cells += element(kind, escaped(text), "class", class)
		}
		return element("tr", cells) + "\n"
	}
	var body markup
	for _, cells := range t.Rows {
		body += row("td", cells)
	}
	w.line("<div class=\"wide\"><table>\n" + element("thead", row("th", t.Head)) + "\n" + element("tbody", "\n"+body) + "\n</table></div>")
}

// section is figures that belong together.
type section struct {
	title   string
	text    string
	figures []figure
}

func (w *writer) section(s section) {
	w.line(element("h2", escaped(s.title)))
	w.line(element("p", escaped(s.text), "class", "soft"))
	w.line("<div class=\"figures\">")
	for _, f := range s.figures {
		w.line(element("figure", element("figcaption", escaped(f.title))+"\n"+f.svg+"\n"))
	}
	w.line("</div>")
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
<code>elect bench compare OLD.json NEW.json</code> reads, or <a download="result.csv" href="` + csv + `">CSV</a>. Both are in this page.</p>`, nil
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
func seriesTable(r *result.Run) result.Table {
	t := result.Table{Names: 1, Head: []string{"series", "median", "95 %", "min", "p90", "max", "trials"}}
	for _, s := range r.Samples() {
		e := s.Estimate()
		t.Rows = append(t.Rows, []string{s.Name(), result.Number(e.Median), between(e.Interval), result.Number(e.Min),
			result.Number(e.P90), result.Number(e.Max), strconv.Itoa(e.Trials)})
	}
	t.Title = fmt.Sprintf("All %d series", len(t.Rows))
	return t
}
