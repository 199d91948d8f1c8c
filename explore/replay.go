package explore

import (
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// Breach is a property that a run breaks.
type Breach struct {
	Property algo.Property
	What     string // who did what
	Step     int    // after how many steps it shows
}

// Replayed is what steps have come to.
type Replayed struct {
	Breaches []Breach // in the order in which they show; a property may be broken again
	// Trace is the steps with all effects and notes. At counts the steps.
	Trace []trace.Event
	// Text is the trace to read.
	Text string
}

// Replay repeats steps, which are those of a [Violation] under the same options, and
// returns what happens and which properties that breaks. Its error wraps ErrImpossible if
// a step cannot happen. Agreement is looked for after the last step only.
func Replay(o Options, steps []Step) (events []trace.Event, broken []algo.Property, err error) {
	r, err := replay(o, steps)
	for _, b := range r.Breaches {
		if !slices.Contains(broken, b.Property) {
			broken = append(broken, b.Property)
		}
	}
	return r.Trace, broken, err
}

func replay(o Options, steps []Step) (r Replayed, err error) {
	e, err := newSearch(o)
	if err != nil {
		return Replayed{}, err
	}
	defer catchUnreadable(&err)
	if e.start, err = e.first(); err != nil {
		return Replayed{}, err
	}
	t, possible := e.follow(steps)
	if !possible {
		return Replayed{}, e.m.impossible(&t.end, len(t.taken)+1, steps[len(t.taken)])
	}
	for i, step := range t.taken {
		if step.Mistaken != steps[i].Mistaken {
			return Replayed{}, &impossibleError{i + 1, e.m.describe(steps[i]), "here it is " + e.m.describe(step)}
		}
	}
	for _, b := range t.broken {
		t.breach(b)
	}
	return Replayed{Breaches: t.broken, Trace: t.events, Text: t.text.String()}, nil
}

// violation tells how steps break a property.
func (e *search) violation(p algo.Property, steps []Step) Violation {
	t, possible := e.follow(steps)
	i := slices.IndexFunc(t.broken, func(b Breach) bool { return b.Property == p })
	if !possible || i < 0 {
		panic(fmt.Sprintf("explore: steps that broke %s before do not break it now", p))
	}
	b := t.broken[i]
	t.breach(b)
	return Violation{
		Property: p, What: b.What, Steps: t.taken, Scenario: e.scenario(b, t.taken),
		Trace: t.events, Text: t.text.String(),
	}
}

// follow takes steps one by one from the start, and tells what comes of it. It ends
// early where one is not possible, and where one breaks the contract.
func (e *search) follow(steps []Step) (t *story, possible bool) {
	t = &story{m: e.m, end: e.start}
	t.end.network = slices.Clone(e.start.network)
	if e.options.Settled {
		t.settled(e.m.locals[t.end.locals[0]].leader)
	}
	var next state
	for _, step := range steps {
		a, found := e.m.find(&t.end, step)
		if !found {
			return t, false
		}
		t.tell(&t.end, a)
		o, moved := e.m.apply(&t.end, a, &next)
		t.breaks(e, e.m.breach)
		if o.broken != nil {
			return t, true // nobody knows what that node would do now
		}
		if moved {
			t.end, next = next, t.end
		}
	}
	if e.asked(algo.Agreement) && !e.agrees(&t.end) {
		t.breaks(e, []breach{disagreement()})
	}
	return t, true
}

func (t *story) breaks(e *search, all []breach) {
	for _, b := range all {
		if e.asked(b.property) {
			t.broken = append(t.broken, Breach{b.property, b.what, len(t.taken)})
		}
	}
}
