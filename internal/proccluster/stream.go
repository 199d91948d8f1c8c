package proccluster

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/trace"
)

const (
	// batchInterval is the time for which a stream waits for more events before it writes. It is
	// longer than a failover, because writes must not compete with a failover for the
	// processor. Events carry their time, so the wait changes no measurement.
	batchInterval = 10 * time.Millisecond
	// closeTimeout is the maximum time that Close waits for the output.
	closeTimeout = time.Second
)

// errUnwritten is the error of Close if the output does not take the events.
var errUnwritten = errors.New("the output does not take the last events")

// Stream writes events as lines of [trace.JSON]. A call of Event costs a copy.
type Stream struct {
	events  chan trace.Event
	lost    atomic.Int64
	closing chan struct{}
	done    chan error // of the output
}

// NewStream returns a stream that writes to w until it is closed.
func NewStream(w io.Writer) *Stream {
	s := &Stream{events: make(chan trace.Event, 4096), closing: make(chan struct{}), done: make(chan error, 1)}
	go s.run(w)
	return s
}

// Event queues e and never blocks. If the queue is full, it drops e, and a later event
// reports the number of dropped events.
func (s *Stream) Event(e trace.Event) {
	select {
	case s.events <- e:
	default:
		s.lost.Add(1)
	}
}

// Close writes the queued events, for at most closeTimeout. It returns the first error of the
// output; nothing is written after that error. Event must not be called after Close.
func (s *Stream) Close() error {
	close(s.closing)
	close(s.events)
	select {
	case err := <-s.done:
		return err
	case <-time.After(closeTimeout):
		return errUnwritten
	}
}

func (s *Stream) run(w io.Writer) {
	var lines bytes.Buffer
	var failed error
	out := trace.NewJSON(&lines)
	timer := time.NewTimer(batchInterval)
	for e := range s.events {
		timer.Reset(batchInterval)
		select {
		case <-timer.C:
		case <-s.closing:
		}
		out.Event(e)
		s.writeQueued(out)
		if n := s.lost.Swap(0); n > 0 {
			out.Event(trace.Event{At: time.Duration(Now()), Node: e.Node, Kind: trace.Lost, Format: "%d events", Args: []any{n}})
		}
		if failed == nil {
			_, failed = w.Write(lines.Bytes())
		}
		lines.Reset()
	}
	s.done <- errors.Join(failed, out.Err())
}

// writeQueued writes the queued events.
func (s *Stream) writeQueued(out *trace.JSON) {
	for {
		select {
		case e, open := <-s.events:
			if !open {
				return
			}
			out.Event(e)
		default:
			return
		}
	}
}
