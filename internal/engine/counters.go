package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// other is the kind of messages that no codec knows. It limits the number of counters.
const other = "other"

// kinds maps the kinds of messages to counted kinds: all messages of the detector count as "heartbeat".
func kinds(messages []algo.Message) map[string]string {
	known := make(map[string]string)
	for _, m := range slices.Concat(messages, Messages()) {
		known[m.Kind()] = m.Kind()
	}
	for _, m := range fd.Messages() {
		known[m.Kind()] = "heartbeat"
	}
	return known
}

// counter names a counter: an event, and a kind or cause where it has one. Each message counts, so its name is not
// joined before Counters.
type counter struct{ event, kind string }

func (c counter) String() string {
	if c.kind == "" {
		return c.event
	}
	return c.event + "." + c.kind
}

// Count adds to the counter of an event, such as "sent" or "received", for the kind of a message.
func (e *Engine) Count(event string, m algo.Message, amount int) {
	kind, known := e.kinds[m.Kind()]
	if _, repeat := algo.Unwrap(m); repeat {
		kind = "heartbeat"
	} else if !known {
		kind = other
	}
	e.counters[counter{event, kind}] += uint64(amount)
}

// handleNonMember counts and drops a message from a peer that is not a member. It holds a message that matters if the
// peer becomes a member.
func (e *Engine) handleNonMember(now time.Duration, from algo.NodeID, said algo.Message) {
	kind, isKept := "heartbeats", false
	m, _ := algo.Unwrap(said)
	switch m := m.(type) {
	case fd.Subscribe:
		e.connState(from).subscribe = m
	case fd.Heartbeat, fd.Probe, fd.ProbeAck, Goodbye:
	default:
		kind, isKept = "elections", !e.running
	}
	e.counters[counter{"nonmembers", kind}]++
	if isKept {
		e.holdMessage(now, from, said)
	} else {
		e.ignore(now, from, said, errors.New("it is not a member"))
	}
	e.handleDigest(now, from, m)
}

// Counters returns the counters since the start of this node. Messages are counted by event and kind, such as
// "received.elect". The kind "heartbeat" counts all messages of the detector, and messages that an algorithm repeats
// (see algo.Periodic). "nonmembers" counts dropped messages of non-members: "heartbeats" and "elections". "rejected"
// counts invalid messages, for which the connection was closed. "elections" and "suspicions" count those of this node,
// by cause.
func (e *Engine) Counters() map[string]uint64 {
	all := make(map[string]uint64, len(e.counters))
	for c, count := range e.counters {
		all[c.String()] = count
	}
	return all
}
