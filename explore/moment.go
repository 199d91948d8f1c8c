package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// Moment is the state of a cluster between two steps of a replay: see Scenario.Observe. It is valid during the call.
type Moment struct {
	Step int // number of steps so far
	// Events are those of the last step. In the start state, they are the announcements of nodes that agree.
	Events []trace.Event

	replay *replay
}

// Node is the state of a node at a [Moment].
type Node struct {
	Algorithm algo.Algorithm // nil if the node does not run; it must not be changed
	Leader    algo.Leader    // as announced by the running node
	Saved     algo.HardState
	Timers    []algo.Timer // the armed timers, sorted
}

// Nodes returns the state of each node.
func (m Moment) Nodes() []Node {
	r := m.replay
	all := make([]Node, len(r.m.ids))
	for i := range all {
		l := &r.m.nodes[r.current.nodes[i]]
		all[i] = Node{Leader: l.leader, Saved: l.saved, Timers: slices.Sorted(maps.Keys(l.timers.remaining))}
		if l.phase == up {
			all[i].Algorithm = l.machine.Algorithm()
		}
	}
	return all
}

// Next is a step that is possible at a [Moment].
type Next struct {
	Line    string      // of a scenario
	Event   trace.Event // without time
	Changes bool        // it leads to another state, or violates the contract
}

// Next returns the steps that are possible, in a fixed order. It is empty after a violation of the contract.
func (m Moment) Next() (all []Next) {
	r := m.replay
	if r.stopped {
		return nil
	}
	var after state
	for _, a := range append(r.m.actions(&r.current, nil), r.m.losses(&r.current)...) {
		o, moved := r.m.apply(&r.current, a, &after)
		all = append(all, Next{
			Line: strings.Join(r.m.actionWords(&r.current, a), " "), Event: r.m.traceEvent(&r.current, a), Changes: moved || o.violation != nil,
		})
	}
	return all
}

// Search visits the states that are reachable from the end of the scenario. Its assertions must hold. Of o, the
// properties, goal, budgets, bounds and limits count; the budgets are for the steps after the scenario. The rest is
// that of the scenario. A violation has the steps that follow the scenario, and its Scenario has all steps, without
// output.
func (s *Scenario) Search(ctx context.Context, o Options) (report Report, err error) {
	defer catchUnreadable(&err)
	o.Spec, o.View, o.Nodes, o.Network, o.StartAgreed = s.Options.Spec, s.Options.View, 0, s.Options.Network, s.Options.StartAgreed
	e, err := newSearch(o)
	if err != nil {
		return Report{}, err
	}
	if err := e.resume(s); err != nil {
		return Report{}, err
	}
	e.run(ctx)
	report, err = e.finish()
	text := func(v *Violation) string {
		return head(&o) + strings.Join(slices.Concat(s.Steps, v.Steps), "\n") + "\n"
	}
	if v := report.Reached; v != nil {
		v.Scenario = text(v) + o.Goal + "\n"
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		o.Properties = []algo.Property{v.Property}
		v.Scenario = text(v)
	}
	return report, err
}

// resume moves the start of the search to the end of a scenario.
func (e *search) resume(s *Scenario) error {
	bounds := e.options
	o := &e.options
	o.Crashes, o.FalseSuspicions, o.Campaigns, o.Epochs, o.PeriodicSends = maxBudget, maxBudget, maxBudget, 0, 0
	x := executor{replay: e.newReplay(), remaining: -1, transcript: s.file.Transcript(nil, false)}
	x.transcript.Declares = true
	err := s.file.Run(&x, x.transcript)
	*o = bounds
	if err != nil {
		return err
	}
	if x.stopped {
		return fmt.Errorf("%w: the scenario violates the contract of the algorithm", ErrOptions)
	}
	e.start, e.resumed = x.current, true
	for b, spent := range e.start.spent {
		for range spent {
			e.start.fingerprint = e.start.fingerprint.Minus(unit[b])
		}
		e.start.spent[b] = 0
	}
	return nil
}
