package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Diagram draws events as a sequence diagram for a terminal. Each node has a lane, time runs down, and notes stand at
// the right. The zero value draws all events, in milliseconds.
//
// A message is an arrow in the row of its arrival, so arrows never cross. Its label is the kind, the epoch and the
// nodes that the message names. A ● in the lane of the sender marks the send. If transit times differ, the label has
// the time of the send after an @. The arrow of a lost message ends in a ✕. A message that has not arrived before the
// last event is a dotted line in the row of its send. Equal events of several nodes at the same time share a row, so a
// broadcast is one arrow with many heads.
//
// The line of a lane is double while the node considers itself the leader, and absent while the node is down.
//
// A table below has the number of messages of each kind. Periodic messages (see algo.Periodic) are counted apart. They
// are drawn only if they have an effect, as are timers.
//
// A Diagram is not safe for concurrent use. Set its fields before the first event.
type Diagram struct {
	// Names returns the name of a node, or "" for a node without a name, which is drawn with its ID. If Names is nil, no
	// node has a name.
	Names func(algo.NodeID) string
	// Nodes are the nodes of the lanes, from left to right; nil for all nodes of the events, in the order of their IDs.
	Nodes []algo.NodeID
	// Messages are the messages of the algorithm, as in algo.Spec. All others are counted and not drawn. If Messages is
	// nil, all messages are drawn.
	Messages []algo.Message
	// Unit is the unit of time, and UnitName its name, such as "T". If At counts steps, Unit is 1 and UnitName is "step".
	// The zero values are a millisecond and "ms".
	Unit     time.Duration
	UnitName string
	// From is the time of the first row, which is drawn as 0. Earlier events only determine the states of the nodes.
	From time.Duration
	// Until is the time of the last row; zero for the last event. A message that arrives later is drawn as not arrived.
	Until time.Duration
	// Width is the maximum number of columns; zero for 100. Texts are wrapped and arrows are shortened to fit. The
	// drawing is wider if the lanes need more.
	Width int
	// ASCII restricts the drawing to the characters of ASCII.
	ASCII bool
	// All adds the saves, and the periodic messages and timers without an effect.
	All bool

	events []Event
	others int // number of sent messages that are not in Messages
}

// Event adds the next event.
func (d *Diagram) Event(e Event) {
	switch {
	case slices.Contains([]Kind{SetTimer, StopTimer, Saved, Ready, Lost}, e.Kind), e.Kind == Save && !d.All:
		return
	case e.Message != nil && !d.isDrawn(e.Message):
		if e.Kind == Send && e.At >= d.From {
			d.others++
		}
		return
	}
	d.events = append(d.events, e)
}

// isDrawn reports whether Messages contains the kind of m.
func (d *Diagram) isDrawn(m algo.Message) bool {
	return d.Messages == nil ||
		slices.ContainsFunc(d.Messages, func(known algo.Message) bool { return known.Kind() == m.Kind() })
}

// String draws the events so far.
func (d *Diagram) String() string {
	s := d.scene()
	rows := layOut(s.steps, len(s.lanes))
	p := newPage(d, s.lanes, rows, len(s.transitTimes) > 1)
	p.draw(rows, s.states)
	p.foot(s.flights)
	if d.ASCII {
		return ascii.Replace(p.String())
	}
	return p.String()
}

// Moments returns the times of the drawing, in ascending order.
func (d *Diagram) Moments() (all []time.Duration) {
	for _, s := range d.scene().steps {
		all = append(all, s.at)
	}
	return slices.Compact(all)
}

// scene contains the elements of a drawing.
type scene struct {
	*flights
	lanes  []algo.NodeID
	states []state // initial state of each lane
	steps  []*step
}

// scene returns the visible steps from d.From on. Earlier steps determine the initial states.
func (d *Diagram) scene() scene {
	lanes := d.lanes()
	read := d.read(lanes)
	s := scene{flights: read.flights, lanes: lanes, states: d.initialStates(lanes)}
	for _, step := range read.steps {
		switch {
		case step.at < d.From:
			s.states[step.lane] = step.state.after(s.states[step.lane])
		case d.All || step.isVisible():
			s.steps = append(s.steps, step)
		}
	}
	return s
}

// lanes returns the node of each lane, from left to right.
func (d *Diagram) lanes() []algo.NodeID {
	if d.Nodes != nil {
		return d.Nodes
	}
	named := make(map[algo.NodeID]bool)
	for _, e := range d.events {
		named[e.Node], named[e.Peer] = true, true
	}
	delete(named, algo.NodeID{})
	return slices.SortedFunc(maps.Keys(named), algo.NodeID.Compare)
}

// name returns the name of a node, or its ID if it has none.
func (d *Diagram) name(id algo.NodeID) string { return nameOf(id, d.Names, "none") }

// inUnits formats a time since d.From in d.Unit, with the given number of digits after the point.
func (d *Diagram) inUnits(at time.Duration, digits int) string {
	unit, since, sign := cmp.Or(d.Unit, time.Millisecond), at-d.From, ""
	if since < 0 {
		since, sign = -since, "-"
	}
	text := fmt.Sprintf("%s%d.%02d", sign, since/unit, since%unit*100/unit)
	return strings.TrimSuffix(text[:len(text)-maxDigits+digits], ".")
}

// maxDigits is the maximum number of digits of a time after the point.
const maxDigits = 2

// digits returns the number of digits after the point that a time needs, at most maxDigits.
func (d *Diagram) digits(at time.Duration) int {
	text := strings.TrimRight(d.inUnits(at, maxDigits), "0")
	return len(text) - 1 - strings.IndexByte(text, '.')
}
