package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
)

// write prints r as text that is Markdown too.
func (r Result) write(w io.Writer) {
	for _, o := range r.Runs {
		fmt.Fprintf(w, "%s, seed %d, load average %s: go run . %s\n", o.Began.Format("2006-01-02 15:04"), o.Seed, o.Machine.Load, strings.Join(o.Args, " "))
	}
	for _, line := range r.places() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\nVersions:")
	for _, path := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(w, "- %s %s\n", path, r.Versions[path])
	}
	fmt.Fprintln(w, "\nSettings:")
	for _, s := range r.Settings {
		fmt.Fprintf(w, "- %s, %s: %s\n", s.Setting, s.System, strings.Join(s.Lines, "; "))
	}
	for _, b := range r.blocks() {
		fmt.Fprintln(w)
		b.write(w)
	}
	for _, line := range r.aims() {
		fmt.Fprintln(w, "\n"+line)
	}
}

// places are the machines, each once.
func (r Result) places() []string {
	var lines []string
	for _, o := range r.Runs {
		m := o.Machine
		line := fmt.Sprintf("machine: %s, %d cores (%s), kernel %s, %s; data folders on %s, saves synced; loopback; clock %s",
			m.System, m.Cores, m.Model, m.Kernel, m.Go, o.FileSystem, o.Clock)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// aims says what became of what the project wants, as far as it was measured.
func (r Result) aims() []string {
	var lines []string
	for _, b := range r.blocks() {
		switch {
		case b.setting == atDefaults && b.signal == fleet.Kill:
			lines = append(lines, b.aim(200, "killed at 5 nodes, at defaults: the faster peer takes %s times as long as elect; wanted: at least 200")...)
		case b.setting == equal && b.signal == fleet.Stop:
			lines = append(lines, b.aim(1, "stopped at 5 nodes, at equal settings: the faster peer takes %s times as long as elect; wanted: at least 1")...)
		}
	}
	return lines
}

// aim compares ours with the fastest of the others that have leaders, at 5 nodes.
func (b block) aim(want float64, text string) []string {
	var best *row
	for i, r := range b.rows {
		s, _ := lookupSystem(r.System)
		if r.Nodes != 5 || s.isOurs() || len(r.followed) == 0 || len(r.ownFollowed) == 0 {
			continue
		}
		if best == nil || sample.Summarize(r.followed).Median < sample.Summarize(best.followed).Median {
			best = &b.rows[i]
		}
	}
	if best == nil {
		return nil
	}
	q := ratioOf(best.followed, best.ownFollowed)
	verdict := "reached"
	switch {
	case q.times < want:
		verdict = "missed"
	case q.low < want:
		verdict = "reached by the median, not by the whole interval"
	}
	return []string{fmt.Sprintf("Aim, "+text+": %s (%s).", q, verdict, best.System)}
}
