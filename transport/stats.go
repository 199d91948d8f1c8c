package transport

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
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
	// "handshake", "wrong id", "self", "duplicate id", "too many pending", "too many
	// peers", "too many clients", "protocol", "truncated frame", "closed before hello",
	// "slow hello", "slow frame", "slow write", "handler", "disconnected".
	Refused map[string]uint64

	Pending, Peers, Clients int // connections: without a hello or leaving; of nodes; of clients
}

// counters are what Stats reads.
type counters struct {
	framesIn, framesOut, bytesIn, bytesOut      atomic.Uint64
	accepted, acceptErrors, dials, dialsFailed  atomic.Uint64
	fullQueue, noAddress, lost, dialLost, large atomic.Uint64
	afterClose                                  atomic.Uint64

	mu      sync.Mutex
	refused map[string]uint64
}

func (n *counters) refuse(label string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refused == nil {
		n.refused = make(map[string]uint64)
	}
	n.refused[label]++
}

// Stats returns the counters. Maps hold only what happened.
func (t *Transport) Stats() Stats {
	n := &t.count
	s := Stats{
		FramesIn: n.framesIn.Load(), FramesOut: n.framesOut.Load(),
		BytesIn: n.bytesIn.Load(), BytesOut: n.bytesOut.Load(),
		Accepted: n.accepted.Load(), AcceptErrors: n.acceptErrors.Load(),
		Dials: n.dials.Load(), DialsFailed: n.dialsFailed.Load(),
		Dropped: make(map[string]uint64), Refused: make(map[string]uint64),
	}
	for reason, count := range map[string]uint64{
		"queue full": n.fullQueue.Load(), "no address": n.noAddress.Load(), "connection lost": n.lost.Load(),
		"dial failed": n.dialLost.Load(), "too large": n.large.Load(), "closed": n.afterClose.Load(),
	} {
		if count > 0 {
			s.Dropped[reason] = count
		}
	}
	n.mu.Lock()
	for reason, count := range n.refused {
		s.Refused[reason] = count
	}
	n.mu.Unlock()
	t.mu.Lock()
	s.Pending, s.Peers, s.Clients = t.parked.Len(), t.sessions, t.clients
	t.mu.Unlock()
	return s
}

// limiter is a token bucket for log lines: who floods a node must not fill its disk.
type limiter struct {
	mu         sync.Mutex
	tokens     int
	filled     time.Time
	suppressed int
}

const (
	logBurst    = 20          // lines at once
	logInterval = time.Second // and one more for each
)

// allow reports whether a line may be written now, and how many were not since the
// last one.
func (l *limiter) allow(now time.Time) (ok bool, suppressed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.filled.IsZero() {
		l.tokens, l.filled = logBurst, now
	}
	if n := int(now.Sub(l.filled) / logInterval); n > 0 {
		l.tokens = min(l.tokens+n, logBurst)
		l.filled = l.filled.Add(time.Duration(n) * logInterval)
	}
	if l.tokens == 0 {
		l.suppressed++
		return false, 0
	}
	l.tokens--
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}

// take returns what is still suppressed, for a last line.
func (l *limiter) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.suppressed
	l.suppressed = 0
	return n
}

// blame counts and logs a connection that was closed with blame.
func (t *Transport) blame(c *conn, label string, err error) {
	t.count.refuse(label)
	level, limit := slog.LevelWarn, &t.hostile
	switch label {
	case "self", "disconnected":
		level = slog.LevelDebug // a node among its own seeds, and what the caller knows
	case "duplicate id":
		level, limit = slog.LevelError, &t.alarms // must not drown among strangers
	}
	t.log(level, limit, "connection closed", c, "reason", label, "error", err)
}

// log writes one line about a connection, within a limit.
func (t *Transport) log(level slog.Level, limit *limiter, text string, c *conn, args ...any) {
	if !t.o.Log.Enabled(t.ctx, level) {
		return
	}
	if limit != nil {
		ok, suppressed := limit.allow(time.Now())
		if !ok {
			return
		}
		if suppressed > 0 {
			args = append(args, "suppressed", suppressed)
		}
	}
	args = append([]any{"addr", c.addr, "dialed", c.dialed}, args...)
	if c.peer.ID != (ID{}) {
		args = append(args, "peer", idText(c.peer.ID), "incarnation", c.peer.Incarnation)
	}
	t.o.Log.Log(t.ctx, level, text, args...)
}
