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

// replay is a run, step by step, with its trace and its text.
type replay struct {
	*search
	taken      []action
	steps      []string // the same as lines of a scenario
	violations []Violation
	events     []trace.Event
	output     []string        // of the last step; at first, of the start
	text       strings.Builder // the steps, each followed by its output
	current    state
	next       state
	stopped    bool // the contract was violated, so the next effects of that node are undefined
}

// newReplay starts a replay in the start state of the search.
func (e *search) newReplay() *replay {
	r := &replay{search: e, current: e.start}
	r.current.network = slices.Clone(e.start.network)
	if e.options.StartAgreed && !e.resumed {
		l := e.m.nodes[r.current.nodes[0]].leader
		r.printf("all have started and follow %s in epoch %d", l.ID, l.Epoch)
		for _, id := range e.m.ids {
			r.events = append(r.events, trace.Event{Node: id, Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
		}
	}
	return r
}

// replayActions performs actions from the start state. It ends early at an action that is not
// possible, and at one that violates the contract.
func (e *search) replayActions(actions []action) (r *replay, possible bool) {
	r = e.newReplay()
	for _, a := range actions {
		if a, possible = e.m.sameAction(&r.current, a); !possible {
			return r, false
		}
		if r.take(a); r.stopped {
			return r, true
		}
	}
	r.finish()
	return r, true
}

// take performs an action, which must be possible.
func (r *replay) take(a action) {
	r.record(a)
	o, moved := r.m.apply(&r.current, a, &r.next)
	r.addViolations(r.m.violations...)
	if r.stopped = o.violation != nil; moved {
		r.current, r.next = r.next, r.current
	}
}

// finish checks what is checked in the last state.
func (r *replay) finish() {
	if !r.stopped && r.isRequested(algo.Agreement) && !r.leadsToAgreement(&r.current) {
		r.addViolations(algosim.Violation{Property: algo.Agreement, What: "no further fault occurs, and the running nodes do not come to follow one leader"})
	}
}

func (r *replay) addViolations(found ...algosim.Violation) {
	for _, v := range found {
		if r.isRequested(v.Property) {
			r.violations = append(r.violations, Violation{Property: v.Property, What: v.What, Steps: slices.Clip(r.steps)})
		}
	}
}

// violationOf returns the first violation of a property, or nil.
func (r *replay) violationOf(p algo.Property) *Violation {
	if i := slices.IndexFunc(r.violations, func(v Violation) bool { return v.Property == p }); i >= 0 {
		return &r.violations[i]
	}
	return nil
}

// violation returns the violation to which the actions lead.
func (e *search) violation(p algo.Property, actions []action) Violation {
	r, possible := e.replayActions(actions)
	v := r.violationOf(p)
	if !possible || v == nil {
		panic(fmt.Sprintf("explore: steps that violated %s do not violate it in the replay", p))
	}
	r.printf("%v", scenario.Violation{Property: string(p), Text: v.What})
	o := e.options
	o.Properties = []algo.Property{p}
	v.Scenario, v.Trace = head(&o)+r.text.String(), r.events
	return *v
}

// wayTo returns the run of the actions, which lead to the goal.
func (e *search) wayTo(actions []action) Violation {
	r, possible := e.replayActions(actions)
	if !possible {
		panic("explore: steps that reached the goal are not possible in the replay")
	}
	fmt.Fprintln(&r.text, e.options.Goal)
	return Violation{What: e.options.Goal, Steps: r.steps, Trace: r.events, Scenario: head(&e.options) + r.text.String()}
}

// record adds an action and its effects.
func (r *replay) record(a action) {
	l := &r.m.nodes[r.current.nodes[a.node]]
	r.taken, r.steps = append(r.taken, a), append(r.steps, strings.Join(r.m.actionWords(&r.current, a), " "))
	r.output = nil
	fmt.Fprintln(&r.text, r.steps[len(r.taken)-1])
	at := time.Duration(len(r.taken))
	event := r.m.traceEvent(&r.current, a)
	event.At = at
	if event.Kind == trace.Restart {
		r.printf("had saved epoch %d", l.saved.Epoch)
	}
	r.events = append(r.events, event)
	if a.kind == crashes || a.kind == drops {
		return
	}
	_, effects, violation := r.m.step(l, r.m.event(l, a.kind, a.argument))
	if violation != nil {
		r.printf("violates the contract: %s", violation.What)
		return
	}
	r.recordEffects(at, event.Node, effects)
}

// traceEvent returns the trace event for an action in state s, without time.
func (m *model) traceEvent(s *state, a action) trace.Event {
	l := &m.nodes[s.nodes[a.node]]
	event := algosim.NewTraceEvent(m.event(l, a.kind, a.argument))
	event.Node, event.Epoch = m.ids[a.node], l.saved.Epoch
	switch {
	case a.kind == crashes:
		event.Kind = trace.Crash
	case a.kind == drops:
		event.Kind = trace.Drop
	case a.kind == starts && l.phase == down:
		event.Kind = trace.Restart
	case a.isFalse:
		event.Format = "wrongly"
	}
	return event
}

// recordEffects adds the effects of a step, in the order in which they are performed.
func (r *replay) recordEffects(at time.Duration, node algo.NodeID, effects *driver.Effects) {
	add := func(heading string, e trace.Event) {
		e.At, e.Node = at, node
		r.events = append(r.events, e)
		r.printf("%s%s", heading, algosim.DescribeEvent(e))
	}
	for _, note := range effects.Notes {
		add("note: ", trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args})
	}
	if effects.Save {
		add("", trace.Event{Kind: trace.Save, Epoch: effects.HardState.Epoch})
	}
	for _, e := range effects.Sends {
		add("", trace.Event{Kind: trace.Send, Peer: e.To, Message: e.Message})
	}
	for _, l := range effects.Announce {
		add("", trace.Event{Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
	}
}

func (r *replay) printf(format string, args ...any) {
	line := algosim.Sprintf(format, args...)
	r.output = append(r.output, line)
	fmt.Fprintln(&r.text, scenario.Output(line))
}
