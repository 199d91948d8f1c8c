package trace

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// inFlight is a message from its send to its arrival or loss.
type inFlight struct {
	kind     string
	label    string
	from, to int // lanes
	sent     time.Duration
	sender   *step // step that sent it; nil if the send is not among the events
	ended    bool  // delivered or lost
	lost     bool
	periodic bool
}

// count has the numbers of messages of a kind. Pending messages have not ended before the last event.
type count struct {
	kind                           string
	sent, delivered, lost, pending int
}

// flights matches arrivals and losses with sends.
type flights struct {
	d            *Diagram
	waiting      map[route][]*inFlight // sent and not ended, oldest first
	last         map[route]*inFlight   // last message sent
	counts       []count
	repeats      int                    // number of periodic messages sent
	transitTimes map[time.Duration]bool // of delivered messages
}

// route identifies messages that differ only in their times.
type route struct {
	from, to int
	message  string
}

func (d *Diagram) newFlights() *flights {
	f := &flights{
		d: d, waiting: make(map[route][]*inFlight), last: make(map[route]*inFlight), transitTimes: make(map[time.Duration]bool),
	}
	for _, m := range d.Messages {
		f.count(m.Kind())
	}
	return f
}

// newFlight returns m as a message in flight, and its route.
func (f *flights) newFlight(from, to int, m algo.Message) (*inFlight, route) {
	inner, isPeriodic := algo.Unwrap(m)
	return &inFlight{kind: m.Kind(), label: f.d.label(inner), from: from, to: to, periodic: isPeriodic},
		route{from, to, fmt.Sprintf("%T%v", inner, inner)}
}

// send handles the send of a message.
func (f *flights) send(from, to int, e Event) *inFlight {
	m, route := f.newFlight(from, to, e.Message)
	m.sent = e.At
	f.waiting[route] = append(f.waiting[route], m)
	f.last[route] = m
	switch {
	case e.At < f.d.From:
	case m.periodic:
		f.repeats++
	default:
		f.count(m.kind).sent++
	}
	return m
}

// end handles the arrival or loss of a message: of the oldest one of its route. If all have ended, it is a copy of the
// last one.
func (f *flights) end(from, to int, e Event) *inFlight {
	m, route := f.newFlight(from, to, e.Message)
	if waiting := f.waiting[route]; len(waiting) > 0 {
		m, f.waiting[route] = waiting[0], waiting[1:]
	} else if last := f.last[route]; last != nil {
		m.sent, m.sender, m.periodic = last.sent, last.sender, last.periodic
	}
	m.ended, m.lost = true, e.Kind == Drop
	switch {
	case e.At < f.d.From || m.periodic:
	case m.lost:
		f.count(m.kind).lost++
	default:
		f.count(m.kind).delivered++
		if m.sender != nil {
			f.transitTimes[e.At-m.sent] = true
		}
	}
	return m
}

// count returns the numbers of a kind, which it adds if they are missing.
func (f *flights) count(kind string) *count {
	for i := range f.counts {
		if f.counts[i].kind == kind {
			return &f.counts[i]
		}
	}
	f.counts = append(f.counts, count{kind: kind})
	return &f.counts[len(f.counts)-1]
}

// countPending counts the messages that have not ended.
func (f *flights) countPending() {
	for _, waiting := range f.waiting {
		for _, m := range waiting {
			if !m.periodic && m.sent >= f.d.From {
				f.count(m.kind).pending++
			}
		}
	}
}

// label returns the text of an arrow: the kind of the message, its first epoch, and the nodes that it names.
func (d *Diagram) label(m algo.Message) string {
	words := []string{m.Kind()}
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Struct {
		return strings.Join(words, " ")
	}
	hasEpoch := false
	for f, field := range v.Fields() {
		if !f.IsExported() {
			continue
		}
		switch field := field.Interface().(type) {
		case algo.Epoch:
			if !hasEpoch {
				words = append(words, fmt.Sprint("e", uint64(field)))
			}
			hasEpoch = true
		case algo.NodeID:
			if !field.IsZero() {
				words = append(words, d.name(field))
			}
		case algo.Leader:
			if !field.IsVacant() {
				words = append(words, d.name(field.ID))
			}
		}
	}
	return strings.Join(words, " ")
}
