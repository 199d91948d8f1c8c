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

// Diagram draws events as a sequence diagram for a terminal: a lane for each node, time
// going down, what is worth knowing beside. The zero value draws all events that it is
// given, in milliseconds.
//
// A message is an arrow in the row in which it arrives, with its kind, its epoch and the
// nodes that it names. When it was sent is marked in the lane of its sender, and stands
// in the arrow after an @ where not all messages take equally long: so arrows never cross,
// though messages may. What is lost ends in a ✕; what was neither taken nor lost when
// the events end is a dotted line where it was sent. What happens in one moment at several
// nodes, and is the same, shares a row: a broadcast is one arrow with many heads.
//
// The line of a lane is double while its node takes itself for the leader, and absent while
// it is down.
//
// Below stand the messages by kind. Repeats of what was said before, see algo.Periodic,
// are counted apart, and drawn only where something comes of them; so are timers.
// Messages that are not among Messages are only counted.
//
// A Diagram is not safe for concurrent use. Its fields are set before the first event.
type Diagram struct {
	// Names returns the name of a node, or "" for a node without a name, which is drawn
	// with its ID. Nil: no node has a name.
	Names func(algo.NodeID) string
	// Nodes has the node of each lane, from left to right. Nil: all nodes that the events
	// name, in the order of their IDs.
	Nodes []algo.NodeID
	// Messages are the messages of the algorithm, as in algo.Spec. All others are only
	// counted. Nil: all messages are drawn.
	Messages []algo.Message
	// Unit is the unit of time, and UnitName its name, such as "T". If At counts steps, Unit
	// is 1 and UnitName is "step". Zero: a millisecond, "ms".
	Unit     time.Duration
	UnitName string
	// From is the time at which the drawing begins, which is its time 0. Earlier events only
	// determine the states of the nodes.
	From time.Duration
	// Until is the time at which the drawing ends; zero: at the last event. A message that was
	// sent and has not arrived by then is drawn as under way.
	Until time.Duration
	// Width is the number of columns; 100 if zero. Text is wrapped and arrows are shortened
	// to fit. If there are too many lanes, the drawing is wider.
	Width int
	// ASCII draws with characters that every terminal has.
	ASCII bool
	// All also draws repeats and timers without an effect, and the saves.
	All bool

	events []Event
	others int // messages sent that are not of the algorithm
}

// Event adds the next event.
func (d *Diagram) Event(e Event) {
	switch {
	case slices.Contains([]Kind{SetTimer, StopTimer, Saved, Ready, Lost}, e.Kind), e.Kind == Save && !d.All:
		return
	case e.Message != nil && !d.elects(e.Message):
		if e.Kind == Send && e.At >= d.From {
			d.others++
		}
		return
	}
	d.events = append(d.events, e)
}

// elects reports whether a message belongs to the algorithm.
func (d *Diagram) elects(m algo.Message) bool {
	return d.Messages == nil ||
		slices.ContainsFunc(d.Messages, func(known algo.Message) bool { return known.Kind() == m.Kind() })
}

// String draws the events so far.
func (d *Diagram) String() string {
	s := d.scene()
	rows := layOut(s.steps, len(s.lanes))
	p := newPage(d, s.lanes, rows, len(s.took) > 1)
	p.draw(rows, s.states)
	p.foot(s.flights)
	if d.ASCII {
		return ascii.Replace(p.String())
	}
	return p.String()
}

// Moments are the times at which something is drawn, in their order.
func (d *Diagram) Moments() (all []time.Duration) {
	for _, s := range d.scene().steps {
		all = append(all, s.at)
	}
	return slices.Compact(all)
}

// scene contains what is drawn.
type scene struct {
	*flights
	lanes  []algo.NodeID
	states []state // state of each lane at the beginning
	steps  []*step
}

func (d *Diagram) scene() scene {
	lanes := d.lanes()
	told := d.read(lanes)
	s := scene{flights: told.flights, lanes: lanes, states: d.born(lanes)}
	for _, step := range told.steps {
		switch {
		case step.at < d.From:
			s.states[step.lane] = step.state.after(s.states[step.lane])
		case d.All || step.worthIt():
			s.steps = append(s.steps, step)
		}
	}
	return s
}

// lanes are the nodes, from left to right.
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

// name returns the name of a node, or its ID.
func (d *Diagram) name(id algo.NodeID) string { return nameOf(id, d.Names, "none") }

// inUnits formats a time of the drawing, with the given number of digits after the point.
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

// digits returns the number of digits after the point that a time needs.
func (d *Diagram) digits(at time.Duration) int {
	text := strings.TrimRight(d.inUnits(at, maxDigits), "0")
	return len(text) - 1 - strings.IndexByte(text, '.')
}
