package algotest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/host"
)

// needsQuorum: a leader that loses its majority, to crashes or to a partition, stops; whoever
// comes back ends that. Two of four, and one of two, lead in no state that they can reach.
func needsQuorum(p *probe) {
	const nodes = 5
	for _, few := range sets(nodes) {
		many := others(nodes, few)
		if len(few) >= len(many) {
			continue
		}
		p.upset(fmt.Sprintf("of which %s crash, too many", names(many)), nodes, func(w *world) {
			w.each("crash", many...)
			w.leaderless(few)
			w.each("restart", many...)
		})
		p.upset(fmt.Sprintf("of which %s are cut off", names(few)), nodes, func(w *world) {
			w.do("partition %s %s", names(few), names(many))
			w.leaderless(few)
			if !slices.ContainsFunc(many, w.leads) {
				p.fatalf("the majority has no leader: %s", w.Opinions())
			}
			w.do("heal")
		})
	}
	if p.seed == p.first() {
		p.minorities()
	}
}

// leaderless fails the check if one of these, who are too few, leads after a while.
func (w *world) leaderless(nodes []int) {
	w.p.Helper()
	w.Run(2 * w.p.options.Within)
	w.sound()
	for _, n := range nodes {
		if w.leads(n) {
			w.p.fatalf("n%d leads without a majority: %s", n, w.Opinions())
		}
	}
}

// minorities explores those that are configured for more members than they have met.
func (p *probe) minorities() {
	for _, known := range []int{1, 2} {
		o := explore.Options{
			Spec: p.spec, View: algo.NewView(1, 2*known, host.Members(known)...), Epochs: 3, Crashes: 1, Mistakes: 1, Repeats: 2,
			Properties: []algo.Property{algo.EpochsGrow}, Limits: explore.Limits{States: p.effort(20_000)},
		}
		report, err := explore.Run(p.Context(), o)
		about := fmt.Sprintf("%d of %d members", known, 2*known)
		p.Log(about + ": " + visited(report))
		switch {
		case report.WithLeader > 0:
			p.fatalf("%s have a leader in %d of the states that they can reach", about, report.WithLeader)
		case !errors.Is(err, explore.ErrNoLeader):
			p.fatalf("%s cannot be explored: %v", about, err)
		}
	}
}
