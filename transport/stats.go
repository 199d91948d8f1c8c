package transport

import (
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/elect-go/elect/internal/hostile"
)

// Stats are counters since New, and gauges as of now.
type Stats struct {
	FramesIn, FramesOut uint64 // the caller's frames: delivered, and handed to the kernel
	BytesIn, BytesOut   uint64 // as on the wire: with lengths, hellos and control frames

	Accepted, AcceptErrors uint64 // connections taken from the listener, and its failures
	Dials, DialsFailed     uint64

	// Dropped counts frames that were not sent, by reason: "queue full",
	// "no address", "dial failed", "connection lost", "too large", "closed".
	Dropped map[string]uint64
	// Refused counts connections that this side closed with blame, by reason:
	// "handshake", "wrong id", "self", "duplicate id", "replaced", "too many pending", "too many
	// peers", "too many clients", "protocol", "truncated frame", "closed before hello",
	// "slow hello", "slow frame", "slow write", "handler", "disconnected".
	Refused map[string]uint64

	Pending, Peers, Clients int // connections: without a hello or leaving; of nodes; of clients
}

// counters are what Stats reads.
type counters struct {
	framesIn, framesOut, bytesIn, bytesOut     atomic.Uint64
	accepted, acceptErrors, dials, dialsFailed atomic.Uint64

	mu               sync.Mutex
	dropped, refused map[string]uint64
}

func (n *counters) refuse(label string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused[label]++
}

// drop counts frames that were not sent.
func (n *counters) drop(reason string, frames int) {
	if frames == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropped[reason] += uint64(frames)
}

// Stats returns the counters. Maps hold only what happened.
func (t *Transport) Stats() Stats {
	n := &t.count
	s := Stats{
		FramesIn: n.framesIn.Load(), FramesOut: n.framesOut.Load(),
		BytesIn: n.bytesIn.Load(), BytesOut: n.bytesOut.Load(),
		Accepted: n.accepted.Load(), AcceptErrors: n.acceptErrors.Load(),
		Dials: n.dials.Load(), DialsFailed: n.dialsFailed.Load(),
	}
	n.mu.Lock()
	s.Dropped, s.Refused = maps.Clone(n.dropped), maps.Clone(n.refused)
	n.mu.Unlock()
	t.mu.Lock()
	s.Pending, s.Peers, s.Clients = len(t.parked), t.sessions, t.clients
	t.mu.Unlock()
	return s
}

// log writes one line about a connection, within the limit of one that has one.
func (t *Transport) log(level slog.Level, limited *hostile.Log, text string, c *conn, args ...any) {
	args = append([]any{"addr", c.addr, "dialed", c.dialed}, args...)
	if c.peer.ID != (ID{}) {
		args = append(args, "peer", idText(c.peer.ID), "incarnation", c.peer.Incarnation)
	}
	if limited != nil {
		limited.Line(level, text, args...)
		return
	}
	t.o.Log.Log(t.ctx, level, text, args...)
}
