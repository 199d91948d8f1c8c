package web

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

// maxHistory is the number of changes that are kept, for clients that connect later or again.
const maxHistory = 64

// Change is a change of the leadership as this node learned of it: an event of /events.
type Change struct {
	// At is the time at which the node learned of the change.
	At time.Time `json:"at"`
	// Leader is the new leader; null if none is known. A second change in the same epoch means that other data of the
	// leader has changed.
	Leader *Leader `json:"leader"`
	// Leads is set if this node is the leader.
	Leads bool `json:"leads"`
	// Election is the cause of the election that led to the change, and ElectionAt the time at which this node learned
	// of it. Both are absent without an election, as when a node is connected again.
	Election   *algo.ElectionCause `json:"election,omitempty"`
	ElectionAt time.Time           `json:"election_at,omitzero"`
	// Leaderless is the time without a leader, as far as this node knows, in nanoseconds: from the last sign of life of
	// the previous leader, or from ElectionAt if that is later, to At. Absent without an election.
	Leaderless time.Duration `json:"took_ns,omitzero"`

	number uint64 // from 1
}

// history holds the last changes of the leadership. Any number of readers follow it, each at its own pace. A slow
// reader skips changes that are no longer kept, and delays no other reader.
type history struct {
	run string // differs between processes

	mu      sync.Mutex
	kept    []Change // the last ones, by number
	grown   chan struct{}
	closed  bool      // no change will follow
	called  time.Time // time of the last election that was counted
	leader  *Leader   // last known leader
	changes uint64    // number of changes of the leader or of the epoch

	failovers histogram // in seconds
}

func newHistory() *history {
	return &history{run: rand.Text(), grown: make(chan struct{})}
}

// follow adds each change of the node until ctx ends, or the node has stopped.
func (h *history) follow(ctx context.Context, n *cluster.Node) {
	for s := range n.Watch(ctx) {
		if !s.At.IsZero() { // zero: the node has taken part in no election yet
			h.add(s, n.ID())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	close(h.grown)
}

// add adds the state s of the node itself as a change.
func (h *history) add(s cluster.State, self algo.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Change{At: s.At, Leader: leaderOf(s), Leads: s.IsLeader, number: 1}
	if last := len(h.kept) - 1; last >= 0 {
		c.number += h.kept[last].number
	}
	if s.HasLeader() && !s.ElectionAt.IsZero() && !s.ElectionAt.Equal(h.called) {
		h.called = s.ElectionAt
		c.Election, c.ElectionAt = &s.Election, s.ElectionAt
		c.Leaderless = max(s.At.Round(0).Sub(s.ElectionAt), 0) + s.Election.SilentFor
		if s.Election.Caller == self && !s.Election.Previous.IsZero() {
			h.failovers.observe(failovers, c.Leaderless.Seconds())
		}
	}
	if l := c.Leader; l != nil && (h.leader == nil || h.leader.ID != l.ID || h.leader.Epoch != l.Epoch) {
		h.leader = l
		h.changes++
	}
	h.kept = append(h.kept, c)
	h.kept = slices.Delete(h.kept, 0, max(len(h.kept)-maxHistory, 0))
	close(h.grown)
	h.grown = make(chan struct{})
}

// counts returns the number of leaderships that have begun, and the failovers.
func (h *history) counts() (begun uint64, failovers histogram) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failovers = h.failovers
	failovers.counts = slices.Clone(failovers.counts)
	return h.changes, failovers
}

// after returns the kept changes above a number, a channel that is closed at the next change, and whether no change
// will follow. It returns all kept changes if no change had the number yet.
func (h *history) after(number uint64) (fresh []Change, grown <-chan struct{}, closed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := len(h.kept) - 1; last < 0 || number > h.kept[last].number {
		number = 0
	}
	for _, c := range h.kept {
		if c.number > number {
			fresh = append(fresh, c)
		}
	}
	return fresh, h.grown, h.closed
}
