package algotest

import (
	"fmt"
	"slices"
)

// needsQuorum: a leader that loses its majority, to crashes or to a partition, stops; whoever
// comes back ends that.
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
