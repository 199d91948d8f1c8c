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
// Below stand the messages by kind. Repeats of what was said before, see algo.Repeat,
// are counted apart, and drawn only where something comes of them; so are timers.
// Messages that are not among Messages are only counted.
//
// A Diagram is not safe for concurrent use. Its fields are set before the first event.
type Diagram struct {
	// Names returns the name of a node, or nothing; nil for none. Who has no name is
	// drawn by its ID.
	Names func(algo.NodeID) string
	// Nodes are the lanes, from left to right; nil for all nodes that the events name, in
	// the order of their IDs.
	Nodes []algo.NodeID
	// Messages are those of the algorithm, as in algo.Spec; nil for all that there are.
	Messages []algo.Message
	// Unit is the unit of time, and UnitName what it is called: T, or "step" with a Unit of
	// 1 where At counts steps. Zero is a millisecond, called ms.
	Unit     time.Duration
	UnitName string
	// From is where the drawing begins, and the time 0 in it. What was before is only known
	// of the nodes.
	From time.Duration
	// Until is where it ends, if it is not zero: what was sent until then and had not arrived is
	// under way.
	Until time.Duration
	// Width is how many columns there are; 100 if zero. Text is wrapped and arrows are
	// shortened to fit. More lanes than fit make it wider.
	Width int
	// ASCII draws with characters that every terminal has.
	ASCII bool
	// All draws what nothing came of, too: repeats, and timers that ended; and says what was
	// saved.
	All bool

	events []Event
	others int // messages sent that are not of the algorithm
}

// Event takes the next event.
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

// elects reports whether a message is one of the algorithm.
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

// scene is what there is to draw.
type scene struct {
	*flights
	lanes  []algo.NodeID
	states []state // of the lanes, at first
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

// name is what a node is called.
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

// maxDigits is how exact times are.
const maxDigits = 2

// digits is how many a time needs.
func (d *Diagram) digits(at time.Duration) int {
	text := strings.TrimRight(d.inUnits(at, maxDigits), "0")
	return len(text) - 1 - strings.IndexByte(text, '.')
}
