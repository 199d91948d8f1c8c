package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/algo"
)

// leadershipState holds the latest State for any number of readers. It ends the Lead callbacks together with the
// leadership of this node. Writers never wait for readers.
type leadershipState struct {
	mu       sync.Mutex
	state    State
	changed  chan struct{} // closed at the next change
	ended    bool
	untraced []State                // new leaders and vacancies that the loop has not traced yet
	tasks    map[*leadTask]struct{} // Lead callbacks that have not returned

	clock    func() time.Duration // clock of the node
	leaseEnd atomic.Int64         // time on clock at which the lease ends the leadership, even if the loop hangs; 0 for none
}

// leadTask is a Lead callback of one leadership.
type leadTask struct {
	*leadershipState
	cancel context.CancelCauseFunc
	ended  atomic.Bool // set when the leadership has ended or the callback has returned
}

func newLeadershipState() *leadershipState {
	return &leadershipState{changed: make(chan struct{}), tasks: make(map[*leadTask]struct{})}
}

// publish replaces the state, and reports whether it is new. The caller has called endLeadership first if the state
// ends the leadership of this node. If this node leads in a newer epoch, its callbacks continue.
func (b *leadershipState) publish(s State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || s.Leader == b.state.Leader && s.IsLeader == b.state.IsLeader && !b.state.At.IsZero() {
		return false
	}
	if !s.IsLeader {
		s.Cause = b.state.Cause
	}
	b.replace(s)
	return true
}

// publishMeta updates the metadata of the leader in the state.
func (b *leadershipState) publishMeta(leader algo.NodeID, meta string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.state; !b.ended && s.Leader.ID == leader && s.Leader.meta != meta {
		s.Leader.meta, s.At = meta, time.Now()
		b.replace(s)
	}
}

// endLeadership ends the leadership of this node, if it leads. If last is set, no state follows: the node no longer
// knows a leader, because it has stopped.
func (b *leadershipState) endLeadership(cause error, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || !b.state.IsLeader && !last {
		return
	}
	if !b.state.IsLeader {
		cause = b.state.Cause
	}
	b.ended = last
	b.replace(State{Cause: cause, At: time.Now()})
}

// replace replaces the state. If the leadership has ended, it first cancels the contexts of the callbacks, before the
// caller does anything that follows from the end. Cancelling a context runs no code of the application on this
// goroutine.
func (b *leadershipState) replace(s State) {
	for w := range b.tasks {
		if !s.IsLeader && !w.ended.Swap(true) {
			w.cancel(s.Cause)
		}
	}
	if isNew := b.state.At.IsZero() || s.Leader.ID != b.state.Leader.ID || s.Leader.Epoch != b.state.Leader.Epoch; isNew {
		b.untraced = append(b.untraced, s)
	}
	b.state = s
	close(b.changed)
	b.changed = make(chan struct{})
}

// takeUntraced returns the leaders and vacancies since its last call. Unlike Watch it skips none.
func (b *leadershipState) takeUntraced() (states []State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	states, b.untraced = b.untraced, nil
	return states
}

// register returns a callback for the leadership l, or nil if l has ended. cancel is called with the cause when l ends.
// The caller unregisters the callback when it has returned.
func (b *leadershipState) register(l Leadership, cancel context.CancelCauseFunc) *leadTask {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.IsLeader || b.state.Leader.Epoch != l.Epoch {
		return nil
	}
	w := &leadTask{leadershipState: b, cancel: cancel}
	b.tasks[w] = struct{}{}
	return w
}

// unregister removes a callback that has returned. It reports whether its leadership has ended, and otherwise the
// current epoch of that leadership.
func (b *leadershipState) unregister(w *leadTask) (now algo.Epoch, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tasks, w)
	return b.state.Leader.Epoch, w.ended.Swap(true)
}

// remaining returns the time until the lease expires if it is not renewed; false without a lease.
func (b *leadershipState) remaining() (time.Duration, bool) {
	until := time.Duration(b.leaseEnd.Load())
	if until == 0 {
		return 0, false
	}
	return until - b.clock(), true
}

// isIdle reports whether all callbacks have returned.
func (b *leadershipState) isIdle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tasks) == 0
}

// snapshot returns the state, a channel that is closed when the state changes, and whether the state is the last one.
func (b *leadershipState) snapshot() (State, <-chan struct{}, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.changed, b.ended
}
