package lab

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// collector turns the events of a run into steps and messages.
type collector struct {
	from  time.Duration
	all   bool
	stop  context.CancelCauseFunc
	limit error // the limit that the run has exceeded, or nil

	spec     algo.Spec
	kinds    map[string]bool // of the messages of the algorithm
	running  map[algo.NodeID]algo.Algorithm
	nodes    []nodeState
	steps    []*step
	messages []*message
	inFlight map[route][]*message
	last     map[route]*message
	open     *step // the last step
	events   int
	hasFirst bool // the states at From are noted

	states  []string
	stateOf map[string]int
	size    int // bytes of states

	spans  []Span
	epochs []Epoch
	timers []timer
}

// nodeState is what the collector remembers of a node.
type nodeState struct {
	first int // ID of its state at From
	since time.Duration
	span  string // kind of the current span; empty for none
	epoch uint64
	armed map[algo.Timer]int // index of the timer
}

// timer is a timer with the numbers of events before it was set, and before it ended; none while it runs.
type timer struct {
	Timer
	set, ended int
}

// step is a step with what decides whether it is kept.
type step struct {
	Step
	event   int            // number of events before it
	end     int            // number of events before the next step
	before  algo.Algorithm // copy of the algorithm before it; nil if the node did not run
	message *message
	sent    []*message
	moved   bool // it has an effect beyond periodic messages
}

// message is a message with the steps that it joins.
type message struct {
	Message
	sender, taker *step
}

// route is what messages have in common that cannot be distinguished.
type route struct {
	from, to int
	text     string
}

const none = -1

func newCollector(from time.Duration, all bool, stop context.CancelCauseFunc) *collector {
	return &collector{
		from: from, all: all, stop: stop, kinds: make(map[string]bool), running: make(map[algo.NodeID]algo.Algorithm),
		inFlight: make(map[route][]*message), last: make(map[route]*message), stateOf: make(map[string]int),
	}
}

// observe returns the spec with a New that shows each algorithm to the collector.
func (c *collector) observe(spec algo.Spec) algo.Spec {
	c.know(spec)
	create := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm {
		a := create(self)
		c.running[self] = a
		return a
	}
	return spec
}

// know takes the kinds of messages of an algorithm.
func (c *collector) know(spec algo.Spec) {
	c.spec = spec
	for _, m := range spec.Messages {
		c.kinds[m.Kind()] = true
	}
}

// exceed ends the run because of a limit.
func (c *collector) exceed(format string, args ...any) {
	if c.limit == nil {
		c.limit = fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
		c.stop(c.limit)
	}
}

// begins contains the kinds of events that begin a step.
var begins = map[trace.Kind]bool{
	trace.Start: true, trace.Restart: true, trace.Crash: true, trace.Pause: true, trace.Resume: true,
	trace.Expire: true, trace.Suspect: true, trace.Trust: true, trace.Deliver: true, trace.Drop: true,
}

// event takes the next event.
func (c *collector) event(e trace.Event) {
	c.events++
	node := sim.Number(e.Node) - 1
	if c.limit != nil || node < 0 {
		return
	}
	if c.events > MaxEvents {
		c.exceed("the run has more than %d events: run a shorter time, or fewer nodes", MaxEvents)
		return
	}
	c.grow(node + 1)
	if e.Message != nil && !c.kinds[e.Message.Kind()] {
		return // of the detector or of the membership
	}
	c.take(node, e)
}

// grow notes that there are this many nodes, or more.
func (c *collector) grow(nodes int) {
	for len(c.nodes) < nodes {
		c.nodes = append(c.nodes, nodeState{first: none, span: "down", since: c.from, armed: make(map[algo.Timer]int)})
	}
}

// take takes an event of the algorithm at a node.
func (c *collector) take(node int, e trace.Event) {
	sameMoment := c.open != nil && c.open.Node == node && c.open.At == e.At
	switch {
	case e.Kind == trace.StopTimer:
		c.endTimer(node, e.Timer)
		if sameMoment {
			c.open.Notes = append(c.open.Notes, fmt.Sprintf("timer %s is stopped", e.Timer))
		}
		return
	case sameMoment && e.Kind == trace.Drop && c.open.Kind == trace.Deliver:
		c.open.note("rejected: " + e.Text()) // the algorithm has not started, for example
		return
	case sameMoment && e.Kind == trace.Start && c.open.Kind == trace.Restart:
		return
	case begins[e.Kind], !sameMoment, c.open.Kind == trace.Drop, c.open.Kind == trace.Crash:
		c.begin(node, e)
	default:
		c.addEffect(e)
	}
	c.follow(node, e)
}

// begin ends the open step, and begins the next one.
func (c *collector) begin(node int, e trace.Event) {
	c.endStep(c.events - 1) // the event that begins this step is counted already
	text := e.Words(sim.Name, algo.Message.Kind)
	s := &step{Step: Step{At: e.At, Node: node, Kind: e.Kind, Text: text, Notes: []string{}, Before: none, After: none}, event: c.events - 1}
	c.open = s
	if e.Kind != trace.Drop && e.At >= c.from {
		c.noteFirst()
		s.before = c.cloneOf(node)
	}
	switch e.Kind {
	case trace.Deliver, trace.Drop:
		if from := sim.Number(e.Peer) - 1; from >= 0 && e.Message != nil {
			s.message = c.end(from, node, e)
			s.message.taker = s
		}
	case trace.Send:
		s.Text = "acts"
		c.addEffect(e)
	case trace.SetTimer:
		s.Text = "sets a timer"
		c.addEffect(e)
	}
	s.moved = !slices.Contains([]trace.Kind{trace.Deliver, trace.Drop, trace.Expire, trace.Send, trace.SetTimer, trace.Save}, e.Kind)
	if s.message != nil && !s.message.Repeat {
		s.moved = true
	}
}

// addEffect adds an effect to the open step.
func (c *collector) addEffect(e trace.Event) {
	switch s := c.open; e.Kind {
	case trace.Send:
		to := sim.Number(e.Peer) - 1
		if to < 0 {
			return
		}
		m := c.send(s, to, e)
		s.sent = append(s.sent, m)
		s.moved = s.moved || !m.Repeat
	case trace.SetTimer:
		s.Notes = append(s.Notes, fmt.Sprintf("timer %s: ends %v later", e.Timer, e.Until-e.At))
	case trace.Save:
		s.Notes = append(s.Notes, e.Words(sim.Name, algo.Message.Kind))
	default:
		s.note(e.Words(sim.Name, algo.Message.Kind))
	}
}

// note adds a note of an effect that is always shown.
func (s *step) note(text string) {
	if text != "" {
		s.Notes = append(s.Notes, text)
		s.moved = true
	}
}

// endStep ends the open step after a number of events: the state of its node is now the state after it.
func (c *collector) endStep(end int) {
	s := c.open
	if c.open = nil; s == nil {
		return
	}
	s.end = end
	if s.At < c.from || !c.all && !s.moved {
		return
	}
	s.Before, s.before = c.stateID(s.before), nil
	if s.Kind != trace.Drop {
		s.After = c.stateID(c.cloneOf(s.Node))
	}
	if c.steps = append(c.steps, s); len(c.steps) > MaxSteps {
		c.exceed("the run has more than %d steps: run a shorter time, or draw from a later moment", MaxSteps)
	}
}

// noteFirst notes the state of each node at the first step of the picture.
func (c *collector) noteFirst() {
	if c.hasFirst {
		return
	}
	c.hasFirst = true
	for i := range c.nodes {
		c.nodes[i].first = c.stateID(c.cloneOf(i))
	}
}

// cloneOf returns a copy of the algorithm of a node; nil if the node does not run.
func (c *collector) cloneOf(node int) algo.Algorithm {
	a, ok := c.running[sim.ID(node+1)]
	if !ok || c.nodes[node].span == "down" {
		return nil
	}
	return a.Clone()
}

// stateID returns the ID of the state of an algorithm; none for nil.
func (c *collector) stateID(a algo.Algorithm) int {
	if a == nil {
		return none
	}
	text := stateText(a)
	id, known := c.stateOf[text]
	if !known {
		id = len(c.states)
		c.states = append(c.states, text)
		c.stateOf[text] = id
		if c.size += len(text); c.size > MaxState {
			c.exceed("the states of the nodes have more than %d bytes: run a shorter time, or fewer nodes", MaxState)
		}
	}
	return id
}

// follow updates the span of a node and the epochs.
func (c *collector) follow(node int, e trace.Event) {
	n := &c.nodes[node]
	switch e.Kind {
	case trace.SetTimer:
		c.setTimer(node, e.Timer, e.Until)
	case trace.Expire:
		c.endTimer(node, e.Timer)
	case trace.Crash:
		for name := range n.armed {
			c.endTimer(node, name)
		}
		c.enter(node, "down", 0, e.At)
	case trace.Start, trace.Restart:
		c.enter(node, "", 0, e.At)
	case trace.Pause:
		c.enter(node, "paused", n.epoch, e.At)
	case trace.Resume:
		if n.epoch > 0 {
			c.enter(node, "leads", n.epoch, e.At)
		} else {
			c.enter(node, "", 0, e.At)
		}
	case trace.Announce:
		if e.Leader.ID != e.Node {
			c.enter(node, "", 0, e.At)
			return
		}
		epoch := uint64(e.Leader.Epoch)
		c.enter(node, "leads", epoch, e.At)
		if last := len(c.epochs) - 1; last < 0 || c.epochs[last].Epoch < epoch {
			if last >= 0 {
				c.epochs[last].To = max(e.At, c.from)
			}
			c.epochs = append(c.epochs, Epoch{Epoch: epoch, From: max(e.At, c.from)})
		}
	}
}

// enter ends the current span of a node and begins another one.
func (c *collector) enter(node int, kind string, epoch uint64, at time.Duration) {
	n := &c.nodes[node]
	if n.span == kind && n.epoch == epoch {
		return
	}
	if n.span != "" && at > n.since {
		span := Span{Node: node, Kind: n.span, From: n.since, To: at}
		if n.span == "leads" {
			span.Epoch = n.epoch
		}
		c.spans = append(c.spans, span)
	}
	n.span, n.epoch, n.since = kind, epoch, max(at, c.from)
}

// setTimer notes that a timer runs. Until is none if it has no time.
func (c *collector) setTimer(node int, name algo.Timer, until time.Duration) {
	c.endTimer(node, name)
	c.nodes[node].armed[name] = len(c.timers)
	c.timers = append(c.timers, timer{Timer{Node: node, Name: string(name), Until: until}, c.events - 1, none})
}

// endTimer notes that a timer has ended, was stopped, or is set again.
func (c *collector) endTimer(node int, name algo.Timer) {
	if i, runs := c.nodes[node].armed[name]; runs {
		c.timers[i].ended = c.events - 1
		delete(c.nodes[node].armed, name)
	}
}

// keepTimers adds the timers that run after a step, or before the first one.
func (c *collector) keepTimers(r *Result) {
	before := func(event int) int { // the last step that ended before an event
		return sort.Search(len(c.steps), func(i int) bool { return c.steps[i].end > event }) - 1
	}
	for _, t := range c.timers {
		t.First, t.Last = before(t.set)+1, len(c.steps)-1
		if t.ended != none {
			t.Last = before(t.ended)
		}
		if first := c.firstEvent(); t.set < first && (t.ended == none || t.ended >= first) {
			t.First = none
		}
		if t.First <= t.Last {
			r.Timers = append(r.Timers, t.Timer)
		}
	}
}

// firstEvent returns the number of events before the first step.
func (c *collector) firstEvent() int {
	if len(c.steps) == 0 {
		return c.events
	}
	return c.steps[0].event
}

// messageOf returns a message of an event, and its route.
func messageOf(from, to int, m algo.Message) (*message, route) {
	inner, repeat := algo.Unwrap(m)
	made := &message{Message: Message{Kind: m.Kind(), Fields: fieldsOf(inner), From: from, To: to, Repeat: repeat, Ended: none}}
	return made, route{from, to, fmt.Sprintf("%T%v", inner, inner)}
}

func (c *collector) send(s *step, to int, e trace.Event) *message {
	m, route := messageOf(s.Node, to, e.Message)
	m.Sent, m.sender = e.At, s
	c.inFlight[route] = append(c.inFlight[route], m)
	c.last[route] = m
	c.messages = append(c.messages, m)
	return m
}

// end ends the oldest message of its route. A message that arrives more often than it was sent is a duplicate of the
// last one.
func (c *collector) end(from, to int, e trace.Event) *message {
	m, route := messageOf(from, to, e.Message)
	if waiting := c.inFlight[route]; len(waiting) > 0 {
		m, c.inFlight[route] = waiting[0], waiting[1:]
	} else {
		m.Sent = e.At
		if last := c.last[route]; last != nil {
			m.Sent, m.sender, m.Repeat = last.Sent, last.sender, last.Repeat
		}
		c.messages = append(c.messages, m)
	}
	m.Ended = e.At
	if e.Kind == trace.Drop {
		if m.Lost = e.Text(); m.Lost == "" {
			m.Lost = "lost"
		}
	}
	return m
}

// fieldsOf returns the fields of a message.
func fieldsOf(m algo.Message) []Field {
	all := []Field{}
	if read, ok := m.(trace.ReadMessage); ok {
		return append(all, readFields(read)...)
	}
	v := follow(reflect.ValueOf(m))
	if v.Kind() != reflect.Struct {
		return all
	}
	for f, field := range v.Fields() {
		all = append(all, Field{f.Name, valueText(field, 0)})
	}
	return all
}

// finish returns the result after the end of the run, without properties.
func (c *collector) finish(end time.Duration) *Result {
	c.endStep(c.events)
	c.noteFirst()
	r := &Result{
		Mode: ModeTime, Algorithm: c.spec.Name, From: c.from, End: max(end, c.from), Unit: time.Millisecond, UnitName: "ms",
		Nodes: []Node{}, Steps: []Step{}, Messages: []Message{}, States: append([]string{}, c.states...),
		Spans: []Span{}, Epochs: []Epoch{}, Timers: []Timer{}, Properties: []Property{},
		Choices: []Choice{}, Next: [][]int{},
	}
	for i, n := range c.nodes {
		r.Nodes = append(r.Nodes, Node{Name: sim.Name(sim.ID(i + 1)), State: n.first})
		c.enter(i, "ended", 0, r.End)
	}
	c.number(r)
	for _, span := range c.spans {
		if span.To > c.from {
			r.Spans = append(r.Spans, span)
		}
	}
	for i, e := range c.epochs {
		if i == len(c.epochs)-1 {
			e.To = r.End
		}
		if e.To > c.from || i == len(c.epochs)-1 {
			r.Epochs = append(r.Epochs, e)
		}
	}
	c.keepTimers(r)
	return r
}

// number gives IDs to the steps and messages that are kept, and fills the fields that contain IDs.
func (c *collector) number(r *Result) {
	for i, s := range c.steps {
		s.ID, s.Step.Message, s.Sent = i+1, none, []int{} // from 1, until all are known: 0 is a step that is omitted
	}
	id := func(s *step) int {
		if s == nil || s.ID == 0 {
			return none
		}
		return s.ID - 1
	}
	for _, m := range c.messages {
		m.Step, m.By, m.Cause = id(m.sender), id(m.taker), none
		if m.ID = none; m.By == none && (m.Step == none || m.Repeat && !c.all) {
			continue
		}
		m.ID = len(r.Messages)
		r.Messages = append(r.Messages, m.Message)
	}
	for _, m := range c.messages {
		if m.ID == none {
			continue
		}
		if s := m.sender; s != nil && s.message != nil {
			r.Messages[m.ID].Cause = s.message.ID
		}
		if m.Step != none {
			c.steps[m.Step].Sent = append(c.steps[m.Step].Sent, m.ID)
		}
	}
	for i, s := range c.steps {
		if s.message != nil {
			s.Step.Message = s.message.ID
		}
		s.ID = i
		r.Steps = append(r.Steps, s.Step)
	}
}

// check lists the properties that the simulation checked, each with the step that violates it.
func (c *collector) check(r *Result, w *sim.World) {
	names := []algo.Property{algo.MonotonicEpochs, algo.Durable, algo.NoPhantom, algo.Contract}
	if c.spec.Claims.OneLeaderPerEpoch {
		names = append(names, algo.OneLeaderPerEpoch)
	}
	violations := slices.Concat(w.Violations(), w.Known())
	for _, v := range violations {
		if !slices.Contains(names, v.Property) {
			names = append(names, v.Property)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := Property{Name: string(name), Step: none}
		if i := slices.IndexFunc(violations, func(v sim.Violation) bool { return v.Property == name }); i >= 0 {
			v := violations[i]
			p.Text, p.At, p.Known = v.Text, v.At, v.Known != ""
			for _, s := range c.steps {
				if s.event < v.Event {
					p.Step = s.ID
				}
			}
		}
		r.Properties = append(r.Properties, p)
	}
}
