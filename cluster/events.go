package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/trace"
)

const (
	maxEvents    = 1000    // number of events that a node keeps
	maxEventText = 512     // bytes of a text, or of a message that has no fixed size
	maxEventJSON = 4 << 10 // bytes of a line, as in wire.DebugEvent
)

// eventLog keeps the last events of a node for a bug report, without those of [engine.IsRoutine]. An event is
// formatted when it is read. Each event has a bounded size, so a flood of events costs no more memory than a few. The
// zero value is ready to use.
type eventLog struct {
	fixed map[reflect.Type]bool // whether messages of a type have a fixed size; only the loop uses it

	mu    sync.Mutex
	ring  []trace.Event // event number i is at (i-1) % maxEvents
	count uint64        // events since the start of the node
}

// observeEngine is the Trace of the engine, except for announcements: see traceLeaders.
func (n *Node) observeEngine(e trace.Event) {
	if e.Kind != trace.Announce {
		n.observe(e)
	}
}

// observe handles each event of the node. It runs on the loop.
func (n *Node) observe(e trace.Event) {
	if !engine.IsRoutine(e) {
		n.events.add(e)
	}
	if n.config.Trace != nil {
		n.config.Trace(e)
	}
}

func (l *eventLog) add(e trace.Event) {
	e = l.bound(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < maxEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[l.count%maxEvents] = e
	}
	l.count++
}

// bound formats now what may be large, or may change later.
func (l *eventLog) bound(e trace.Event) trace.Event {
	isPlain := true
	for _, arg := range e.Args {
		isPlain = isPlain && isPlainArg(arg)
	}
	if !isPlain || len(e.Format) > maxEventText {
		e.Format, e.Args = strings.Clone(untrusted.Truncate(e.Text(), maxEventText)), nil // without the rest of the text
	}
	if e.Message != nil && !l.isFixed(reflect.TypeOf(e.Message)) {
		body, err := json.Marshal(e.Message)
		if err != nil || len(body) > maxEventText {
			body, _ = json.Marshal(fmt.Sprintf("omitted: %d bytes", len(body)))
		}
		e.Message = trace.ReadMessage{Name: e.Message.Kind(), Body: body}
	}
	return e
}

// isPlainArg reports whether an argument of a text is small and cannot change.
func isPlainArg(arg any) bool {
	switch arg := arg.(type) {
	case algo.NodeID, algo.Epoch, time.Duration, int, uint64, bool:
		return true
	case string:
		return len(arg) <= maxAddr
	}
	return false
}

// isFixed reports whether a message of the type has a fixed size.
func (l *eventLog) isFixed(t reflect.Type) bool {
	fixed, known := l.fixed[t]
	if !known {
		if l.fixed == nil {
			l.fixed = make(map[reflect.Type]bool)
		}
		fixed = hasFixedSize(t)
		l.fixed[t] = fixed
	}
	return fixed
}

func hasFixedSize(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if !hasFixedSize(f.Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return hasFixedSize(t.Elem())
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}

// after returns at most limit events after the given number, the number of the first one, and the number of events
// since the start.
func (l *eventLog) after(number uint64, limit int) (events []trace.Event, first, count uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = max(min(number, l.count), l.count-uint64(len(l.ring))) + 1
	for i := first; i <= l.count && len(events) < limit; i++ {
		events = append(events, l.ring[(i-1)%maxEvents])
	}
	return events, first, l.count
}

// eventJSON returns an event as a line of trace.JSON, without its end. zero is the time at which the node's clock
// showed 0.
func eventJSON(e trace.Event, zero time.Time) string {
	e.At += time.Duration(zero.UnixNano())
	line, err := encodeEvent(e)
	if err != nil || len(line) > maxEventJSON {
		e.Message, e.Format, e.Args = nil, "%s of %d bytes cannot be shown", []any{string(e.Kind), len(line)}
		line, _ = encodeEvent(e)
	}
	return string(bytes.TrimSuffix(line, []byte("\n")))
}

func encodeEvent(e trace.Event) ([]byte, error) {
	var b bytes.Buffer
	out := trace.NewJSON(&b)
	out.Event(e)
	return b.Bytes(), out.Err()
}
