package engine

import (
	"maps"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// Counters count what a node sent and received since it started.
type Counters struct {
	// Kinds counts messages by kind: those of elections, and beside them those of
	// the membership.
	Kinds map[string]Count
	// Beats counts heartbeats: all that detectors say, and messages that only repeat what was
	// said (see algo.Repeat).
	Beats Count
	// Refused counts messages that were refused, as of poisoned epochs: the connection was
	// closed.
	Refused uint64
	// Strangers counts those of who is no member, which were dropped: "beats", "elections", and
	// "membership" for what only members may say of it.
	Strangers map[string]uint64
}

// other is the kind of what is in no codec.
const other = "other"

// Count is how many went out and came in.
type Count struct{ Sent, Received uint64 }

// counting is the Counters of an engine. They cannot grow: what is no message of the
// algorithm nor of the engine is counted as one kind.
type counting struct {
	Counters
	known map[string]bool
}

func newCounters(messages []algo.Message) counting {
	c := counting{Counters: Counters{Kinds: make(map[string]Count), Strangers: make(map[string]uint64)}, known: make(map[string]bool)}
	for _, m := range slices.Concat(messages, Messages()) {
		c.known[m.Kind()] = true
	}
	return c
}

// count counts a message that was sent, or received.
func (c *counting) count(m algo.Message, sent, received uint64) {
	switch m.(type) {
	case fd.Beat, fd.Watch, fd.Doubt, fd.Vouch, algo.Repeat:
		c.Beats.Sent += sent
		c.Beats.Received += received
		return
	}
	kind := m.Kind()
	if !c.known[kind] {
		kind = other
	}
	of := c.Kinds[kind]
	c.Kinds[kind] = Count{of.Sent + sent, of.Received + received}
}

// stranger counts what somebody has said who is no member.
func (c *counting) stranger(m algo.Message) {
	switch m.(type) {
	case membership.Join, membership.Roster, membership.Reject: // whoever it is may say so
	case membership.Propose, membership.Held, membership.Stand:
		c.Strangers["membership"]++
	case fd.Beat, fd.Watch, fd.Doubt, fd.Vouch, Goodbye:
		c.Strangers["beats"]++
	default:
		c.Strangers["elections"]++
	}
}

// Counters returns a copy.
func (e *Engine) Counters() Counters {
	c := e.counters.Counters
	c.Kinds, c.Strangers = maps.Clone(c.Kinds), maps.Clone(c.Strangers)
	return c
}
