package transport

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/elect-go/elect/internal/loglimit"
)

// counters count events by name.
type counters struct {
	mu     sync.Mutex
	values map[string]uint64
}

// add adds amount to a counter, and to its variant for reason if there is one.
func (n *counters) add(name, reason string, amount int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.values[name] += uint64(amount)
	if reason != "" && amount > 0 {
		n.values[name+"."+reason] += uint64(amount)
	}
}

// Counters returns the counters since New. A counter with a reason exists once it is positive.
//
//   - "frames.in", "frames.out": the caller's frames, delivered and written.
//   - "bytes.in", "bytes.out": bytes below Security, with lengths, hellos and control frames.
//   - "accepted", "accepted.failed": connections accepted from the listener, and its failures.
//   - "dials", "dials.failed": attempts to dial, and failed ones.
//   - "dropped": frames that were not sent; and by reason, such as "dropped.queue full": "queue full", "no address",
//     "dial failed", "connection lost", "too large", "closed".
//   - "closed": connections that this side closed because of the peer; and by reason: "security", "handshake", "wrong
//     id", "identity", "expired", "old credentials", "self", "duplicate id", "replaced", "too many pending", "too many
//     peers", "too many clients", "protocol", "truncated frame", "closed before hello", "slow hello", "slow frame",
//     "slow write", "handler", "disconnected".
//   - "connections": sessions with nodes, now.
func (t *Transport) Counters() map[string]uint64 {
	for _, name := range []string{"frames.in", "frames.out", "bytes.in", "bytes.out", "accepted", "accepted.failed", "dials", "dials.failed", "dropped", "closed"} {
		t.count.add(name, "", 0)
	}
	t.count.mu.Lock()
	all := maps.Clone(t.count.values)
	t.count.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	all["connections"] = uint64(t.sessions)
	return all
}

// log writes one line about a connection, to the limited log if that is not nil.
func (t *Transport) log(level slog.Level, limited *loglimit.Logger, text string, c *conn, args ...any) {
	args = append([]any{"addr", c.addr, "dialed", c.dialed}, args...)
	if c.peer.ID != (ID{}) && !c.peer.Client {
		args = append(args, "peer", idText(c.peer.ID), "incarnation", c.peer.Incarnation)
	}
	if limited != nil {
		limited.Line(level, text, args...)
		return
	}
	t.o.Log.Log(t.ctx, level, text, args...)
}
