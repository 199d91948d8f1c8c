package algotest

import (
	"fmt"
	"slices"
	"time"
)

// failover has each set of nodes crash of which the rest can elect.
func failover(p *probe) {
	nodes := 4
	if p.options.Long {
		nodes = 5
	}
	for range p.seeds(4) {
		for _, dead := range sets(nodes) {
			if !p.enough(nodes-len(dead), nodes) {
				continue
			}
			p.try(fmt.Sprintf("of which %s crash", names(dead)), nodes, func(w *world) {
				w.settle()
				w.crash(dead...)
				w.settle()
				w.led(others(nodes, dead))
			})
		}
	}
}

// led fails the check unless one of these nodes leads.
func (w *world) led(nodes []int) {
	w.p.Helper()
	if leader := w.leader(); !slices.Contains(nodes, leader) {
		w.p.fatalf("n%d leads, and not one of %s: %s", leader, names(nodes), w.Opinions())
	}
}

// others are the nodes that are not in a list.
func others(nodes int, list []int) (rest []int) {
	for n := 1; n <= nodes; n++ {
		if !slices.Contains(list, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

func restart(p *probe) {
	for _, nodes := range []int{1, 4} {
		p.comeBack(nodes)
	}
}

// comeBack has each set of nodes crash and start again.
func (p *probe) comeBack(nodes int) {
	for range p.seeds(4) {
		for _, back := range sets(nodes) {
			p.try(fmt.Sprintf("of which %s crash and start again", names(back)), nodes, func(w *world) {
				random := p.random()
				w.settle()
				// Unnoticed, and noticed.
				for _, most := range []time.Duration{p.options.Timing.RoundTrip / 10, p.options.Within} {
					w.crash(back...)
					for _, n := range back {
						w.pass(random, most)
						w.restart(n)
					}
					w.settle()
				}
			})
		}
	}
}

// restartAfterSave has each node in turn crash in the middle of what it does in an
// election: after its save, or after so many dials, messages and announcements.
func restartAfterSave(p *probe) {
	const nodes, never = 4, 6
	for range p.seeds(4) {
		for n := 1; n <= nodes; n++ {
			for after := range never {
				about := fmt.Sprintf("of which n%d crashes after %d effects", n, after)
				if after == 0 {
					about = fmt.Sprintf("of which n%d crashes after a save", n)
				}
				p.try(about, nodes, func(w *world) { w.interrupt(n, after) })
			}
		}
	}
}

func (w *world) interrupt(n, after int) {
	w.settle()
	if after == 0 {
		w.do(w.CrashAfterSave(n))
	} else {
		w.do(w.CrashAfter(n, after))
	}
	leader := w.leader()
	if leader == n {
		w.do(w.Campaign(n))
	} else {
		w.crash(leader)
	}
	w.Run(w.p.options.Within)
	w.Disarm()
	w.restart(leader)
	w.settle()
	w.restart(n)
	w.settle()
}
