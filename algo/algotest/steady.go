package algotest

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

func alone(p *probe) {
	for range p.seeds(1) {
		p.try("alone", 1, func(w *world) {
			w.settle()
			if !w.leads(1) {
				p.fatalf("it does not lead: %s", w.Opinions())
			}
		})
	}
}

func agreement(p *probe) {
	for _, nodes := range []int{1, 2, 3, 5, 7} {
		for range p.seeds(8) {
			p.try("starting together", nodes, func(w *world) { w.settle() })
			p.try("starting one after the other", nodes, func(w *world) {
				random := p.random()
				for _, n := range random.Perm(nodes)[1:] {
					w.crash(n + 1)
				}
				for _, n := range random.Perm(nodes) {
					w.pass(random, p.options.Within/4)
					w.restart(n + 1)
				}
				w.settle()
			})
		}
	}
}

// quiet looks on for two minutes: something may be wrong that is seldom.
func quiet(p *probe) {
	for range p.seeds(2) {
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
	for range p.seeds(2) {
		p.try("calling for an election alone", 1, func(w *world) {
			w.settle()
			w.do(w.Campaign(1))
			w.settle()
		})
		for _, d := range []sim.Detection{sim.Heartbeats, sim.Perfect} {
			p.try(fmt.Sprintf("calling for elections, detector %v", d), 5, func(w *world) {
				w.settle()
				for _, n := range w.all() {
					w.do(w.Campaign(n))
					w.settle()
				}
				for range 3 { // while one is on, too
					for _, n := range p.random().Perm(5)[:3] {
						w.do(w.Campaign(n + 1))
						w.pass(p.random(), p.options.Timing.RoundTrip)
					}
				}
				w.settle()
			}, detector(d))
		}
	}
}
