package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/jsonlite"
)

// ShiViz returns the events so far as a log for ShiViz (https://bestchai.bitbucket.io/shiviz), in its default format.
// An event has two lines: text, and the node with its vector clock. ShiViz shows which events could have caused an
// event, and compares two logs.
//
// Periodic messages and timers without an effect are left out, unless d.All is set. A message that was sent before
// d.From connects no events.
func (d *Diagram) ShiViz() string {
	lanes := d.lanes()
	all := d.read(lanes).steps
	shown := d.withCauses(all)
	var b strings.Builder
	clocks := make([]vectorClock, len(lanes)) // of each node, after its last event
	after := make(map[*step]vectorClock)
	for _, s := range all {
		if !shown[s] {
			continue
		}
		clock := make(vectorClock)
		clock.merge(clocks[s.lane])
		if m := s.message; m != nil && !m.lost {
			clock.merge(after[m.sender])
		}
		clock[d.name(lanes[s.lane])]++
		clocks[s.lane], after[s] = clock, clock
		fmt.Fprintf(&b, "%s\n%s %s\n", d.shivizText(s, lanes), d.name(lanes[s.lane]), clock)
	}
	return b.String()
}

// withCauses returns the steps from d.From on that ShiViz shows: the visible ones, and those that sent a message to a
// shown step.
func (d *Diagram) withCauses(all []*step) map[*step]bool {
	shown := make(map[*step]bool)
	for _, s := range slices.Backward(all) {
		if s.at < d.From || !shown[s] && !d.All && !s.isVisible() {
			continue
		}
		shown[s] = true
		if m := s.message; m != nil && !m.lost && m.sender != nil && m.sender.at >= d.From {
			shown[m.sender] = true
		}
	}
	return shown
}

// shivizText returns the text of an event, in one line.
func (d *Diagram) shivizText(s *step, lanes []algo.NodeID) string {
	var texts []string
	if m := s.message; m != nil {
		verb := "receives "
		if m.lost {
			verb = "loses "
		}
		texts = append(texts, verb+m.label+" from "+d.name(lanes[m.from]))
	}
	texts = append(texts, s.texts...)
	for _, m := range s.sent {
		texts = append(texts, "sends "+m.label+" to "+d.name(lanes[m.to]))
	}
	if len(texts) == 0 {
		texts = []string{"sends periodic messages"}
	}
	return strings.ReplaceAll(strings.Join(texts, ", "), "\n", " ")
}

// vectorClock has the number of events of each node that could have caused an event, the event itself included.
type vectorClock map[string]int

func (c vectorClock) merge(other vectorClock) {
	for name, events := range other {
		c[name] = max(c[name], events)
	}
}

// String returns the clock as JSON, in the order of the names.
func (c vectorClock) String() string {
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		entries = append(entries, fmt.Sprintf("%s:%d", jsonlite.Marshal(name), c[name]))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
