package web

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

// remembered is how many changes are kept, for who comes later or comes back.
const remembered = 64

// Change is a change of the leadership, as the node came to know it: an event of /events.
type Change struct {
	// At is when the node knew.
	At time.Time `json:"at"`
	// Leader is who leads from then on; null when nobody is known to. A second one of the same epoch says that
	// something else of the leader has changed.
	Leader *Leader `json:"leader"`
	// Leads says that it is this node.
	Leads bool `json:"leads"`
	// Election is how the election began that has led to it, and ElectionAt when this node knew; absent where
	// there was none, as when the node comes back.
	Election   *algo.ElectionCause `json:"election,omitempty"`
	ElectionAt time.Time           `json:"election_at,omitzero"`
	// Took is how long nobody led, as far as this node can tell, in nanoseconds: from the last sign of life of
	// who led until then, or from ElectionAt where that is later, to At. Absent without an election.
	Took time.Duration `json:"took_ns,omitzero"`

	number uint64 // from 1
}

// history is what has become of the leadership. Any number of readers follow it, each at its own pace: one that
// is slow finds only what is still kept, and holds up nobody.
type history struct {
	run string // another one in each process

	mu      sync.Mutex
	kept    []Change // the last ones, by number
	grown   chan struct{}
	over    bool
	called  time.Time // of the last election that was counted
	leader  *Leader   // the last one known
	changes uint64    // of who leads, or of the epoch

	failovers prometheus.Histogram
}

func newHistory() *history {
	return &history{run: rand.Text(), grown: make(chan struct{}), failovers: newFailovers()}
}

// follow notes what the node knows until ctx ends, or the node has stopped.
func (h *history) follow(ctx context.Context, n *cluster.Node) {
	for s := range n.Watch(ctx) {
		if !s.At.IsZero() { // else it has taken part in no election yet
			h.add(s, n.ID())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	close(h.grown)
}

// add notes what the node itself knows.
func (h *history) add(s cluster.State, itself algo.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Change{At: s.At, Leader: leaderOf(s), Leads: s.IsLeader, number: 1}
	if last := len(h.kept) - 1; last >= 0 {
		c.number += h.kept[last].number
	}
	if s.HasLeader() && !s.ElectionAt.IsZero() && !s.ElectionAt.Equal(h.called) {
		h.called = s.ElectionAt
		c.Election, c.ElectionAt = &s.Election, s.ElectionAt
		c.Took = max(s.At.Round(0).Sub(s.ElectionAt), 0) + s.Election.SilentFor
		if s.Election.Caller == itself && !s.Election.Previous.IsZero() {
			h.failovers.Observe(c.Took.Seconds())
		}
	}
	if l := c.Leader; l != nil && (h.leader == nil || h.leader.ID != l.ID || h.leader.Epoch != l.Epoch) {
		h.leader = l
		h.changes++
	}
	h.kept = append(h.kept, c)
	h.kept = slices.Delete(h.kept, 0, max(len(h.kept)-remembered, 0))
	close(h.grown)
	h.grown = make(chan struct{})
}

// changed is how many leaderships have begun.
func (h *history) changed() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// after returns the changes above a number that are kept, and a channel that is closed when there are
// others; whether there will be none any more. Of a number that was never given it returns all.
func (h *history) after(number uint64) (fresh []Change, grown <-chan struct{}, over bool) {
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
	return fresh, h.grown, h.over
}
