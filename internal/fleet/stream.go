package fleet

import (
	"encoding/json"
	"io"
	"sync/atomic"
	"time"
)

// gather is for how long a stream waits for more events before it writes. A failover
// takes less: while it goes on, the writing must not compete with it for the
// processor. Events carry their time, so the wait shows nowhere.
const gather = 10 * time.Millisecond

// Stream is the node's side: it writes events as lines. Emit costs its caller a copy.
type Stream struct {
	events  chan Event
	lost    atomic.Int64
	closing chan struct{}
	done    chan struct{}
}

// NewStream returns a stream that writes to w until it is closed.
func NewStream(w io.Writer) *Stream {
	s := &Stream{events: make(chan Event, 4096), closing: make(chan struct{}), done: make(chan struct{})}
	go s.run(w)
	return s
}

// Emit hands e over and never blocks: what does not fit is counted and reported by a
// later event.
func (s *Stream) Emit(e Event) {
	select {
	case s.events <- e:
	default:
		s.lost.Add(1)
	}
}

// Close returns when everything is written. Emit must not be called any more.
func (s *Stream) Close() {
	close(s.closing)
	close(s.events)
	<-s.done
}

func (s *Stream) run(w io.Writer) {
	defer close(s.done)
	var lines []byte
	timer := time.NewTimer(gather)
	for e := range s.events {
		timer.Reset(gather)
		select {
		case <-timer.C:
		case <-s.closing:
		}
		lines = s.drain(appendLine(lines[:0], e))
		if n := s.lost.Swap(0); n > 0 {
			lines = appendLine(lines, Event{At: Now(), What: Lost, Count: int(n)})
		}
		_, _ = w.Write(lines) // if nobody reads, the parent is gone; standard input says so too
	}
}

// drain adds the events that wait.
func (s *Stream) drain(lines []byte) []byte {
	for {
		select {
		case e, open := <-s.events:
			if !open {
				return lines
			}
			lines = appendLine(lines, e)
		default:
			return lines
		}
	}
}

func appendLine(lines []byte, e Event) []byte {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // a mistake in Event
	}
	return append(append(lines, line...), '\n')
}
