package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/algo"
)

// board shows the latest State to any number of readers, and ends the work of a
// leader together with its leadership. Writing never waits for them.
type leadershipState struct {
	mu      sync.Mutex
	state   State
	changed chan struct{} // closed at the next change
	ended   bool
	tasks   map[*leadTask]struct{} // that have not returned

	clock    func() time.Duration // of the node
	leaseEnd atomic.Int64         // when by that the leadership ends, whatever the loop does; 0 for never
}

// work is a function that Lead runs for one leadership.
type leadTask struct {
	*leadershipState
	cancel context.CancelCauseFunc
	ended  atomic.Bool // the leadership, or the work
}

func newLeadershipState() *leadershipState {
	return &leadershipState{changed: make(chan struct{}), tasks: make(map[*leadTask]struct{})}
}

// post shows a new state, and reports whether it is one. A leadership that it ends
// must have been ended by lose before. One of this node in a newer epoch goes on with its work.
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

// retell shows what the leader says of itself now.
func (b *leadershipState) publishMeta(leader algo.NodeID, meta string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.state; !b.ended && s.Leader.ID == leader && s.Leader.meta != meta {
		s.Leader.meta, s.At = meta, time.Now()
		b.replace(s)
	}
}

// lose ends the leadership of this node, if there is one. The last state is shown in any case: nobody
// leads as far as this node knows, because it does not look any more.
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

// show replaces the state. Whoever works for a leadership that is over is told
// before show returns, thus before anything that follows from it is done. To cancel
// a context runs no code of the application on this goroutine.
func (b *leadershipState) replace(s State) {
	for w := range b.tasks {
		if !s.IsLeader && !w.ended.Swap(true) {
			w.cancel(s.Cause)
		}
	}
	b.state = s
	close(b.changed)
	b.changed = make(chan struct{})
}

// serve has end called with the cause when the leadership l of this node ends. It
// returns nil when it is over already. When the work is done it is given back.
func (b *leadershipState) register(l Leadership, end context.CancelCauseFunc) *leadTask {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.IsLeader || b.state.Leader.Epoch != l.Epoch {
		return nil
	}
	w := &leadTask{leadershipState: b, cancel: end}
	b.tasks[w] = struct{}{}
	return w
}

// done takes work back that has returned, and reports whether its leadership was over by then; else
// in which epoch that is now.
func (b *leadershipState) unregister(w *leadTask) (now algo.Epoch, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tasks, w)
	return b.state.Leader.Epoch, w.ended.Swap(true)
}

// left is how much of the leadership is left if nothing more is heard; false if it has no end.
func (b *leadershipState) remaining() (time.Duration, bool) {
	until := time.Duration(b.leaseEnd.Load())
	if until == 0 {
		return 0, false
	}
	return until - b.clock(), true
}

// idle reports whether all work has returned.
func (b *leadershipState) isIdle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tasks) == 0
}

// read returns the state, a channel that is closed when it changes, and whether it
// is the last.
func (b *leadershipState) snapshot() (State, <-chan struct{}, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.changed, b.ended
}
