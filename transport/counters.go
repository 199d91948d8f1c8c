package transport

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/elect-go/elect/internal/hostile"
)

// counters count by name.
type counters struct {
	mu sync.Mutex
	by map[string]uint64
}

// add counts so many of a name, and of the name with a reason if there is one.
func (n *counters) add(name, reason string, many int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.by[name] += uint64(many)
	if reason != "" && many > 0 {
		n.by[name+"."+reason] += uint64(many)
	}
}

// Counters returns what was counted since New. By reason there is only what happened.
//
//   - "frames.in", "frames.out": the caller's frames, delivered and handed to the kernel.
//   - "bytes.in", "bytes.out": as on the wire, or inside what Security has made, with lengths, hellos and control frames.
//   - "accepted", "accepted.failed": connections taken from the listener, and its failures.
//   - "dials", and of these "dials.failed".
//   - "dropped": frames that were not sent; and by reason, as "dropped.queue full": "queue full", "no address", "dial failed",
//     "connection lost", "too large", "closed".
//   - "closed": connections that this side closed with blame; and by reason: "security", "handshake", "wrong id", "identity", "expired", "self", "duplicate id", "replaced",
//     "too many pending", "too many peers", "too many clients", "protocol", "truncated frame", "closed before hello", "slow hello",
//     "slow frame", "slow write", "handler", "disconnected".
//   - "connections": to nodes, now.
func (t *Transport) Counters() map[string]uint64 {
	for _, name := range []string{"frames.in", "frames.out", "bytes.in", "bytes.out", "accepted", "accepted.failed", "dials", "dials.failed", "dropped", "closed"} {
		t.count.add(name, "", 0)
	}
	t.count.mu.Lock()
	all := maps.Clone(t.count.by)
	t.count.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	all["connections"] = uint64(t.sessions)
	return all
}

// log writes one line about a connection, within the limit of one that has one.
func (t *Transport) log(level slog.Level, limited *hostile.Log, text string, c *conn, args ...any) {
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
