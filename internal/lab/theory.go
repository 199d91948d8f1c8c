package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// ranksOf returns the rank of each node by its priority and its number, from 1. It returns nil if they change.
func ranksOf(file *scenario.File) []int {
	var nodes, ranks []int
	var priorities []scenario.Arg
	changes := false
	_ = file.Commands(false, func(l *scenario.Line) (*scenario.Arg, error) {
		switch l.Form.Verb() {
		case scenario.Cluster:
			priorities = l.Args[1:]
			for i := range l.Args[0].Count {
				nodes = append(nodes, int(i))
			}
		case "priority", "join", "leave", "remove", "wipe", "resign":
			changes = true
		}
		return nil, nil
	})
	if changes {
		return nil
	}
	if len(priorities) == len(nodes) {
		slices.SortStableFunc(nodes, func(a, b int) int { return priorities[a].Number - priorities[b].Number })
	}
	ranks = make([]int, len(nodes))
	for rank, node := range nodes {
		ranks[node] = rank + 1
	}
	return ranks
}

// theoryOf returns the cost by a formula, if the run is one election without other faults, in which each message takes
// T. It returns nil if the theory has no row for that, or for options that differ from the defaults.
func theoryOf(spec algo.Spec, defaults []algo.Setting, roundTrip time.Duration, ranks []int, r *Result) *Theory {
	start, e := electionOf(r, ranks)
	if start < 0 || r.UnitName != "T" {
		return nil
	}
	e.RoundTrip = float64(roundTrip) / float64(r.Unit)
	for _, row := range theory.Rows() {
		c := row.Convention
		if row.Algorithm != spec.Name || row.Mean != theory.Single || c.Altered != "" || c.Quiet || c.Counting != "each message" || !hasOptions(spec, defaults, c.Options) || !row.Holds(e) {
			continue
		}
		return &Theory{
			Case: row.Case, Sent: string(row.Sent), SentAt: row.Sent.At(e), Lasts: string(row.Turnaround), LastsAt: row.Turnaround.At(e),
			Symbols: symbolsOf(e, string(row.Sent)+" "+string(row.Turnaround)), StartedAt: start,
		}
	}
	return nil
}

// hasOptions reports whether exactly these options differ from the defaults.
func hasOptions(spec algo.Spec, defaults []algo.Setting, options [][2]string) bool {
	differ := 0
	for _, s := range spec.Settings {
		if !slices.Contains(defaults, s) {
			differ++
		}
	}
	for _, o := range options {
		s := algo.Setting{Name: o[0], Value: o[1]}
		if !slices.Contains(spec.Settings, s) || slices.Contains(defaults, s) {
			return false
		}
	}
	return differ == len(options)
}

// symbolsOf lists the values of the symbols that a formula contains.
func symbolsOf(e theory.Election, formula string) string {
	var all []string
	rest := strings.ReplaceAll(formula, "RTT", "")
	for _, s := range []string{"N", "f", "m", "i", "k", "a", "d", "l", "W", "s", "A", "D", "b", "u", "V", "v"} {
		if strings.Contains(rest, s) {
			all = append(all, fmt.Sprintf("%s = %g", s, theory.Formula(s).At(e)))
		}
	}
	if rest != formula {
		all = append(all, fmt.Sprintf("RTT = %gT", e.Wait()))
	}
	return strings.Join(all, ", ")
}

// electionOf returns the ID of the step that starts the election of a run, and the properties of the election. The ID
// is -1 if the run is something else than one election.
func electionOf(r *Result, ranks []int) (start int, e theory.Election) {
	start = slices.IndexFunc(r.Steps, startsElection)
	if start < 0 || len(ranks) != len(r.Nodes) {
		return none, e
	}
	at := r.Steps[start].At
	e.N, e.Order = len(r.Nodes), ranks
	var live []int // ranks
	for i := range r.Nodes {
		if slices.ContainsFunc(r.Spans, func(s Span) bool { return s.Node == i && s.Kind == "down" && s.From <= at && at < s.To }) {
			e.Crashed++
		} else {
			live = append(live, ranks[i])
		}
	}
	if len(live) == 0 || slices.Max(live) != len(live) {
		return none, e // others than the highest have crashed
	}
	for _, s := range r.Steps {
		switch {
		case s.At == at && startsElection(s):
			if rank := ranks[s.Node]; !slices.Contains(e.Initiators, rank) {
				e.Initiators = append(e.Initiators, rank)
			}
		case s.Kind == trace.Crash && s.ID < start, s.Kind == trace.Expire, s.Kind == trace.Deliver, s.Kind == trace.Announce:
		case s.Kind == trace.Drop && s.Message >= 0 && ranks[r.Messages[s.Message].To] > e.Live():
		default:
			return none, e
		}
	}
	for _, m := range r.Messages {
		if !m.Repeat && (m.Sent < at || m.Lost == "" && m.Ended >= 0 && m.Ended-m.Sent != r.Unit) {
			return none, e
		}
	}
	slices.Sort(e.Initiators)
	return start, e
}

// startsElection reports whether a step is a suspicion, or a campaign.
func startsElection(s Step) bool {
	return s.Kind == trace.Suspect || s.Kind == trace.Note && strings.Contains(s.Text, "campaign")
}
