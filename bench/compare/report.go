package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
)

// row contains the values of a system in a case, and those of elect in the same case.
type row struct {
	setting, signal, nodes, system string
	values, own                    map[string][]float64 // by metric
	rounds                         int
}

// write prints a file as readable Markdown.
func write(w io.Writer, f result.File) {
	for _, note := range f.Notes {
		fmt.Fprintf(w, "- %s\n", note)
	}
	fmt.Fprintln(w)
	for _, c := range f.Results[0].Config {
		fmt.Fprintf(w, "- %s: %s\n", c.Key, c.Value)
	}
	for _, what := range report.Differs(f.Results) {
		fmt.Fprintf(w, "- the runs differ in %s\n", what)
	}
	writeApplications(w, f)
	rows := rowsOf(f)
	for len(rows) > 0 {
		end := slices.IndexFunc(rows, func(r row) bool { return r.setting != rows[0].setting || r.signal != rows[0].signal })
		if end < 0 {
			end = len(rows)
		}
		writeBlock(w, rows[:end])
		rows = rows[end:]
	}
}

// rowsOf returns a row for each system and case, in the order of their first results.
func rowsOf(f result.File) (rows []row) {
	all, _ := report.Rows(f.Results, ".name:Peers", "/setting,/signal,/n,/system")
	for _, of := range all {
		r := row{of.Key[0], of.Key[1], of.Key[2], of.Key[3], of.Values, nil, of.Trials()}
		for _, own := range all {
			if own.Key[3] == ours && slices.Equal(own.Key[:3], of.Key[:3]) {
				r.own = own.Values
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// writeBlock writes the table of a setting and a signal and, for a signal, whether elect reaches its aim.
func writeBlock(w io.Writer, rows []row) {
	setting, signal := rows[0].setting, proccluster.Signal(rows[0].signal)
	if f, found := lookupFault(signal); found {
		fmt.Fprintf(w, "\n### %s, %s: %s\n\n", setting, f.Name, f.About)
		writeWorst(w, rows, f.Metrics)
		return
	}
	if signal == steady {
		fmt.Fprintf(w, "\n### %s, at rest\n\n", setting)
		writeWorst(w, rows, []string{restBefore, unasked})
		return
	}
	fmt.Fprintf(w, "\n### %s, the leader gets %s\n\n", setting, map[proccluster.Signal]string{proccluster.Kill: "SIGKILL", proccluster.Stop: "SIGSTOP"}[signal])
	t := table{header: []string{
		"nodes", "system", "rounds", "followed, median", "p10", "p90", "times elect [95 %]", "given up, median", "p10", "p90", "times elect [95 %]", unasked,
	}}
	for _, r := range rows {
		cells := slices.Concat([]string{r.nodes, r.system, strconv.Itoa(r.rounds)}, r.compare(followed), r.compare(givenUp))
		t.rows = append(t.rows, append(cells, report.Number(sum(r.values[unasked]))))
	}
	t.write(w)
	switch {
	case setting == atDefaults && signal == proccluster.Kill:
		writeAim(w, rows, 200)
	case setting == equal && signal == proccluster.Stop:
		writeAim(w, rows, 1)
	}
}

// writeWorst writes a table with the worst of the rounds.
func writeWorst(w io.Writer, rows []row, metrics []string) {
	t := table{header: append([]string{"nodes", "system", "rounds"}, metrics...)}
	for _, r := range rows {
		cells := []string{r.nodes, r.system, strconv.Itoa(r.rounds)}
		for _, metric := range metrics {
			cell := "-"
			if values := r.values[metric]; len(values) > 0 {
				cell = report.Number(slices.Max(values))
			}
			cells = append(cells, cell)
		}
		t.rows = append(t.rows, cells)
	}
	t.write(w)
}

// compare returns the four cells of a metric: the values and the ratio to elect.
func (r row) compare(metric string) []string {
	values := r.values[metric]
	if len(values) == 0 {
		return []string{"-", "-", "-", "-"}
	}
	s := stats.Summarize(values)
	against := "1"
	if r.system != ours {
		against = report.RatioOf(values, r.own[metric]).String()
	}
	return []string{milliseconds(s.Median), milliseconds(s.P10), milliseconds(s.P90), against}
}

func milliseconds(v float64) string { return report.Digits(v) + " ms" }

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

// writeAim compares elect with the fastest other system that has leaders, at 5 nodes.
func writeAim(w io.Writer, rows []row, want float64) {
	var best *row
	for i, r := range rows {
		s, _ := lookupSystem(r.system)
		if r.nodes != "5" || s.isOurs() || len(r.values[followed]) == 0 || len(r.own[followed]) == 0 {
			continue
		}
		if best == nil || stats.Summarize(r.values[followed]).Median < stats.Summarize(best.values[followed]).Median {
			best = &rows[i]
		}
	}
	if best == nil {
		return
	}
	q := report.RatioOf(best.values[followed], best.own[followed])
	verdict := "reached"
	switch {
	case q.Times < want:
		verdict = "missed"
	case q.Low < want:
		verdict = "reached by the median, not by the whole interval"
	}
	fmt.Fprintf(w, "\nAim: the faster peer takes %s times as long as elect; wanted: at least %v: %s (%s).\n", q, want, verdict, best.system)
}
