package algotest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// incarnation is the sequence of events of one process, from its start to its end.
type incarnation struct {
	self   algo.NodeID
	events []driver.Event
}

// incarnations returns the incarnations of all processes of a random walk.
func (p *checkRun) incarnations() (all []*incarnation) {
	w, now := p.newWalk(), map[int]*incarnation{}
	w.New = func(_ *rand.Rand, view algo.View) *algosim.Cluster {
		c := p.newMachines(view)
		c.OnEvent = func(i int, e driver.Event) {
			if e.Kind == driver.EventStart {
				now[i] = &incarnation{self: algosim.ID(i)}
				all = append(all, now[i])
			}
			now[i].events = append(now[i].events, e)
		}
		return c
	}
	w.Run(algosim.Seeded(p.seed), false) // another check reports its violations
	return all
}

// replay runs a new process through the events of an incarnation, and returns the effects of each
// step. It ends early if the algorithm violates the contract.
func (p *checkRun) replay(l *incarnation, each func(i int, m *driver.Machine)) (requested []string) {
	m := driver.NewMachine(&p.spec, l.self)
	for i, e := range l.events {
		what, ok := step(m, e)
		if !ok {
			break
		}
		requested = append(requested, what)
		if each != nil {
			each(i, m)
		}
	}
	return requested
}

// step returns the effects of an event as text, and false if the algorithm violates the contract.
func step(m *driver.Machine, e driver.Event) (requested string, ok bool) {
	effects, broken := algosim.Step(m, e)
	if broken != nil {
		return "", false
	}
	requested = algosim.FormatEffects(effects)
	for _, n := range effects.Notes {
		requested += fmt.Sprintf("; %q", fmt.Sprintf(n.Format, n.Args...))
	}
	return requested, true
}

// deterministic replays each incarnation several times. Go changes the order of a map for each
// iteration.
func deterministic(p *checkRun) {
	for _, l := range p.incarnations() {
		first := p.replay(l, nil)
		for range 5 {
			again := append(p.replay(l, nil), "nothing, because it violates the contract")
			for i := range first {
				if first[i] != again[i] {
					p.fatalf("step %d of a process, (%s) has the effects\n%s\nand, when repeated,\n%s", i+1, algosim.DescribeEvent(algosim.NewTraceEvent(l.events[i])), first[i], again[i])
				}
			}
		}
	}
}

// maxClones is the number of clones that are checked while their original continues.
// maxCloneSteps is the number of events that a clone handles itself.
const maxClones, maxCloneSteps = 24, 4

// cloneSharesNothing clones a process after each of its events. The clones must not change while
// the original continues, and the original must not change while a clone continues.
func cloneSharesNothing(p *checkRun) {
	type still struct {
		clone algo.Algorithm
		state algosim.Fingerprint
	}
	for _, l := range p.incarnations() {
		var clones []still
		p.replay(l, func(i int, m *driver.Machine) {
			now := algosim.FingerprintOf(m.Algorithm())
			for _, c := range clones {
				if algosim.FingerprintOf(c.clone) != c.state {
					p.fatalf("a clone changed when its original went on (%s). It is now\n%+v", algosim.DescribeEvent(algosim.NewTraceEvent(l.events[i])), c.clone)
				}
			}
			clone := m.Algorithm().Clone()
			if algosim.FingerprintOf(clone) != now {
				p.fatalf("a process is\n%+v\nand its clone\n%+v", m.Algorithm(), clone)
			}
			clones = append(clones[max(0, len(clones)+1-maxClones):], still{clone, now})
			// The clone handles the last event first. It then usually writes other values than
			// its original will.
			other := m.Clone()
			for _, e := range slices.Backward(l.events[i+1 : min(i+1+maxCloneSteps, len(l.events))]) {
				if _, ok := step(other, e); !ok {
					break
				}
				if algosim.FingerprintOf(m.Algorithm()) != now {
					p.fatalf("a process changed when its clone went on (%s). It is now\n%+v", algosim.DescribeEvent(algosim.NewTraceEvent(e)), m.Algorithm())
				}
			}
		})
	}
}
