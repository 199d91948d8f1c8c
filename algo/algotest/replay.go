package algotest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/host"
)

// life is what one process went through, from a start to its end.
type life struct {
	self   algo.NodeID
	events []driver.Event
}

// lives returns what processes went through that a walk disturbed in every way.
func (p *probe) lives() (all []*life) {
	w, now := p.walker(), map[int]*life{}
	w.New = func(_ *rand.Rand, view algo.View) *host.Cluster {
		c := p.bare(view)
		c.Seen = func(i int, e driver.Event) {
			if e.Kind == driver.EventStart {
				now[i] = &life{self: host.ID(i)}
				all = append(all, now[i])
			}
			now[i].events = append(now[i].events, e)
		}
		return c
	}
	w.Take(host.Seeded(p.seed), false) // what is wrong with it is another check's
	return all
}

// play runs a process through a life again, and returns what it asked for at each step.
// A life that broke the contract ends there.
func (p *probe) play(l *life, each func(i int, m *driver.Machine)) (asked []string) {
	m := driver.NewMachine(&p.spec, l.self)
	for i, e := range l.events {
		what, ok := step(m, e)
		if !ok {
			break
		}
		asked = append(asked, what)
		if each != nil {
			each(i, m)
		}
	}
	return asked
}

// step returns the effects of an event as text; false when the contract is broken.
func step(m *driver.Machine, e driver.Event) (asked string, ok bool) {
	effects, broken := host.Step(m, e)
	if broken != nil {
		return "", false
	}
	asked = host.Line(effects)
	for _, n := range effects.Notes {
		asked += fmt.Sprintf("; %q", fmt.Sprintf(n.Format, n.Args...))
	}
	return asked, true
}

// deterministic plays each life several times. Go picks another order for a map each time
// that it is walked through.
func deterministic(p *probe) {
	for _, l := range p.lives() {
		first := p.play(l, nil)
		for range 5 {
			again := append(p.play(l, nil), "nothing, for it broke the contract")
			for i := range first {
				if first[i] != again[i] {
					p.fatalf("step %d of a process, which %s, asks for\n%s\nand, the same again, for\n%s", i+1, host.Happening(l.events[i]), first[i], again[i])
				}
			}
		}
	}
}

// kept is how many clones are looked at while their original goes on, and ahead is how many
// steps a clone goes on itself.
const kept, ahead = 24, 4

// cloneSharesNothing clones a process all along its life. The clones stay as they are while
// it goes on, and it stays as it is while a clone does.
func cloneSharesNothing(p *probe) {
	type still struct {
		clone algo.Algorithm
		state host.Fingerprint
	}
	for _, l := range p.lives() {
		var clones []still
		p.play(l, func(i int, m *driver.Machine) {
			now := host.FingerprintOf(m.Algorithm())
			for _, c := range clones {
				if host.FingerprintOf(c.clone) != c.state {
					p.fatalf("a clone changed when its original went on, and %s. It is now\n%+v", host.Happening(l.events[i]), c.clone)
				}
			}
			clone := m.Algorithm().Clone()
			if host.FingerprintOf(clone) != now {
				p.fatalf("a process is\n%+v\nand its clone\n%+v", m.Algorithm(), clone)
			}
			clones = append(clones[max(0, len(clones)+1-kept):], still{clone, now})
			// The clone takes the last event first: what it writes to is then most often something
			// else than what its original will write there.
			other := m.Clone()
			for _, e := range slices.Backward(l.events[i+1 : min(i+1+ahead, len(l.events))]) {
				if _, ok := step(other, e); !ok {
					break
				}
				if host.FingerprintOf(m.Algorithm()) != now {
					p.fatalf("a process changed when its clone went on, and %s. It is now\n%+v", host.Happening(e), m.Algorithm())
				}
			}
		})
	}
}
