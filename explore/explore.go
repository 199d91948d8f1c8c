// Package explore visits every reachable state of a small cluster.
//
// The cluster is one of [algo.Machine]s, not of whole nodes: there are no heartbeats
// and no connections. From the state in which nobody has started, [Run] goes breadth
// first through whatever can happen next: a node starts, takes a message, sees a timer
// expire, is told by its detector of a peer, rightly or wrongly, or crashes. A property
// that is broken is so shown by a shortest trace, and kept as a [Scenario]. [Walk] goes at
// random where there are too many states to visit.
//
// # What can happen
//
//   - Messages arrive in any order, after any time, once, often or never (see
//     [Network]). A message may arrive after its sender, or its receiver, has crashed
//     and started again.
//   - Timers expire in any order that their ranges allow, for processes that may be
//     held up anywhere: at one node what is due first comes first; between nodes
//     nothing is known. A timer that expires may be a timeout that was too short.
//   - A node crashes at any moment, within a budget, and starts again from what it
//     saved. A crash between the save of a step and its sends, or in the middle of them, is
//     among it: it is a crash after the step, with messages that never arrive.
//   - The detector tells who watches of a peer that does not run, or did not at some time
//     while it was watched; it tells of others wrongly, within a budget; and it takes back
//     what is no longer so. All that after any time, or never.
//
// Members do not change. Time is an order and no more: how long something takes is a
// matter for a simulation.
//
// # What is kept
//
// Of a state visited only a fingerprint of 128 bits, which covers every field of every
// algorithm's state, what is saved, armed, watched, suspected and on its way, and what
// has been used of the budgets. Of the past it covers what the properties asked for need:
// so the counts depend on these.
//
// What one step makes of one node depends on that node alone, and is computed once. A
// state of the cluster is a handful of numbers, and most transitions are look-ups.
//
// # What eventual agreement means here
//
// From every state reached, one continuation is run in which all goes well: nobody
// crashes, detectors are right, messages arrive at once, timers expire when due. What was on
// its way is lost before, if the network loses. Nobody starts, unless those who run are too
// few to elect. If it ends with all who run following one of them, the highest where the
// algorithm claims that, the state is good. That is decided for every state visited, also in
// a search that was cut, and the continuation may go beyond the bound of epochs. That a state
// is found bad does not prove that no other continuation is good; but one that is perfect and
// does not end in agreement is a finding in any case.
package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/trace"
)

// Network says what may happen to a message on its way. In both it may overtake others
// and be as late as it likes, and two of the same content between the same nodes count as
// one.
type Network uint8

const (
	// Lossy: a message sent arrives at any time afterwards, any number of times, or never.
	Lossy Network = iota
	// Once: a message sent arrives once, if late. A crash in the middle of what a step sends
	// is not explored here.
	Once
)

// Options say what to explore.
type Options struct {
	Spec algo.Spec
	// Nodes is how many there are, of equal priority, n1, n2, … in the order of candidates.
	// Zero: those of View, n1, n2, … in the order of their IDs.
	Nodes int
	View  algo.View

	Network Network
	// Settled begins where all have started and agree, instead of where nobody has
	// started.
	Settled bool

	// The budgets of a whole run.
	Crashes   int // of any nodes; each may start again, as often as it crashed
	Mistakes  int // times that a detector suspects who is alive
	Campaigns int // calls for an election
	// Epochs is the highest epoch that may be saved: a step that saves a higher one
	// is left out. Zero is no bound, and no search of an algorithm that can go on electing
	// ends without one.
	Epochs algo.Epoch
	// Repeats bounds how often in a run a timer leads to nothing but repeats, see
	// [algo.Repeat]: one more is left out. Zero is no bound. It is needed where repeats are
	// numbered, see [MayNumberRepeats].
	Repeats int

	// Properties are what must hold; nil is what the algorithm claims, see [Claimed].
	Properties []algo.Property
	Limits     Limits
	// Progress, if set, is called about once a second and at the end, from the goroutine of
	// Run or Walk.
	Progress func(Progress)
}

// Limits cut a search short. Zero is no limit.
type Limits struct {
	States int   // visited
	Memory int64 // bytes, as estimated from what is held; the process may take twice that
	Time   time.Duration
}

// Progress is how far a search is. Of walks, Generated counts the steps, and there are
// no States and no Depth.
type Progress struct {
	States    int // distinct ones reached, the first included
	Generated int // transitions that lead to another state, and the first state
	// Depth is the number of states on the longest of all shortest ways, as TLC counts.
	Depth   int
	Waiting int // states visited whose successors are not known yet
	Bytes   int64
	Elapsed time.Duration
}

// Report is what a search has found, or walks at random, which are never Complete.
type Report struct {
	Progress
	// Complete: every state within the budgets and bounds was visited.
	Complete bool
	// Cut says what cut the search short; empty if it is complete.
	Cut string
	// LeftOut counts the steps left out for the bounds of Epochs and Repeats.
	LeftOut int
	// StatesWithLeader counts those in which somebody leads, as it sees it.
	StatesWithLeader int
	// Walks counts those at random, and WalksWithLeader those in which somebody led, as it
	// saw it.
	Walks, WalksWithLeader int
	// NodeStates and Messages count the distinct ones that states are made of, and the
	// continuations in which agreement was looked for.
	NodeStates, Messages int

	TransitionsPerSecond float64 // Generated by Elapsed
	Violations           []Violation
}

// Violation is a property that is broken, at most one for each.
type Violation struct {
	Property algo.Property
	What     string // who did what
	// Steps lead there from the beginning, each as a line of a scenario: "crash n3". No fewer
	// do, if Run found them.
	Steps []string
	// Trace is the same with all effects and notes. At counts the steps; at 0 all announce
	// whom they follow, where the search began settled.
	Trace []trace.Event
	// Scenario is the steps, a line each, after what is needed to repeat them, and below
	// each what comes of it: see [Scenario].
	Scenario string
}

// AllBroken is what cut a search short that found every property broken that it was asked
// for.
const AllBroken = "every property asked for is broken"

// ErrNoLeader says that a search has seen nobody lead: what it found proves nothing.
var ErrNoLeader = errors.New("explore: no state had a leader, so that nothing was tried")

// ErrOptions is wrapped by what is said of options that cannot be.
var ErrOptions = errors.New("explore: bad options")

// NodeID returns the id of node i, counted from 1, where Options.Nodes is set.
func NodeID(i int) algo.NodeID { return host.ID(i) }

// NewView is the view of so many nodes, as Options.Nodes describes them.
func NewView(nodes int) algo.View { return host.View(nodes) }

// Run visits every state. A report comes with ErrNoLeader too; a search cut short by
// its limits or by ctx has no error, but says so in the report.
func Run(ctx context.Context, o Options) (report Report, err error) {
	defer catchUnreadable(&err)
	e, err := begin(o)
	if err != nil {
		return Report{}, err
	}
	e.run(ctx)
	return e.finish()
}

// UnreadableError says that no fingerprint can cover a field of an algorithm's state.
type UnreadableError host.UnreadableError

func (e *UnreadableError) Error() string { return "explore: " + (*host.UnreadableError)(e).Error() }

func catchUnreadable(err *error) {
	switch cause := recover().(type) {
	case nil:
	case *host.UnreadableError:
		*err = (*UnreadableError)(cause)
	default:
		panic(cause)
	}
}

// mostBudget is the largest of a budget and of Repeats.
const mostBudget = 255

// check says every mistake in the options at once.
func (o *Options) check() error {
	var wrong []error
	bad := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...)))
	}
	if o.Spec.New == nil {
		bad("a spec that can be run is needed")
	}
	if size := o.View.Len(); size < 1 || size > MaxNodes {
		bad("nodes (%d) must be between 1 and %d", size, MaxNodes)
	}
	for _, budget := range []struct {
		name  string
		value int
	}{{"crashes", o.Crashes}, {"mistakes", o.Mistakes}, {"campaigns", o.Campaigns}, {"repeats", o.Repeats}} {
		if budget.value < 0 || budget.value > mostBudget {
			bad("%s (%d) must be between 0 and %d", budget.name, budget.value, mostBudget)
		}
	}
	for _, p := range o.Properties {
		if !slices.Contains(All(), p) {
			bad("property %q is unknown; there are %v", p, All())
		}
	}
	if o.Network > Once {
		bad("network (%d) is unknown", o.Network)
	}
	return errors.Join(wrong...)
}

// search is one exploration.
type search struct {
	m          *model
	options    Options
	properties []algo.Property
	calms      map[host.Fingerprint]bool // of nodes: whether they come to agree
	visited    *visited
	start      state
	report     Report
	began      time.Time
	shown      time.Time
}

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
	e := &search{options: o, properties: o.Properties, calms: map[host.Fingerprint]bool{}, visited: newVisited(), began: time.Now()}
	e.shown = e.began
	e.m = &model{space: newSpace(&e.options.Spec, o.View, o.Properties), options: &e.options}
	return e, nil
}

// begin returns a search that stands at its beginning. It panics with a
// [*host.UnreadableError].
func begin(o Options) (*search, error) {
	e, err := newSearch(o)
	if err == nil {
		e.start, err = e.first()
	}
	return e, err
}

// first returns the state in which the search begins.
func (e *search) first() (state, error) {
	s := e.m.initial()
	if !e.options.Settled {
		return s, nil
	}
	c := newCalm(e.m, s.locals, nil)
	for i := range e.m.ids {
		if !c.take(action{what: starts, node: uint8(i)}) {
			return s, fmt.Errorf("%w: the algorithm breaks its contract before it settles", ErrOptions)
		}
	}
	if !c.run() {
		return s, fmt.Errorf("%w: the algorithm does not settle", ErrOptions)
	}
	// Only the past is still wanted of the way there: who has led.
	for _, a := range c.taken {
		o := e.m.outcome(s.locals[a.node], a.what, a.argument)
		e.m.become(&s, int(a.node), o.local)
		for _, l := range o.announces {
			e.m.remember(&s, e.m.announce(s.history, int(a.node), l).history)
		}
	}
	return s, nil
}

func (e *search) run(ctx context.Context) {
	waiting := newQueue(len(e.m.ids))
	e.report.Generated, e.report.Depth = 1, 1
	index, _ := e.visited.add(e.start.print, noParent, 0)
	e.visit(&e.start, index)
	waiting.push(&e.start, index)
	var s, next state
	var actions []action
	for taken := 0; ; e.report.Depth++ {
		for level := waiting.count; level > 0; level-- {
			if taken++; taken&255 == 1 && e.enough(ctx, waiting.count, waiting.bytes()) {
				return
			}
			index = waiting.pop(&s)
			s.print = e.visited.print(index)
			actions = e.m.actions(&s, actions[:0])
			for k, a := range actions {
				e.try(&s, index, k, a, &next, waiting)
			}
			if e.refuted() {
				e.report.Cut = AllBroken
				return
			}
		}
		if waiting.count == 0 {
			break
		}
	}
	e.report.Complete = true
}

// try takes the k-th action of a state.
func (e *search) try(s *state, index uint32, k int, a action, next *state, waiting *queue) {
	o, moved := e.m.apply(s, a, next)
	for _, broken := range e.m.breach {
		e.violate(broken, index, k)
	}
	switch {
	case moved:
		e.report.Generated++
		if reached, fresh := e.visited.add(next.print, index, k); fresh {
			e.visit(next, reached)
			waiting.push(next, reached)
		}
	case o.broken == nil && e.m.over(s, o):
		e.report.LeftOut++
	}
}

// visit looks at a state that was reached for the first time.
func (e *search) visit(s *state, index uint32) {
	if e.m.led(s) {
		e.report.StatesWithLeader++
	}
	if e.asked(algo.Agreement) && !e.violated(algo.Agreement) && !e.agrees(s) {
		e.record(disagreement(), e.visited.path(index))
	}
}

func disagreement() host.Breach {
	return host.Breach{Property: algo.Agreement, What: "nothing is wrong from here on, and still those who run do not come to follow one leader"}
}

func (e *search) asked(p algo.Property) bool {
	return p == algo.Contract || slices.Contains(e.properties, p)
}

func (e *search) violated(p algo.Property) bool {
	return slices.ContainsFunc(e.report.Violations, func(v Violation) bool { return v.Property == p })
}

// refuted reports whether there is nothing left to look for.
func (e *search) refuted() bool {
	if len(e.properties) == 0 || len(e.report.Violations) < len(e.properties) {
		return false
	}
	return !slices.ContainsFunc(e.properties, func(p algo.Property) bool { return !e.violated(p) })
}

// violate records what the k-th action in a state breaks.
func (e *search) violate(b host.Breach, from uint32, k int) {
	if e.asked(b.Property) && !e.violated(b.Property) {
		e.record(b, append(e.visited.path(from), uint16(k)))
	}
}

// record finds the steps that were taken again, and tells them.
func (e *search) record(b host.Breach, path []uint16) {
	s, next := e.start, state{}
	s.network = slices.Clone(s.network)
	var taken []action
	for _, k := range path {
		a := e.m.actions(&s, nil)[k]
		taken = append(taken, a)
		e.m.apply(&s, a, &next)
		s, next = next, s
	}
	e.report.Violations = append(e.report.Violations, e.violation(b.Property, taken))
}

// enough reports whether the search is to end here, and shows how far it is.
func (e *search) enough(ctx context.Context, waiting int, queued int64) bool {
	limits, now, p := e.options.Limits, time.Now(), &e.report.Progress
	p.States, p.Waiting, p.Elapsed = e.visited.count, waiting, now.Sub(e.began)
	p.Bytes = e.visited.bytes() + e.m.bytes() + queued + int64(len(e.calms))*48
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
	if e.options.Progress != nil && now.Sub(e.shown) >= time.Second {
		e.shown = now
		e.options.Progress(*p)
	}
	return e.report.Cut != ""
}

func (e *search) finish() (Report, error) {
	r := &e.report
	r.States, r.NodeStates, r.Messages = e.visited.count, len(e.m.locals), len(e.m.messages)
	r.Elapsed = time.Since(e.began)
	if r.Elapsed > 0 {
		r.TransitionsPerSecond = float64(r.Generated) / r.Elapsed.Seconds()
	}
	if r.Complete {
		r.Waiting = 0
	}
	if e.options.Progress != nil {
		e.options.Progress(r.Progress)
	}
	if r.StatesWithLeader+r.WalksWithLeader == 0 && len(r.Violations) == 0 {
		return *r, ErrNoLeader
	}
	return *r, nil
}
