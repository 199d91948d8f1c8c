package algotest

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
)

// lives returns what processes went through that were disturbed in every way.
func (p *probe) lives(storms int) (all []*life) {
	for seed := range p.seeds(storms) {
		t := newTape()
		r, err := sim.Storm(p.Context(), sim.StormOptions{
			Spec: t.record(p.spec), Timing: p.options.Timing, Period: 8 * time.Second, Within: p.options.Within, Seed: seed,
		})
		if err != nil {
			p.fatalf("the storm was not possible: %v", err)
		}
		_ = r // what is wrong with it is another check's
		for _, l := range t.lives {
			l.seed = seed
			all = append(all, l)
		}
	}
	return all
}

// play runs a process through a life again, and returns what it asked for at each step.
// A life that broke the contract ends there.
func (p *probe) play(l *life, each func(i int, m *algo.Machine)) (asked []string) {
	m := algo.NewMachine(&p.spec, l.self)
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
func step(m *algo.Machine, e algo.Event) (asked string, ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	f := m.Step(e)
	text := fmt.Sprintf("save %v %+v, timers %+v, watch %v %v, sends", f.Save, f.Stable, f.Timers, f.Watch, f.Monitor)
	for _, s := range f.Sends {
		text += fmt.Sprintf(" %T%+v to %v", s.Message, s.Message, s.To)
	}
	text += fmt.Sprintf(", announces %v, refused %v, notes", f.Announce, f.Refused)
	for _, n := range f.Notes {
		text += fmt.Sprintf(" %q", fmt.Sprintf(n.Format, n.Args...))
	}
	return text, true
}

// describe says what an event is.
func describe(e algo.Event) string {
	switch e.Kind {
	case algo.EventReceive:
		return fmt.Sprintf("receive %T%+v from %v", e.Message, e.Message, e.Peer)
	case algo.EventExpire:
		return fmt.Sprintf("expire %s", e.Timer)
	case algo.EventSuspect, algo.EventTrust:
		return fmt.Sprintf("%v %v", e.Kind, e.Peer)
	}
	return e.Kind.String()
}

// deterministic plays each life several times. Go picks another order for a map each time
// that it is walked through.
func deterministic(p *probe) {
	for _, l := range p.lives(4) {
		p.seed = l.seed
		first := p.play(l, nil)
		for range 5 {
			again := p.play(l, nil)
			for i := range first {
				if i >= len(again) || first[i] != again[i] {
					p.differ(l, i, first, again)
				}
			}
		}
	}
}

func (p *probe) differ(l *life, i int, first, again []string) {
	p.Helper()
	second := "nothing, for it broke the contract"
	if i < len(again) {
		second = again[i]
	}
	p.fatalf("step %d of a process, %s, asks for\n%s\nand, the same again, for\n%s", i+1, describe(l.events[i]), first[i], second)
}

// kept is how many clones are looked at while their original goes on, and ahead is how many
// steps a clone goes on itself.
const kept, ahead = 24, 4

// cloneSharesNothing clones a process all along its life. The clones stay as they are while
// it goes on, and it stays as it is while a clone does.
func cloneSharesNothing(p *probe) {
	type still struct {
		clone algo.Algorithm
		state string
	}
	for _, l := range p.lives(4) {
		p.seed = l.seed
		var clones []still
		p.play(l, func(i int, m *algo.Machine) {
			state := dump(m.Algorithm())
			for _, c := range clones {
				if now := dump(c.clone); now != c.state {
					p.fatalf("a clone in the state\n%s\nis, after its original went on with %s, in the state\n%s", c.state, describe(l.events[i]), now)
				}
			}
			clone := m.Algorithm().Clone()
			if copied := dump(clone); copied != state {
				p.fatalf("a process is in the state\n%s\nand its clone in the state\n%s", state, copied)
			}
			clones = append(clones[max(0, len(clones)+1-kept):], still{clone, state})
			p.branch(m.Clone(), l.events[i+1:min(i+1+ahead, len(l.events))], func(e algo.Event) {
				if now := dump(m.Algorithm()); now != state {
					p.fatalf("a process in the state\n%s\nis, after its clone went on with %s, in the state\n%s", state, describe(e), now)
				}
			})
		})
	}
}

// branch has a clone go on, with the last event first: what it writes to is then most often
// something else than what its original will write there.
func (p *probe) branch(clone *algo.Machine, events []algo.Event, each func(e algo.Event)) {
	for _, e := range slices.Backward(events) {
		if _, ok := step(clone, e); !ok {
			return
		}
		each(e)
	}
}
