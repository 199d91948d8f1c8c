package algotest

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

func alone(p *probe) {
	p.try("alone", 1, func(w *world) { w.settle() }) // on a leader, and there is no other
}

func agreement(p *probe) {
	for _, nodes := range []int{1, 2, 3, 5, 7} {
		p.try("starting together", nodes, func(w *world) { w.settle() })
		p.try("starting one after the other", nodes, func(w *world) {
			for _, n := range p.random.Perm(nodes)[1:] {
				w.each("crash", n+1)
			}
			for _, n := range p.random.Perm(nodes) {
				w.pass(p.options.Within / 4)
				w.each("restart", n+1)
			}
			w.settle()
		})
	}
}

// quiet looks on for two minutes: something may be wrong that is seldom.
func quiet(p *probe) {
	p.try("at rest", 5, func(w *world) {
		w.settle()
		told := w.announcements()
		w.Run(2 * time.Minute)
		w.sound()
		w.silent("nothing happened for two minutes, and it sent")
		if more := w.announcements() - told; more > 0 {
			p.fatalf("nothing happened for two minutes, and there were %d announcements", more)
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

func campaign(p *probe) {
	p.upset("calling for an election alone", 1, func(w *world) { w.do("campaign n1") })
	for _, d := range []sim.Detection{sim.Heartbeats, sim.Perfect} {
		p.upset(fmt.Sprintf("calling for elections, detector %v", d), 5, func(w *world) {
			for _, n := range w.all() {
				w.do("campaign n%d", n)
				w.settle()
			}
			for range 3 { // while one is on, too
				for _, n := range p.random.Perm(5)[:3] {
					w.do("campaign n%d", n+1)
					w.pass(p.options.Timing.RoundTrip)
				}
			}
		}, d)
	}
}

// failover has each set of nodes crash of which the rest can elect.
func failover(p *probe) {
	nodes := 4
	if p.options.Long {
		nodes = 5
	}
	for _, dead := range sets(nodes) {
		if rest := others(nodes, dead); p.enough(len(rest), nodes) {
			p.try(fmt.Sprintf("of which %s crash", names(dead)), nodes, func(w *world) {
				w.settle()
				w.each("crash", dead...)
				w.settleOn(rest)
			})
		}
	}
}

// restart has each set of nodes crash and start again, unnoticed and noticed.
func restart(p *probe) {
	for _, nodes := range []int{1, 4} {
		for _, back := range sets(nodes) {
			p.try(fmt.Sprintf("of which %s crash and start again", names(back)), nodes, func(w *world) {
				w.settle()
				for _, most := range []time.Duration{p.options.Timing.RoundTrip / 10, p.options.Within} {
					w.each("crash", back...)
					for _, n := range back {
						w.pass(most)
						w.each("restart", n)
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
	const nodes = 4
	for n := 1; n <= nodes; n++ {
		for _, effects := range []string{"save", "1", "2", "3", "4", "5"} {
			p.upset(fmt.Sprintf("of which n%d crashes after %s", n, effects), nodes, func(w *world) {
				w.do("crash n%d after %s", n, effects)
				leader := w.leader()
				if leader == n {
					w.do("campaign n%d", n)
				} else {
					w.each("crash", leader)
				}
				w.Run(p.options.Within)
				w.do("disarm")
				w.each("restart", leader)
				w.settle()
				w.each("restart", n)
			})
		}
	}
}

// troubled returns a check in which five nodes elect, and two of them crash, while something
// is wrong with the network, as a line says, and then without it.
func troubled(about, line string) func(*probe) {
	const nodes = 5
	return func(p *probe) {
		p.try(about, nodes, func(w *world) {
			w.do("run %v", p.options.Timing.RoundTrip) // the cluster is founded once all have answered
			w.do("%s", line)
			dead := p.random.Perm(nodes)[:2]
			for i := range 6 {
				w.pass(p.options.Within)
				if i%3 == 2 {
					w.each("crash", dead[i/3]+1)
				} else {
					w.each("campaign", 1+p.random.IntN(nodes)) // unless it is down
				}
			}
			w.pass(p.options.Timing.RoundTrip)
			w.do("heal")
			w.do("delay %v", p.prompt())
			w.settle()
		})
	}
}

// slow has messages take longer than every timeout.
func slow(p *probe) {
	rtt := p.options.Timing.RoundTrip
	troubled("messages taking up to four round trips", fmt.Sprint("delay ", sim.Uniform(rtt/100, 4*rtt)))(p)
}

// wrongSuspicion has detectors that say what they like, first of random peers, then all of
// the leader.
func wrongSuspicion(p *probe) {
	const nodes = 5
	p.upset("with wrong suspicions", nodes, func(w *world) {
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
		w.settle()
		leader := w.leader()
		for _, n := range others(nodes, []int{leader}) {
			w.do("suspect n%d n%d", n, leader)
		}
		w.pass(p.options.Within)
		trust()
	}, sim.Scripted)
}

// partition parts the nodes in two, in each way, and cuts some of the links in one
// direction.
func partition(p *probe) {
	const nodes = 5
	for _, left := range sets(nodes) {
		right := others(nodes, left)
		if len(right) == 0 || slices.Contains(right, 1) {
			continue
		}
		p.upset(fmt.Sprintf("parted into %s and %s", names(left), names(right)), nodes, func(w *world) {
			w.do("partition %s %s", names(left), names(right))
			w.Run(p.options.Within)
			w.do("heal")
		})
	}
	for range 6 {
		p.upset("some links cut in one direction", nodes, func(w *world) {
			for range 4 {
				from := 1 + p.random.IntN(nodes)
				w.do("cut n%d n%d", from, 1+(from+p.random.IntN(nodes-1))%nodes)
				w.pass(p.options.Within)
			}
			w.do("heal")
		})
	}
}

func pause(p *probe) {
	const nodes = 5
	for n := 1; n <= nodes; n++ {
		p.upset(fmt.Sprintf("of which n%d is stopped, and goes on", n), nodes, func(w *world) {
			w.do("pause n%d", n)
			w.settle() // of the rest
			w.do("resume n%d", n)
		})
	}
	p.upset("of which two are stopped, one after the other, and go on", nodes, func(w *world) {
		stopped := p.random.Perm(nodes)[:2]
		for _, happens := range []string{"pause", "resume"} {
			for _, n := range stopped {
				w.do("%s n%d", happens, n+1)
				w.pass(p.options.Within)
			}
		}
	})
}

// storm disturbs clusters of three to five at random.
func storm(p *probe) {
	r, err := sim.Storm(p.Context(), sim.StormOptions{
		Spec: p.spec, Timing: p.options.Timing, Nodes: 3 + int(p.seed%3), Period: 6 * time.Second, Within: p.options.Within, Seed: p.seed,
	})
	if err != nil {
		p.fatalf("the storm was not possible: %v", err)
	}
	if err := r.Err(); err != nil {
		p.fatalf("%v", err)
	}
}
