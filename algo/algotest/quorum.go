package algotest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/host"
)

// needsQuorum: two of four, and one of two, lead in no state that they can reach. A leader
// that loses its majority, to crashes or to a partition, stops; whoever comes back ends
// that.
func needsQuorum(p *probe) {
	p.minorities()
	const nodes = 5
	for range p.seeds(2) {
		for _, dead := range sets(nodes) {
			if alive := others(nodes, dead); len(alive) == 0 || p.enough(len(alive), nodes) {
				continue
			}
			p.try(fmt.Sprintf("of which %s crash, too many", names(dead)), nodes, func(w *world) {
				w.settle()
				w.crash(dead...)
				w.Run(2 * p.options.Within)
				w.leaderless(others(nodes, dead))
				w.restart(dead...)
				w.settle()
			})
		}
		for _, few := range sets(nodes) {
			many := others(nodes, few)
			if len(few) >= len(many) {
				continue
			}
			p.try(fmt.Sprintf("of which %s are cut off", names(few)), nodes, func(w *world) {
				w.settle()
				w.do(w.Partition(few, many))
				w.Run(2 * p.options.Within)
				w.sound()
				w.leaderless(few)
				if !slices.ContainsFunc(many, w.leads) {
					p.fatalf("the majority has no leader: %s", w.Opinions())
				}
				w.Heal()
				w.settle()
			})
		}
	}
}

func (w *world) leaderless(nodes []int) {
	w.p.Helper()
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
		case report.StatesWithLeader > 0:
			p.fatalf("%s have a leader in %d of the states that they can reach", about, report.StatesWithLeader)
		case !errors.Is(err, explore.ErrNoLeader):
			p.fatalf("%s cannot be explored: %v", about, err)
		}
	}
}
