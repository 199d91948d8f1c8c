package trace

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// step is an event of a node with its effects.
type step struct {
	at           time.Duration
	lane         int
	kind         Kind        // kind of the first event
	message      *inFlight   // message of a Deliver or Drop
	sent         []*inFlight // sent messages; Diagram.All includes the periodic ones
	texts        []string    // notes
	hasEffect    bool        // the step has a note or announcement, apart from its first event
	firstSign    rune        // sign of the first event, or 0
	announceSign rune        // sign of the last announcement, or 0
	state        state       // state of the lane after the step; same if unchanged
}

// state is the look of a lane.
type state uint8

const (
	same state = iota // unchanged
	up
	leading
	down
)

// after returns s, or the previous state if s is same.
func (s state) after(previous state) state {
	if s == same {
		return previous
	}
	return s
}

// firstEvents has the kinds of events that start a step, each with its sign and the next state of the lane.
var firstEvents = map[Kind]struct {
	sign  rune
	state state
}{
	Start: {startSign, up}, Restart: {startSign, up}, Crash: {lostSign, down}, Expire: {timerSign, same},
	Suspect: {suspectSign, same}, Trust: {trustSign, same}, Deliver: {}, Drop: {},
}

// marks returns the signs of a step in its lane: that of its first event, and that of its effect.
func (s *step) marks() (marks []rune) {
	effect := s.announceSign
	if effect == 0 && len(s.sent) > 0 {
		effect = sendSign
	}
	for _, mark := range [...]rune{s.firstSign, effect} {
		if mark != 0 {
			marks = append(marks, mark)
		}
	}
	return marks
}

// isVisible reports whether to draw the step. Periodic messages and timers without an effect are omitted, because they
// repeat for ever.
func (s *step) isVisible() bool {
	switch {
	case s.hasEffect || len(s.sent) > 0:
		return true
	case s.message != nil:
		return !s.message.periodic
	}
	return len(s.texts) > 0 && s.kind != Expire
}

// reader converts events to steps.
type reader struct {
	*flights
	lanes   map[algo.NodeID]int
	steps   []*step
	current *step // the last step
}

// read converts the events up to d.Until to steps.
func (d *Diagram) read(lanes []algo.NodeID) *reader {
	r := &reader{flights: d.newFlights(), lanes: make(map[algo.NodeID]int)}
	for i, id := range lanes {
		r.lanes[id] = i
	}
	for _, e := range d.events {
		if lane, ok := r.lanes[e.Node]; ok && (d.Until == 0 || e.At <= d.Until) {
			r.handle(e.withNames(d.name), lane)
		}
	}
	r.countPending()
	return r
}

// handle handles one event of a lane: the event starts a step, or it is an effect of the last step.
func (r *reader) handle(e Event, lane int) {
	continues := r.current != nil && r.current.lane == lane && r.current.at == e.At
	_, isFirst := firstEvents[e.Kind]
	switch {
	case continues && r.isRejection(e):
		r.current.addText("rejected: " + e.Text())
		r.current.hasEffect = true
		return
	case isFirst:
		if !continues || e.Kind != Start || r.current.kind != Restart {
			r.startStep(e, lane)
		}
		return
	case !continues || r.current.kind == Drop || r.current.kind == Crash:
		r.addStep(e, lane)
	}
	r.addEffect(e)
}

// isRejection reports whether e is the rejection of the message that the last step has delivered.
func (r *reader) isRejection(e Event) bool {
	if e.Kind != Drop || r.current.kind != Deliver {
		return false
	}
	delivered := r.current.message
	return e.Message == nil || delivered != nil && delivered.from == r.lanes[e.Peer] && delivered.label == r.d.label(e.Message)
}

// addStep adds a step without texts and signs.
func (r *reader) addStep(e Event, lane int) {
	r.current = &step{at: e.At, lane: lane, kind: e.Kind}
	r.steps = append(r.steps, r.current)
}

// startStep adds a step with e as its first event.
func (r *reader) startStep(e Event, lane int) {
	r.addStep(e, lane)
	s := r.current
	s.firstSign, s.state = firstEvents[e.Kind].sign, firstEvents[e.Kind].state
	if from, ok := r.lanes[e.Peer]; ok && e.Message != nil {
		s.message = r.end(from, lane, e)
	}
	switch e.Kind {
	case Start:
		s.addText("starts")
	case Restart:
		s.addText(fmt.Sprintf("%s, with epoch %d saved", e.Describe(r.d.name), e.Epoch))
	case Expire:
		s.addText(e.Words(r.d.name, r.d.label))
	case Drop:
		s.addText(e.Text())
	default:
		s.addText(e.Describe(r.d.name))
	}
}

// addEffect adds an effect to the last step.
func (r *reader) addEffect(e Event) {
	s := r.current
	switch e.Kind {
	case Send:
		r.addSend(s, e)
	case Announce, Note, Pause, Resume:
		s.hasEffect = true
		s.addText(e.Describe(r.d.name))
	case Save, ConfigChanged:
		s.hasEffect = s.hasEffect || e.Kind == ConfigChanged
		s.addText(e.Words(r.d.name, r.d.label))
	}
	switch {
	case e.Kind != Announce:
	case e.Leader.IsVacant():
		s.state, s.announceSign = up, 0
	case e.Leader.ID == e.Node:
		s.state, s.announceSign = leading, leadSign
	default:
		s.state, s.announceSign = up, followSign
	}
}

// addSend adds a sent message to s. A message to a node without a lane is ignored.
func (r *reader) addSend(s *step, e Event) {
	to, ok := r.lanes[e.Peer]
	if !ok {
		return
	}
	m := r.send(s.lane, to, e)
	m.sender = s
	if r.d.All || !m.periodic {
		s.sent = append(s.sent, m)
	}
}

// addText adds a note to the step. An empty text is none.
func (s *step) addText(text string) {
	if text != "" {
		s.texts = append(s.texts, text)
	}
}

// initialStates returns the states of the lanes before the first event. A node is down if its first event is its start,
// or if it has no event and other nodes start.
func (d *Diagram) initialStates(lanes []algo.NodeID) []state {
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
