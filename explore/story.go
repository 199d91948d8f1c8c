package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// story is a run told step by step.
type story struct {
	*search
	taken  []action
	steps  []string // the same, as a scenario has them
	broken []Violation
	events []trace.Event
	said   []string        // of the last step; at first, of what was before
	text   strings.Builder // the steps, and below each what was said
	end    state
	next   state
	over   bool // it broke the contract: nobody knows what that node would do now
}

// newStory begins a story where a search begins.
func (e *search) newStory() *story {
	t := &story{search: e, end: e.start}
	t.end.network = slices.Clone(e.start.network)
	if e.options.StartAgreed {
		l := e.m.locals[t.end.locals[0]].leader
		t.line("all have started and follow %s in epoch %d", l.ID, l.Epoch)
		for _, id := range e.m.ids {
			t.events = append(t.events, trace.Event{Node: id, Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
		}
	}
	return t
}

// follow takes actions one by one from the start, and tells what comes of it. It ends
// early where one is not possible, and where one breaks the contract.
func (e *search) follow(actions []action) (t *story, possible bool) {
	t = e.newStory()
	for _, a := range actions {
		if a, possible = e.m.again(&t.end, a); !possible {
			return t, false
		}
		if t.take(a); t.over {
			return t, true
		}
	}
	t.finish()
	return t, true
}

// take takes an action, which is possible.
func (t *story) take(a action) {
	t.tell(a)
	o, moved := t.m.apply(&t.end, a, &t.next)
	t.breaks(t.m.breach...)
	if t.over = o.broken != nil; moved {
		t.end, t.next = t.next, t.end
	}
}

// finish looks for what is looked for at the end.
func (t *story) finish() {
	if !t.over && t.asked(algo.Agreement) && !t.agrees(&t.end) {
		t.breaks(algosim.Violation{Property: algo.Agreement, What: "nothing is wrong from here on, and still those who run do not come to follow one leader"})
	}
}

func (t *story) breaks(all ...algosim.Violation) {
	for _, b := range all {
		if t.asked(b.Property) {
			t.broken = append(t.broken, Violation{Property: b.Property, What: b.What, Steps: slices.Clip(t.steps)})
		}
	}
}

// breach returns how a property was broken first, if it was.
func (t *story) breach(p algo.Property) *Violation {
	if i := slices.IndexFunc(t.broken, func(v Violation) bool { return v.Property == p }); i >= 0 {
		return &t.broken[i]
	}
	return nil
}

// violation tells how actions break a property.
func (e *search) violation(p algo.Property, actions []action) Violation {
	t, possible := e.follow(actions)
	v := t.breach(p)
	if !possible || v == nil {
		panic(fmt.Sprintf("explore: steps that broke %s before do not break it now", p))
	}
	t.line("%v", scenario.Broken{Property: string(p), Text: v.What})
	o := e.options
	o.Properties = []algo.Property{p}
	v.Scenario, v.Trace = head(&o)+t.text.String(), t.events
	return *v
}

// tell adds an action, with what the algorithm makes of it.
func (t *story) tell(a action) {
	l := &t.m.locals[t.end.locals[a.node]]
	t.taken, t.steps = append(t.taken, a), append(t.steps, strings.Join(t.m.words(&t.end, a), " "))
	t.said = nil
	fmt.Fprintln(&t.text, t.steps[len(t.taken)-1])
	at := time.Duration(len(t.taken))
	e := t.m.event(l, a.what, a.argument)
	event := algosim.NewTraceEvent(e)
	event.At, event.Node, event.Epoch = at, t.m.ids[a.node], l.saved.Epoch
	switch {
	case a.what == crashes:
		event.Kind = trace.Crash
	case a.what == starts && l.phase == down:
		event.Kind = trace.Restart
		t.line("had saved epoch %d", l.saved.Epoch)
	case a.mistaken:
		event.Format = "wrongly"
	}
	t.events = append(t.events, event)
	if a.what == crashes {
		return
	}
	_, effects, broken := t.m.step(l, e)
	if broken != nil {
		t.line("breaks the contract: %s", broken.What)
		return
	}
	t.perform(at, event.Node, effects)
}

// perform tells the effects of a step, in the order in which they are performed.
func (t *story) perform(at time.Duration, node algo.NodeID, effects *driver.Effects) {
	tell := func(heading string, e trace.Event) {
		e.At, e.Node = at, node
		t.events = append(t.events, e)
		t.line("%s%s", heading, algosim.DescribeEvent(e))
	}
	for _, note := range effects.Notes {
		tell("note: ", trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args})
	}
	if effects.Save {
		tell("", trace.Event{Kind: trace.Save, Epoch: effects.Stable.Epoch})
	}
	for _, e := range effects.Sends {
		tell("", trace.Event{Kind: trace.Send, Peer: e.To, Message: e.Message})
	}
	for _, l := range effects.Announce {
		tell("", trace.Event{Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
	}
}

func (t *story) line(format string, args ...any) {
	said := algosim.Sprintf(format, args...)
	t.said = append(t.said, said)
	fmt.Fprintln(&t.text, scenario.Output(said))
}
