package trace

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// step is an event of a node with its effects.
type step struct {
	at     time.Duration
	lane   int
	kind   Kind      // kind of the first event
	flight *flight   // the message of a Deliver or Drop
	sent   []*flight // without periodic messages, unless all are wanted
	texts  []string  // notes next to the step
	moved  bool      // it has a note or an announcement in addition to its first event
	began  rune      // the sign of its first event, or 0
	came   rune      // the sign of the leader that it announced last, or 0
	state  state     // of the lane after the step; same if unchanged
}

// state is the look of a lane.
type state uint8

const (
	same state = iota // unchanged
	up
	leading
	down
)

// after returns the state that follows another.
func (s state) after(before state) state {
	if s == same {
		return before
	}
	return s
}

// beginnings are the kinds of the first events of steps, with their signs and the next state of
// the lane.
var beginnings = map[Kind]struct {
	sign  rune
	state state
}{
	Start: {startSign, up}, Restart: {startSign, up}, Crash: {lostSign, down}, Expire: {timerSign, same},
	Suspect: {suspectSign, same}, Trust: {trustSign, same}, Deliver: {}, Drop: {},
}

// marks returns the signs of a step in its lane: of its first event and of its effect.
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

// reader converts events to steps.
type reader struct {
	*flights
	lanes map[algo.NodeID]int
	steps []*step
	open  *step // the last step
}

// read converts all events to steps, in their order.
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

// take handles one event of a lane: it begins a step, or it is an effect of the last step.
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

// refuses reports whether the event drops the message that was just delivered.
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

// proceed handles an effect of the open step.
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

// add adds a note to the step.
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
