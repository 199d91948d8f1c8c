package engine

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// other is the kind of what is in no codec. It keeps the counters from growing.
const other = "other"

// kinds are those that are counted: of a message of the detector, "beat", else its own.
func kinds(messages []algo.Message) map[string]string {
	known := make(map[string]string)
	for _, m := range slices.Concat(messages, Messages()) {
		known[m.Kind()] = m.Kind()
	}
	for _, m := range fd.Messages() {
		known[m.Kind()] = "beat"
	}
	return known
}

// Count adds to what is counted of messages of a kind: those "sent" or "received", or what its host counts.
func (e *Engine) Count(what string, m algo.Message, many int) {
	kind, known := e.kinds[m.Kind()]
	if _, repeat := algo.Open(m); repeat {
		kind = "beat"
	} else if !known {
		kind = other
	}
	e.counted[what+"."+kind] += uint64(many)
}

// receiveFromNonMember drops a message, and counts it. It keeps a message that matters if the peer becomes a member.
func (e *Engine) receiveFromNonMember(now time.Duration, from algo.NodeID, said algo.Message) {
	kind, isKept := "beats", false
	m, _ := algo.Open(said)
	switch m := m.(type) {
	case fd.Subscribe:
		e.link(from).watch = m
	case fd.Heartbeat, fd.Probe, fd.ProbeAck, Goodbye:
	default:
		kind, isKept = "elections", !e.running
	}
	e.counted["strangers."+kind]++
	if isKept {
		e.keepEarly(now, from, said)
	} else {
		e.ignore(now, from, said, errors.New("it is not a member"))
	}
	e.hear(now, from, m)
}

// Counters are what this node sent and received since it started, by kind, such as "sent.elect" and
// "received.elect". "beat" is all that detectors say, and messages that only repeat what was said (see
// algo.Repeat). "strangers" are the messages of who is no member, which were dropped: of "beats"
// and of "elections". "refused" are those that no node sends, for which the connection was closed. "elections" and "suspicions" are those of this node, by cause.
func (e *Engine) Counters() map[string]uint64 { return maps.Clone(e.counted) }
