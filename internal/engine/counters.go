package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// Counters count what a node sent and received since it started.
type Counters struct {
	// Kinds counts messages by kind: those of elections, and beside them those of
	// the membership.
	Kinds map[string]*Count
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
	c := counting{Counters: Counters{Kinds: make(map[string]*Count), Strangers: make(map[string]uint64)}, known: make(map[string]bool)}
	for _, m := range slices.Concat(messages, Messages()) {
		c.known[m.Kind()] = true
	}
	return c
}

func (c *counting) of(m algo.Message) *Count {
	switch m.(type) {
	case fd.Beat, fd.Watch, fd.Doubt, fd.Vouch, algo.Repeat:
		return &c.Beats
	}
	kind := m.Kind()
	if count, ok := c.Kinds[kind]; ok {
		return count
	}
	if !c.known[kind] {
		kind = other
	}
	count, ok := c.Kinds[kind]
	if !ok {
		count = new(Count)
		c.Kinds[kind] = count
	}
	return count
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

func (c *counting) sent(m algo.Message)     { c.of(m).Sent++ }
func (c *counting) received(m algo.Message) { c.of(m).Received++ }

// Counters returns a copy.
func (e *Engine) Counters() Counters {
	c := Counters{Kinds: make(map[string]*Count, len(e.counters.Kinds)), Beats: e.counters.Beats, Refused: e.counters.Refused, Strangers: maps.Clone(e.counters.Strangers)}
	for _, kind := range slices.SortedFunc(maps.Keys(e.counters.Kinds), strings.Compare) {
		count := *e.counters.Kinds[kind]
		c.Kinds[kind] = &count
	}
	return c
}
