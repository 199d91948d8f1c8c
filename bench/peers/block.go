package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
)

// block is one table: what was done, whatever the system and the number of nodes.
type block struct {
	setting string
	signal  fleet.Signal
	rows    []row
}

// row is a case and its rounds.
type row struct {
	Case
	followed, gaveUp   []float64 // ms
	rounds, failed     int
	unasked            int
	rest               float64 // ms
	firstError         string
	values             map[string][]float64 // of a fault of stable leadership, by metric
	ownFollowed, ownUp []float64            // of our row beside it
}

// blocks are the tables, in the order in which their settings and signals came.
func (r Result) blocks() []block {
	var all []block
	for _, t := range r.Trials {
		i := slices.IndexFunc(all, func(b block) bool { return b.setting == t.Setting && b.signal == t.Signal })
		if i < 0 {
			i = len(all)
			all = append(all, block{setting: t.Setting, signal: t.Signal})
		}
		all[i].add(t)
	}
	for _, b := range all {
		b.finish()
	}
	return all
}

func (b *block) add(t Trial) {
	i := slices.IndexFunc(b.rows, func(r row) bool { return r.Case == t.Case })
	if i < 0 {
		i = len(b.rows)
		b.rows = append(b.rows, row{Case: t.Case})
	}
	r := &b.rows[i]
	if t.Error != "" {
		r.failed++
		r.firstError = cmp.Or(r.firstError, t.Error)
		return
	}
	r.rounds++
	r.rest += t.Pause
	r.unasked += t.Unasked
	for metric, value := range t.Values {
		if r.values == nil {
			r.values = make(map[string][]float64)
		}
		r.values[metric] = append(r.values[metric], value)
	}
	if t.Signal == steady || len(t.Values) > 0 {
		return
	}
	r.gaveUp = append(r.gaveUp, t.LastUp)
	if t.Followed > 0 {
		r.followed = append(r.followed, t.Followed)
	}
}

// finish sorts the rows and puts ours beside each.
func (b block) finish() {
	order := systemNames()
	slices.SortStableFunc(b.rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.Nodes, y.Nodes), cmp.Compare(slices.Index(order, x.System), slices.Index(order, y.System)))
	})
	for i := range b.rows {
		for _, own := range b.rows {
			if own.System == ours && own.Nodes == b.rows[i].Nodes {
				b.rows[i].ownFollowed, b.rows[i].ownUp = own.followed, own.gaveUp
			}
		}
	}
}

func (b block) write(w io.Writer) {
	if f, found := lookupFault(b.signal); found {
		b.writeStability(w, f)
	} else if b.signal == steady {
		fmt.Fprintf(w, "### %s, at rest\n\n", b.setting)
		b.writeSteady(w)
	} else {
		fmt.Fprintf(w, "### %s, the leader gets %s\n\n", b.setting, map[fleet.Signal]string{fleet.Kill: "SIGKILL", fleet.Stop: "SIGSTOP"}[b.signal])
		b.writeFailovers(w)
	}
	for _, r := range b.rows {
		if r.failed > 0 {
			fmt.Fprintf(w, "\n%s, %d nodes: %d of %d rounds failed, the first: %s\n", r.System, r.Nodes, r.failed, r.failed+r.rounds, r.firstError)
		}
		if r.unasked > 0 && b.signal != steady {
			fmt.Fprintf(w, "\n%s, %d nodes: %d suspicions and changes of leader before the signals, in %.1f s of rest\n",
				r.System, r.Nodes, r.unasked, r.rest/1000)
		}
	}
}

func (b block) writeFailovers(w io.Writer) {
	t := table{header: []string{
		"nodes", "system", "rounds", "followed, median", "p10", "p90", "times elect [95 %]", "given up, median", "p10", "p90", "times elect [95 %]",
	}}
	for _, r := range b.rows {
		cells := []string{strconv.Itoa(r.Nodes), r.System, strconv.Itoa(r.rounds)}
		cells = append(cells, r.compare(r.followed, r.ownFollowed)...)
		cells = append(cells, r.compare(r.gaveUp, r.ownUp)...)
		t.rows = append(t.rows, cells)
	}
	t.write(w)
}

// compare is the four cells about one sample of r, held against ours.
func (r row) compare(values, own []float64) []string {
	if len(values) == 0 {
		return []string{"-", "-", "-", "-"}
	}
	s := sample.Summarize(values)
	against := "1"
	if r.System != ours {
		against = ratioOf(values, own).String()
	}
	return []string{milliseconds(s.Median), milliseconds(s.P10), milliseconds(s.P90), against}
}

func (b block) writeSteady(w io.Writer) {
	t := table{header: []string{"nodes", "system", "timing", "rounds", "rest", "suspicions and changes of leader"}}
	for _, r := range b.rows {
		t.rows = append(t.rows, []string{
			strconv.Itoa(r.Nodes), r.System, r.Timing.String(), strconv.Itoa(r.rounds), fmt.Sprintf("%.0f s", r.rest/1000), strconv.Itoa(r.unasked),
		})
	}
	t.write(w)
}
