package trace

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// flight is a message, from its sending to its end.
type flight struct {
	kind     string
	label    string
	from, to int // lanes
	sent     time.Duration
	known    bool // when it was sent
	ended    bool // it was delivered, or lost
	lost     bool
	repeat   bool
}

// count is how many messages of a kind there were. Pending are those that had not ended
// when the events end.
type count struct {
	kind                           string
	sent, delivered, lost, pending int
}

// flights joins what was sent to what arrives.
type flights struct {
	d       *Diagram
	waiting map[route][]*flight
	last    map[route]*flight
	counts  []count
	repeats int                    // sent
	took    map[time.Duration]bool // by those that were delivered
}

// route is what messages have in common that cannot be told apart.
type route struct {
	from, to int
	message  string
}

func (d *Diagram) newFlights() *flights {
	f := &flights{d: d, waiting: make(map[route][]*flight), last: make(map[route]*flight), took: make(map[time.Duration]bool)}
	for _, m := range d.Messages {
		f.count(m.Kind())
	}
	return f
}

func (f *flights) of(from, to int, m algo.Message) (*flight, route) {
	inner, repeat := algo.Unwrap(m)
	made := &flight{kind: m.Kind(), label: f.d.label(inner), from: from, to: to, repeat: repeat}
	return made, route{from, to, fmt.Sprintf("%T%v", inner, inner)}
}

// send begins a flight.
func (f *flights) send(from, to int, e Event) *flight {
	made, route := f.of(from, to, e.Message)
	made.sent, made.known = e.At, true
	f.waiting[route] = append(f.waiting[route], made)
	f.last[route] = made
	switch {
	case e.At < f.d.From:
	case made.repeat:
		f.repeats++
	default:
		f.count(made.kind).sent++
	}
	return made
}

// end ends the oldest flight of such a message. What arrives more often than it was sent
// is a copy of the last one.
func (f *flights) end(from, to int, e Event) *flight {
	ended, route := f.of(from, to, e.Message)
	if waiting := f.waiting[route]; len(waiting) > 0 {
		ended, f.waiting[route] = waiting[0], waiting[1:]
	} else if last := f.last[route]; last != nil {
		ended.sent, ended.known, ended.repeat = last.sent, true, last.repeat
	}
	ended.ended, ended.lost = true, e.Kind == Drop
	switch {
	case e.At < f.d.From || ended.repeat:
	case ended.lost:
		f.count(ended.kind).lost++
	default:
		f.count(ended.kind).delivered++
		if ended.known {
			f.took[e.At-ended.sent] = true
		}
	}
	return ended
}

func (f *flights) count(kind string) *count {
	for i := range f.counts {
		if f.counts[i].kind == kind {
			return &f.counts[i]
		}
	}
	f.counts = append(f.counts, count{kind: kind})
	return &f.counts[len(f.counts)-1]
}

// land counts what has not ended.
func (f *flights) land() {
	for _, waiting := range f.waiting {
		for _, made := range waiting {
			if !made.repeat && made.sent >= f.d.From {
				f.count(made.kind).pending++
			}
		}
	}
}

// label is the text on an arrow: the kind of the message, its first epoch, and the nodes
// that it names.
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
