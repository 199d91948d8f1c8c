package algotest

import (
	"fmt"
	"slices"

	"github.com/elect-go/elect/sim"
)

// troubled has five nodes elect, and two of them crash, while something is wrong with the
// network, and then without it.
func (p *probe) troubled(about string, begin, end func(w *world)) {
	const nodes = 5
	for range p.seeds(40) {
		p.try(about, nodes, func(w *world) {
			random := p.random()
			begin(w)
			dead := random.Perm(nodes)[:2]
			for i := range 6 {
				w.pass(random, p.options.Within)
				if i%3 == 2 {
					w.crash(dead[i/3] + 1)
				} else if n := 1 + random.IntN(nodes); w.runs(n) {
					w.do(w.Campaign(n))
				}
			}
			w.pass(random, p.options.Timing.RoundTrip)
			end(w)
			w.settle()
		})
	}
}

func (p *probe) faulty(about string, f sim.Faults) {
	p.troubled(about, func(w *world) { w.SetFaults(f) }, func(w *world) { w.Heal() })
}

func loss(p *probe) { p.faulty("losing a third of all messages", sim.Faults{Loss: 0.33}) }

func duplication(p *probe) {
	p.faulty("half of all messages arriving twice", sim.Faults{Duplicate: 0.5})
}

func reordering(p *probe) {
	p.faulty("half of all messages overtaking others", sim.Faults{Reorder: 0.5})
}

func delay(p *probe) {
	rtt := p.options.Timing.RoundTrip
	p.troubled("messages taking up to four round trips",
		func(w *world) { w.do(w.SetDelay(sim.Uniform(rtt/100, 4*rtt))) },
		func(w *world) { w.do(w.SetDelay(sim.Uniform(rtt/100, rtt/10))) })
}

// wrongSuspicion has detectors that say what they like, first of random peers, then all of
// the leader.
func wrongSuspicion(p *probe) {
	const nodes = 5
	for range p.seeds(40) {
		p.try("with wrong suspicions", nodes, func(w *world) {
			random := p.random()
			w.settle()
			trust := func() {
				for _, n := range w.all() {
					for _, peer := range others(nodes, []int{n}) {
						w.do(w.Trust(n, peer))
					}
				}
			}
			for range 20 {
				n := 1 + random.IntN(nodes)
				peer := 1 + (n+random.IntN(nodes-1))%nodes
				if random.IntN(3) == 0 {
					w.do(w.Trust(n, peer))
				} else {
					w.do(w.Suspect(n, peer))
				}
				w.pass(random, p.options.Timing.RoundTrip)
			}
			trust()
			w.settle()
			leader := w.leader()
			for _, n := range others(nodes, []int{leader}) {
				w.do(w.Suspect(n, leader))
			}
			w.pass(random, p.options.Within)
			trust()
			w.settle()
		}, detector(sim.Scripted))
	}
}

// partition parts the nodes in two, in each way, and cuts some of the links in one
// direction.
func partition(p *probe) {
	const nodes = 5
	for range p.seeds(2) {
		for _, left := range sets(nodes) {
			right := others(nodes, left)
			if len(right) == 0 || slices.Contains(right, 1) {
				continue
			}
			p.try(fmt.Sprintf("parted into %s and %s", names(left), names(right)), nodes, func(w *world) {
				w.settle()
				w.do(w.Partition(left, right))
				w.Run(p.options.Within)
				w.Heal()
				w.settle()
			})
		}
		for range 6 {
			p.try("some links cut in one direction", nodes, func(w *world) {
				random := p.random()
				w.settle()
				for range 4 {
					from := 1 + random.IntN(nodes)
					w.do(w.Cut(from, 1+(from+random.IntN(nodes-1))%nodes))
					w.pass(random, p.options.Within)
				}
				w.Heal()
				w.settle()
			})
		}
	}
}

func pause(p *probe) {
	const nodes = 5
	for range p.seeds(4) {
		for _, n := range []int{1, 2, 3, 4, 5} {
			p.try(fmt.Sprintf("of which n%d is stopped, and goes on", n), nodes, func(w *world) {
				w.settle()
				w.do(w.Pause(n))
				w.settle() // of the rest
				w.do(w.Resume(n))
				w.settle()
			})
		}
		p.try("of which two are stopped, one after the other, and go on", nodes, func(w *world) {
			random := p.random()
			w.settle()
			stopped := random.Perm(nodes)[:2]
			for _, n := range stopped {
				w.do(w.Pause(n + 1))
				w.pass(random, p.options.Within)
			}
			for _, n := range stopped {
				w.do(w.Resume(n + 1))
				w.pass(random, p.options.Within)
			}
			w.settle()
		})
	}
}
