package trace

import (
	"strconv"
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
	state  state     // of the lane afterwards, as far as it changed
	leads  bool      // it announced itself
	joins  bool      // it announced another
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

// worthIt reports whether somebody wants to see the step: repeats and timers that change
// nothing go on for ever.
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
		if lane, ok := r.lanes[e.Node]; ok {
			r.take(e.Named(d.name), lane)
		}
	}
	r.land()
	return r
}

// take takes one event of a lane: it begins a step, or is what comes of the last one.
func (r *reader) take(e Event, lane int) {
	goesOn := r.open != nil && r.open.lane == lane && r.open.at == e.At
	switch {
	case goesOn && r.refuses(e):
		r.open.add("refused: " + e.Text())
		r.open.moved = true
		return
	case begins(e.Kind):
		if !goesOn || e.Kind != Start || r.open.kind != Restart {
			r.begin(e, lane)
		}
		return
	case !goesOn || r.open.kind == Drop || r.open.kind == Crash:
		r.next(e, lane)
	}
	r.proceed(e)
}

// begins reports whether steps begin with events of this kind.
func begins(k Kind) bool {
	switch k {
	case Start, Deliver, Drop, Expire, Suspect, Trust, Crash, Restart:
		return true
	}
	return false
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
	switch e.Kind {
	case Start:
		s.add("starts")
		s.state = up
	case Restart:
		s.add("starts again, with epoch " + number(e.Epoch) + " saved")
		s.state = up
	case Crash:
		s.add("is down")
		s.state = down
	case Expire:
		s.add("timer " + string(e.Timer) + " ends")
	case Suspect:
		s.add("suspects " + r.d.name(e.Peer) + because(e))
	case Trust:
		s.add("trusts " + r.d.name(e.Peer) + " again" + because(e))
	case Deliver, Drop:
		if from, ok := r.lanes[e.Peer]; ok && e.Message != nil {
			s.flight = r.end(from, lane, e)
		}
		if e.Kind == Drop {
			s.add(e.Text())
		}
	}
}

// proceed takes what comes of the open step.
func (r *reader) proceed(e Event) {
	s := r.open
	switch e.Kind {
	case Send:
		r.sends(s, e)
	case Announce:
		r.announces(s, e.Leader)
	case Note:
		s.add(e.Text())
		s.moved = true
	case Save:
		s.add("saves epoch " + number(e.Epoch))
	case View:
		s.add("has view " + strconv.FormatUint(e.Number, 10))
		s.moved = true
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

func (r *reader) announces(s *step, l algo.Leader) {
	s.moved, s.state, s.leads, s.joins = true, up, false, false
	switch node, ok := r.lanes[l.ID]; {
	case l.Vacant():
		s.add("follows nobody")
	case ok && node == s.lane:
		s.state, s.leads = leading, true
		s.add("leads in epoch " + number(l.Epoch))
	default:
		s.joins = true
		s.add("follows " + r.d.name(l.ID) + " in epoch " + number(l.Epoch))
	}
}

// add adds a text to stand beside.
func (s *step) add(text string) {
	if text != "" {
		s.texts = append(s.texts, text)
	}
}

func because(e Event) string {
	if why := e.Text(); why != "" {
		return " (" + why + ")"
	}
	return ""
}

func number(e algo.Epoch) string { return strconv.FormatUint(uint64(e), 10) }

// born is what the lanes look like before the first event. A node whose first event is
// its start was not there; nor was one of which nothing is told, where others start.
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
