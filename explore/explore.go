package explore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Network states what may happen to a message. In both networks, messages take any time and may
// overtake others, and equal messages between the same nodes count as one.
type Network uint8

const (
	// Lossy: a message arrives at any time, any number of times, or never.
	Lossy Network = iota
	// Once: a message arrives exactly once, at any time. Crashes between the sends of one step are
	// not explored.
	Once
)

// Options state what to explore.
type Options struct {
	Spec algo.Spec
	// Nodes is the number of nodes n1, n2, …, all of equal priority. If it is zero, they are the
	// members of View, with the IDs NodeID(1), NodeID(2), ….
	Nodes int
	View  algo.View

	Network Network
	// StartAgreed starts the search where all nodes have started and agree. Otherwise no node has
	// started yet.
	StartAgreed bool

	// The budgets of one run:
	Crashes         int // of any nodes; each node may restart as often as it has crashed
	FalseSuspicions int // suspicions of live peers
	Campaigns       int // elections started on request
	// Epochs is the highest epoch that may be saved: steps that save a higher one are left out.
	// Zero is no bound. Then the search does not end if the algorithm can hold elections forever.
	Epochs algo.Epoch
	// PeriodicSends limits the timer events per run that send only periodic messages, see
	// [algo.Periodic]. Further ones are left out. Zero is no limit. A limit is needed if the periodic
	// messages are counted, see [HasCountedPeriodic].
	PeriodicSends int

	// Properties must hold. The default is [Claimed]. algo.Contract must always hold: list it alone
	// to check nothing else.
	Properties []algo.Property
	// Goal, if set, is an assertion of a scenario, such as "leader n1" or "follows n2 none". A search ends in the first
	// state in which it holds: see Report.Reached.
	Goal   string
	Limits Limits
	// Progress, if set, is called about once a second and at the end, from the goroutine of Run or
	// Walk.
	Progress func(Progress)
	// Found, if set, is called with each violation when it is found, from the goroutine of Run or Walk.
	Found func(Violation)
}

// Limits stop a search early. Zero is no limit.
type Limits struct {
	States int   // of visited states
	Memory int64 // in bytes, estimated; the process may use twice as much
	Time   time.Duration
}

// Progress is the progress of a search. For random walks, Generated is the number of steps, and
// States and Depth are zero.
type Progress struct {
	States    int // distinct states, including the first
	Generated int // transitions to another state, plus one for the first state
	// Depth is the number of states on the longest of all shortest paths, as in TLC.
	Depth   int
	Waiting int // visited states with unknown successors
	Bytes   int64
	Elapsed time.Duration
}

// Report is the result of a search or of random walks, which are never Complete.
type Report struct {
	Progress
	// Complete: every state within the budgets and bounds was visited.
	Complete bool
	// Cut is the reason why the search stopped early, or empty.
	Cut string
	// LeftOut is the number of steps left out because of Epochs and PeriodicSends.
	LeftOut int
	// Walks is the number of random walks.
	Walks int
	// WithLeader is the number of states, or of walks, in which a node considers itself leader.
	WithLeader           int
	TransitionsPerSecond float64 // Generated divided by Elapsed
	Violations           []Violation
	// Reached is a shortest way to the goal, as a Violation without a property. It is nil if the goal was not reached.
	Reached *Violation
}

// Violation is a property that does not hold. A report has at most one per property.
type Violation struct {
	Property algo.Property
	What     string // the event, in words
	// Steps lead from the start to the violation, each as a line of a scenario: "crash n3". If Run
	// found them, no shorter sequence does.
	Steps []string
	// Trace has the same steps with all effects and notes. At is the number of the step. If the
	// search started agreed, each node announces its leader at 0.
	Trace []trace.Event
	// Scenario repeats the steps. The options precede them, and the effects follow each step: see
	// [Scenario].
	Scenario string
}

// AllViolated is Report.Cut if every requested property is violated.
const AllViolated = "every requested property is violated"

// GoalReached is Report.Cut if a state with the goal is reached.
const GoalReached = "the goal is reached"

// ErrNoLeader means that no visited state had a leader, so the search proves nothing.
var ErrNoLeader = errors.New("explore: no state had a leader, so the search proves nothing")

// ErrOptions is wrapped by errors about invalid options.
var ErrOptions = errors.New("explore: bad options")

// NodeID returns the ID of node i, counted from 1.
func NodeID(i int) algo.NodeID { return algosim.ID(i) }

// NewView returns the view that Options.Nodes describes.
func NewView(nodes int) algo.View { return algosim.View(nodes) }

// Run visits every state. With ErrNoLeader it also returns a report. A search that limits or ctx
// stop early returns no error: see Report.Cut.
func Run(ctx context.Context, o Options) (report Report, err error) {
	defer catchUnreadable(&err)
	e, err := newSearch(o)
	if err != nil {
		return Report{}, err
	}
	e.run(ctx)
	return e.finish()
}

// UnreadableError means that a fingerprint cannot cover a field of the algorithm's state.
type UnreadableError struct {
	Type reflect.Type // of the field
	Path string       // from the outermost type to the field
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("explore: %s is of the type %v, which no fingerprint can cover", e.Path, e.Type)
}

func catchUnreadable(err *error) {
	switch cause := recover().(type) {
	case nil:
	case *algosim.UnreadableError:
		*err = &UnreadableError{Type: cause.Type, Path: cause.Path}
	default:
		panic(cause)
	}
}

// maxBudget is the maximum of each budget and of PeriodicSends.
const maxBudget = 255

// check returns an error that contains all problems of the options.
func (o *Options) check() error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...)))
	}
	if o.Spec.New == nil {
		bad("the spec has no New")
	}
	if size := o.View.Len(); size < 1 || size > MaxNodes {
		bad("nodes (%d) must be between 1 and %d", size, MaxNodes)
	}
	for i := range o.View.Len() {
		if id := o.View.At(i).ID; id != NodeID(i+1) {
			bad("node %s of the view must be %s, which scenarios can name", id, NodeID(i+1))
		}
	}
	for _, budget := range []struct {
		name  string
		value int
	}{{"crashes", o.Crashes}, {"false suspicions", o.FalseSuspicions}, {"campaigns", o.Campaigns}, {"periodic sends", o.PeriodicSends}} {
		if budget.value < 0 || budget.value > maxBudget {
			bad("%s (%d) must be between 0 and %d", budget.name, budget.value, maxBudget)
		}
	}
	for _, p := range o.Properties {
		if p != algo.Contract && !slices.Contains(All(), p) {
			bad("property %q is unknown, want one of %v", p, All())
		}
	}
	if o.Network > Once {
		bad("network (%d) is unknown", o.Network)
	}
	if o.Goal != "" {
		if goal, err := scenario.Assertion(scenario.Choice, o.Goal); err != nil {
			bad("goal %q: %v", o.Goal, err)
		} else if i := slices.IndexFunc(goal.Args, func(a scenario.Arg) bool { return a.Node > o.View.Len() }); i >= 0 {
			bad("goal %q: there is no %s", o.Goal, goal.Args[i].Text)
		}
	}
	return errors.Join(problems...)
}

// search is one exploration.
type search struct {
	m            *model
	options      Options
	fairRuns     map[algosim.Fingerprint]bool // whether the fair run of these nodes ends in agreement
	visited      visited
	start        state
	report       Report
	startTime    time.Time
	lastProgress time.Time
	resumed      bool           // start is the state after the steps of a scenario
	goal         *scenario.Line // may be nil
}

// newSearch returns a search in its start state. It panics with a [*algosim.UnreadableError].
func newSearch(o Options) (*search, error) {
	if o.Nodes > 0 && o.Nodes <= MaxNodes {
		o.View = NewView(o.Nodes)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Properties == nil {
		o.Properties = Claimed(o.Spec.Claims)
	}
	e := &search{options: o, fairRuns: map[algosim.Fingerprint]bool{}, visited: newVisited(), startTime: time.Now()}
	e.lastProgress = e.startTime
	e.m = newModel(&e.options)
	var err error
	if o.Goal != "" {
		if e.goal, err = scenario.Assertion(scenario.Choice, o.Goal); err != nil {
			return nil, err // unreachable: check has parsed it
		}
	}
	e.start, err = e.startState()
	return e, err
}

// startState returns the state in which the search starts.
func (e *search) startState() (state, error) {
	s := e.m.initialState()
	if !e.options.StartAgreed {
		return s, nil
	}
	r := newFairRun(e.m, s.nodes, nil)
	for i := range e.m.ids {
		if !r.apply(action{kind: starts, node: uint8(i)}) {
			return s, fmt.Errorf("%w: the algorithm violates its contract before the nodes agree", ErrOptions)
		}
	}
	if !r.run() {
		return s, fmt.Errorf("%w: the nodes do not come to agree", ErrOptions)
	}
	// The search needs the history of the fair run: the nodes that have led.
	for _, a := range r.taken {
		o := e.m.outcome(s.nodes[a.node], a.kind, a.argument)
		e.m.setNode(&s, int(a.node), o.node)
		for _, l := range o.announces {
			e.m.setHistory(&s, e.m.announce(s.history, int(a.node), l).history)
		}
	}
	return s, nil
}

func (e *search) run(ctx context.Context) {
	waiting := &queue{nodes: len(e.m.ids)}
	e.report.Generated, e.report.Depth = 1, 1
	index, _ := e.visited.add(e.start.fingerprint, noParent, 0)
	e.checkState(&e.start, index)
	if e.report.Reached != nil {
		e.report.Cut = GoalReached
		return
	}
	waiting.push(&e.start, index)
	var s, next state
	var actions []action
	for taken := 0; ; e.report.Depth++ {
		for level := waiting.count; level > 0; level-- {
			if taken++; taken&255 == 1 && e.reachedLimit(ctx, waiting.count, waiting.bytes()) {
				return
			}
			index = waiting.pop(&s)
			s.fingerprint = e.visited.states[index].fingerprint
			actions = e.m.actions(&s, actions[:0])
			for k, a := range actions {
				e.takeAction(&s, index, k, a, &next, waiting)
			}
			switch {
			case e.report.Reached != nil:
				e.report.Cut = GoalReached
				return
			case e.allViolated():
				e.report.Cut = AllViolated
				return
			}
		}
		if waiting.count == 0 {
			break
		}
	}
	e.report.Complete, e.report.Waiting = true, 0
}

// takeAction takes action k of state s. If it leads to a new state, that state joins the queue.
func (e *search) takeAction(s *state, index uint32, k int, a action, next *state, waiting *queue) {
	o, moved := e.m.apply(s, a, next)
	for _, v := range e.m.violations {
		if e.isSought(v.Property) {
			e.addViolation(v.Property, e.actionsTo(index, k))
		}
	}
	switch {
	case moved:
		e.report.Generated++
		if reached, fresh := e.visited.add(next.fingerprint, index, k); fresh {
			e.checkState(next, reached)
			waiting.push(next, reached)
		}
	case o.violation == nil && e.m.exceedsBound(s, o):
		e.report.LeftOut++
	}
}

// checkState checks a state that is reached for the first time.
func (e *search) checkState(s *state, index uint32) {
	if e.m.hasLeader(s) {
		e.report.WithLeader++
	}
	if e.isSought(algo.Agreement) && !e.leadsToAgreement(s) {
		e.addViolation(algo.Agreement, e.actionsTo(index))
	}
	if e.goal != nil && e.report.Reached == nil && scenario.Holds(e.goal, e.m.opinions(s)) {
		reached := e.wayTo(e.actionsTo(index))
		e.report.Reached = &reached
	}
}

// addViolation adds a violation to the report.
func (e *search) addViolation(p algo.Property, taken []action) {
	v := e.violation(p, taken)
	e.report.Violations = append(e.report.Violations, v)
	if e.options.Found != nil {
		e.options.Found(v)
	}
}

func (e *search) isRequested(p algo.Property) bool {
	return p == algo.Contract || slices.Contains(e.options.Properties, p)
}

// isSought reports whether p is requested and no violation of it is known yet.
func (e *search) isSought(p algo.Property) bool {
	return e.isRequested(p) && !slices.ContainsFunc(e.report.Violations, func(v Violation) bool { return v.Property == p })
}

// allViolated reports whether every requested property is violated.
func (e *search) allViolated() bool {
	all := e.options.Properties
	return len(all) > 0 && len(e.report.Violations) >= len(all) && !slices.ContainsFunc(all, e.isSought)
}

// actionsTo returns the actions that lead to a state, followed by the actions numbered more.
func (e *search) actionsTo(to uint32, more ...int) (taken []action) {
	path := e.visited.path(to)
	for _, k := range more {
		path = append(path, uint16(k))
	}
	s, next := e.start, state{}
	s.network = slices.Clone(s.network)
	for _, k := range path {
		a := e.m.actions(&s, nil)[k]
		taken = append(taken, a)
		e.m.apply(&s, a, &next)
		s, next = next, s
	}
	return taken
}

// reachedLimit updates the progress, and reports whether a limit or ctx stops the search.
func (e *search) reachedLimit(ctx context.Context, waiting int, queued int64) bool {
	limits, now, p := e.options.Limits, time.Now(), &e.report.Progress
	p.States, p.Waiting, p.Elapsed = len(e.visited.states), waiting, now.Sub(e.startTime)
	p.Bytes = int64(len(e.visited.states))*70 + e.m.bytes() + queued + int64(len(e.fairRuns))*48
	switch {
	case ctx.Err() != nil:
		e.report.Cut = context.Cause(ctx).Error()
	case limits.States > 0 && p.States >= limits.States:
		e.report.Cut = fmt.Sprintf("the limit of %d states", limits.States)
	case limits.Memory > 0 && p.Bytes >= limits.Memory:
		e.report.Cut = fmt.Sprintf("the limit of %d MiB of memory", limits.Memory>>20)
	case limits.Time > 0 && p.Elapsed >= limits.Time:
		e.report.Cut = fmt.Sprintf("the limit of %v", limits.Time)
	}
	if e.options.Progress != nil && now.Sub(e.lastProgress) >= time.Second {
		e.lastProgress = now
		e.options.Progress(*p)
	}
	return e.report.Cut != ""
}

func (e *search) finish() (Report, error) {
	r := &e.report
	r.States = len(e.visited.states)
	r.Elapsed = time.Since(e.startTime)
	if r.Elapsed > 0 {
		r.TransitionsPerSecond = float64(r.Generated) / r.Elapsed.Seconds()
	}
	if e.options.Progress != nil {
		e.options.Progress(r.Progress)
	}
	if r.WithLeader == 0 && len(r.Violations) == 0 && r.Reached == nil {
		return *r, ErrNoLeader
	}
	return *r, nil
}
