package trace

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// step is one thing that happened at one node, and what came of it.
type step struct {
	at     time.Duration
	lane   int
	kind   Kind      // of the event that it began with
	flight *flight   // the message of a Deliver or Drop
	sent   []*flight // repeats left out, unless all are wanted
	texts  []string  // to stand beside
	moved  bool      // something was said, or a leader announced, beyond how it began
	began  rune      // the sign of how it began, or 0
	came   rune      // the sign of the leader that it announced last, or 0
	state  state     // of the lane afterwards, as far as it changed
}

// state is what a lane looks like.
type state uint8

const (
	same state = iota // as it was before
	up
	leading
	down
)

// after is the state that follows another.
func (s state) after(before state) state {
	if s == same {
		return before
	}
	return s
}

// beginnings are the kinds of events that steps begin with, with their signs, and what the
// lane looks like from then on.
var beginnings = map[Kind]struct {
	sign  rune
	state state
}{
	Start: {startSign, up}, Restart: {startSign, up}, Crash: {lostSign, down}, Expire: {timerSign, same},
	Suspect: {doubtSign, same}, Trust: {hopeSign, same}, Deliver: {}, Drop: {},
}

// marks are how a step shows in its lane: how it began, and what came of it.
func (s *step) marks() (marks []rune) {
	came := s.came
	if came == 0 && len(s.sent) > 0 {
		came = sendSign
	}
	for _, mark := range [...]rune{s.began, came} {
		if mark != 0 {
			marks = append(marks, mark)
		}
	}
	return marks
}

// worthIt reports whether to show the step. It omits periodic messages and timers that
// change nothing, because they repeat for ever.
func (s *step) worthIt() bool {
	switch {
	case s.moved || len(s.sent) > 0:
		return true
	case s.flight != nil:
		return !s.flight.repeat
	}
	return len(s.texts) > 0 && s.kind != Expire
}

// reader makes steps of events.
type reader struct {
	*flights
	lanes map[algo.NodeID]int
	steps []*step
	open  *step // the last one
}

// read makes steps of all events, in their order.
func (d *Diagram) read(lanes []algo.NodeID) *reader {
	r := &reader{flights: d.newFlights(), lanes: make(map[algo.NodeID]int)}
	for i, id := range lanes {
		r.lanes[id] = i
	}
	for _, e := range d.events {
		if lane, ok := r.lanes[e.Node]; ok && (d.Until == 0 || e.At <= d.Until) {
			r.take(e.withNames(d.name), lane)
		}
	}
	r.land()
	return r
}

// take takes one event of a lane: it begins a step, or is what comes of the last one.
func (r *reader) take(e Event, lane int) {
	goesOn := r.open != nil && r.open.lane == lane && r.open.at == e.At
	_, begins := beginnings[e.Kind]
	switch {
	case goesOn && r.refuses(e):
		r.open.add("refused: " + e.Text())
		r.open.moved = true
		return
	case begins:
		if !goesOn || e.Kind != Start || r.open.kind != Restart {
			r.begin(e, lane)
		}
		return
	case !goesOn || r.open.kind == Drop || r.open.kind == Crash:
		r.next(e, lane)
	}
	r.proceed(e)
}

// refuses reports whether the message is dropped that was just delivered.
func (r *reader) refuses(e Event) bool {
	if e.Kind != Drop || r.open.kind != Deliver {
		return false
	}
	return e.Message == nil || r.open.flight != nil && r.open.flight.from == r.lanes[e.Peer] && r.open.flight.label == r.d.label(e.Message)
}

func (r *reader) next(e Event, lane int) {
	r.open = &step{at: e.At, lane: lane, kind: e.Kind}
	r.steps = append(r.steps, r.open)
}

func (r *reader) begin(e Event, lane int) {
	r.next(e, lane)
	s := r.open
	s.began, s.state = beginnings[e.Kind].sign, beginnings[e.Kind].state
	if from, ok := r.lanes[e.Peer]; ok && e.Message != nil {
		s.flight = r.end(from, lane, e)
	}
	switch e.Kind {
	case Start:
		s.add("starts")
	case Restart:
		s.add(fmt.Sprintf("%s, with epoch %d saved", e.Describe(r.d.name), e.Epoch))
	case Expire:
		s.add(e.Words(r.d.name, r.d.label))
	case Drop:
		s.add(e.Text())
	default:
		s.add(e.Describe(r.d.name))
	}
}

// proceed takes what comes of the open step.
func (r *reader) proceed(e Event) {
	s := r.open
	switch e.Kind {
	case Send:
		r.sends(s, e)
	case Announce, Note, Pause, Resume:
		s.moved = true
		s.add(e.Describe(r.d.name))
	case Save, View:
		s.moved = s.moved || e.Kind == View
		s.add(e.Words(r.d.name, r.d.label))
	}
	switch {
	case e.Kind != Announce:
	case e.Leader.IsVacant():
		s.state, s.came = up, 0
	case e.Leader.ID == e.Node:
		s.state, s.came = leading, leadSign
	default:
		s.state, s.came = up, joinSign
	}
}

func (r *reader) sends(s *step, e Event) {
	to, ok := r.lanes[e.Peer]
	if !ok {
		return
	}
	if made := r.send(s.lane, to, e); r.d.All || !made.repeat {
		s.sent = append(s.sent, made)
	}
}

// add adds a text to stand beside.
func (s *step) add(text string) {
	if text != "" {
		s.texts = append(s.texts, text)
	}
}

// born returns the states of the lanes before the first event. A node is absent if its first
// event is its start, or if it has no event and other nodes start.
func (d *Diagram) born(lanes []algo.NodeID) []state {
	first := make(map[algo.NodeID]Kind)
	starts := false
	for _, e := range d.events {
		if _, seen := first[e.Node]; !seen && e.Kind != Drop {
			first[e.Node] = e.Kind
			starts = starts || e.Kind == Start || e.Kind == Restart
		}
	}
	states := make([]state, len(lanes))
	for i, id := range lanes {
		states[i] = up
		switch kind, seen := first[id]; {
		case kind == Start, kind == Restart, !seen && starts:
			states[i] = down
		}
	}
	return states
}
