package algotest

import (
	"fmt"
	"slices"
)

// needsQuorum checks that a leader stops if it loses its majority to crashes or to a partition, and
// that there is a leader again after the fault.
func needsQuorum(p *checkRun) {
	const nodes = 5
	for _, few := range sets(nodes) {
		many := others(nodes, few)
		if len(few) >= len(many) {
			continue
		}
		p.disturb(fmt.Sprintf("of which %s crash, too many", names(many)), nodes, func(w *world) {
			w.each("crash", many...)
			w.leaderless(few)
			w.each("restart", many...)
		})
		p.disturb(fmt.Sprintf("of which %s are disconnected", names(few)), nodes, func(w *world) {
			w.do("partition %s %s", names(few), names(many))
			w.leaderless(few)
			if !slices.ContainsFunc(many, w.leads) {
				p.fatalf("the majority has no leader: %s", w.Opinions())
			}
			w.do("heal")
		})
	}
}

// leaderless fails the check if one of nodes, which are no majority, leads after a while.
func (w *world) leaderless(nodes []int) {
	w.p.Helper()
	w.Run(2 * w.p.options.Within)
	w.requireNoViolation()
	for _, n := range nodes {
		if w.leads(n) {
			w.p.fatalf("n%d leads without a majority: %s", n, w.Opinions())
		}
	}
}
