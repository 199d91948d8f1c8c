package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
)

// board shows the latest State to any number of readers, and ends the work of a
// leader together with its leadership. Writing never waits for them.
type board struct {
	mu       sync.Mutex
	state    State
	changed  chan struct{} // closed at the next change
	ended    bool
	services map[*context.CancelCauseFunc]struct{} // what ends the work for the leadership that state shows
}

func newBoard() *board {
	return &board{changed: make(chan struct{}), services: make(map[*context.CancelCauseFunc]struct{})}
}

// post shows a new state, and reports whether it is one. A leadership that it ends
// must have been ended by lose before, unless it is replaced by a newer one of this
// node.
func (b *board) post(s State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || s.Leader == b.state.Leader && s.Leads == b.state.Leads && !b.state.At.IsZero() {
		return false
	}
	if !s.Leads {
		s.Cause = b.state.Cause
	}
	b.show(s)
	return true
}

// lose ends the leadership of this node in that epoch, and reports whether there was
// one.
func (b *board) lose(epoch algo.Epoch, cause error, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.Leads || b.state.Leader.Epoch != epoch {
		return false
	}
	b.show(State{Cause: cause, At: now})
	return true
}

// end shows the last state: nobody leads as far as this node knows, because it does
// not look any more.
func (b *board) end(cause error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	if !b.state.Leads {
		cause = b.state.Cause
	}
	b.ended = true
	b.show(State{Cause: cause, At: now})
}

// show replaces the state. Whoever works for a leadership that is over is told
// before show returns, thus before anything that follows from it is done. To cancel
// a context runs no code of the application on this goroutine.
func (b *board) show(s State) {
	cause := s.Cause
	if s.Leads {
		cause = &DeposedError{By: s.Leader}
	}
	for work := range b.services {
		(*work)(cause)
	}
	clear(b.services)
	b.state = s
	close(b.changed)
	b.changed = make(chan struct{})
}

// serve has end called with the cause when the leadership l of this node ends. It
// returns nil when it is over already. What it returns is called when the work is
// done, and reports whether the leadership was over by then.
func (b *board) serve(l Leadership, end context.CancelCauseFunc) (done func() (over bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.Leads || b.state.Leader.Epoch != l.Epoch {
		return nil
	}
	b.services[&end] = struct{}{}
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		_, serving := b.services[&end]
		delete(b.services, &end)
		return !serving
	}
}

// leads returns the epoch in which this node leads, if it does.
func (b *board) leads() (algo.Epoch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Leader.Epoch, b.state.Leads
}

// read returns the state, a channel that is closed when it changes, and whether it
// is the last.
func (b *board) read() (State, <-chan struct{}, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.changed, b.ended
}
