package algotest

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

func alone(p *checkRun) {
	p.try("alone", 1, func(w *world) { w.waitAgreed() })
}

func agreement(p *checkRun) {
	for _, nodes := range []int{1, 2, 3, 5, 7} {
		p.try("starting at the same time", nodes, func(w *world) { w.waitAgreed() })
		p.try("starting one after the other", nodes, func(w *world) {
			for _, n := range p.random.Perm(nodes)[1:] {
				w.each("crash", n+1)
			}
			for _, n := range p.random.Perm(nodes) {
				w.pass(p.options.Within / 4)
				w.each("restart", n+1)
			}
			w.waitAgreed()
		})
	}
}

// quiet observes a cluster for two minutes, because a fault may be rare.
func quiet(p *checkRun) {
	p.try("at rest", 5, func(w *world) {
		w.waitAgreed()
		before := w.announcements()
		w.Run(2 * time.Minute)
		w.requireNoViolation()
		w.silent("in two minutes without an event, the cluster sent")
		if more := w.announcements() - before; more > 0 {
			p.fatalf("in two minutes without an event, there were %d announcements", more)
		}
	})
}

func (w *world) announcements() (count int) {
	for _, e := range w.story {
		if e.Kind == trace.Announce {
			count++
		}
	}
	return count
}

func campaign(p *checkRun) {
	p.disturb("campaigning alone", 1, func(w *world) { w.do("campaign n1") })
	for _, d := range []sim.DetectorKind{sim.Heartbeats, sim.Perfect} {
		p.disturb(fmt.Sprintf("campaigning, detector %v", d), 5, func(w *world) {
			for _, n := range w.all() {
				w.do("campaign n%d", n)
				w.waitAgreed()
			}
			for range 3 { // also during an election
				for _, n := range p.random.Perm(5)[:3] {
					w.do("campaign n%d", n+1)
					w.pass(p.options.Timing.RoundTrip)
				}
			}
		}, d)
	}
}

// failover crashes each set of nodes without which the rest can elect a leader.
func failover(p *checkRun) {
	nodes := 4
	if p.options.Long {
		nodes = 5
	}
	for _, dead := range sets(nodes) {
		if rest := others(nodes, dead); p.canElect(len(rest), nodes) {
			p.try(fmt.Sprintf("of which %s crash", names(dead)), nodes, func(w *world) {
				w.waitAgreed()
				w.each("crash", dead...)
				w.waitLeaderAmong(rest)
			})
		}
	}
}

// restart crashes and restarts each set of nodes, before and after the others detect the crash.
func restart(p *checkRun) {
	for _, nodes := range []int{1, 4} {
		for _, back := range sets(nodes) {
			p.try(fmt.Sprintf("of which %s crash and restart", names(back)), nodes, func(w *world) {
				w.waitAgreed()
				for _, maxDelay := range []time.Duration{p.options.Timing.RoundTrip / 10, p.options.Within} {
					w.each("crash", back...)
					for _, n := range back {
						w.pass(maxDelay)
						w.each("restart", n)
					}
					w.waitAgreed()
				}
			})
		}
	}
}

// restartAfterSave crashes each node in turn between the effects of an election: after its save,
// or after a number of dials, messages and announcements.
func restartAfterSave(p *checkRun) {
	const nodes = 4
	for n := 1; n <= nodes; n++ {
		for _, effects := range []string{"save", "1", "2", "3", "4", "5"} {
			p.disturb(fmt.Sprintf("of which n%d crashes after %s", n, effects), nodes, func(w *world) {
				w.do("crash n%d after %s", n, effects)
				leader := w.leader()
				if leader == n {
					w.do("campaign n%d", n)
				} else {
					w.each("crash", leader)
				}
				w.Run(p.options.Within)
				w.do("cancel-crashes")
				w.each("restart", leader)
				w.waitAgreed()
				w.each("restart", n)
			})
		}
	}
}

// withNetworkFault returns a check in which five nodes elect leaders and two of them crash,
// during a network fault that line describes. The nodes must agree when the fault ends.
func withNetworkFault(about, line string) func(*checkRun) {
	const nodes = 5
	return func(p *checkRun) {
		p.try(about, nodes, func(w *world) {
			w.do("run %v", p.options.Timing.RoundTrip) // the nodes have started once all have answered
			w.do("%s", line)
			dead := p.random.Perm(nodes)[:2]
			for i := range 6 {
				w.pass(p.options.Within)
				if i%3 == 2 {
					w.each("crash", dead[i/3]+1)
				} else {
					w.each("campaign", 1+p.random.IntN(nodes)) // does nothing if the node is down
				}
			}
			w.pass(p.options.Timing.RoundTrip)
			w.do("heal")
			w.do("delay %v", p.normalDelay())
			w.waitAgreed()
		})
	}
}

// slow makes messages take longer than every timeout.
func slow(p *checkRun) {
	rtt := p.options.Timing.RoundTrip
	withNetworkFault("messages taking up to four round trips", fmt.Sprint("delay ", sim.Uniform(rtt/100, 4*rtt)))(p)
}

// falseSuspicion injects suspicions of random peers, and then of the leader at all other nodes.
func falseSuspicion(p *checkRun) {
	const nodes = 5
	p.disturb("with false suspicions", nodes, func(w *world) {
		trust := func() {
			for _, n := range w.all() {
				for _, peer := range others(nodes, []int{n}) {
					w.do("trust n%d n%d", n, peer)
				}
			}
		}
		for range 20 {
			n := 1 + p.random.IntN(nodes)
			peer := 1 + (n+p.random.IntN(nodes-1))%nodes
			if p.random.IntN(3) == 0 {
				w.do("trust n%d n%d", n, peer)
			} else {
				w.do("suspect n%d n%d", n, peer)
			}
			w.pass(p.options.Timing.RoundTrip)
		}
		trust()
		w.waitAgreed()
		leader := w.leader()
		for _, n := range others(nodes, []int{leader}) {
			w.do("suspect n%d n%d", n, leader)
		}
		w.pass(p.options.Within)
		trust()
	}, sim.Scripted)
}

// partition splits the nodes into two sides, in each possible way. Then it cuts some links in one
// direction.
func partition(p *checkRun) {
	const nodes = 5
	for _, left := range sets(nodes) {
		right := others(nodes, left)
		if len(right) == 0 || slices.Contains(right, 1) {
			continue
		}
		p.disturb(fmt.Sprintf("partitioned into %s and %s", names(left), names(right)), nodes, func(w *world) {
			w.do("partition %s %s", names(left), names(right))
			w.Run(p.options.Within)
			w.do("heal")
		})
	}
	for range 6 {
		p.disturb("some links cut in one direction", nodes, func(w *world) {
			for range 4 {
				from := 1 + p.random.IntN(nodes)
				w.do("cut n%d n%d", from, 1+(from+p.random.IntN(nodes-1))%nodes)
				w.pass(p.options.Within)
			}
			w.do("heal")
		})
	}
}

func pause(p *checkRun) {
	const nodes = 5
	for n := 1; n <= nodes; n++ {
		p.disturb(fmt.Sprintf("of which n%d is stopped and continues", n), nodes, func(w *world) {
			w.do("pause n%d", n)
			w.waitAgreed() // without n
			w.do("resume n%d", n)
		})
	}
	p.disturb("of which two are stopped, one after the other, and continue", nodes, func(w *world) {
		stopped := p.random.Perm(nodes)[:2]
		for _, happens := range []string{"pause", "resume"} {
			for _, n := range stopped {
				w.do("%s n%d", happens, n+1)
				w.pass(p.options.Within)
			}
		}
	})
}

// chaos injects random faults into clusters of three to five nodes.
func chaos(p *checkRun) {
	r, err := sim.Chaos(p.Context(), sim.ChaosOptions{
		Spec: p.spec, Timing: p.options.Timing, Nodes: 3 + int(p.seed%3), Period: 6 * time.Second, Within: p.options.Within, Seed: p.seed,
	})
	if err != nil {
		p.fatalf("the chaos run failed to start: %v", err)
	}
	if err := r.Err(); err != nil {
		p.fatalf("%v", err)
	}
}
