package explore

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// A leader's token is its epoch and its id, in this order: it goes with what the leader does, so
// that a resource can refuse what comes late. No algorithm claims these two.
const (
	// NodeTokens: of the leaders that a node names, over crashes too, none has a lower token than
	// the one before.
	NodeTokens algo.Property = "node-tokens"
	// ResourceTokens: nobody begins to lead with a lower token than somebody had before. A resource
	// that hears of each leader at once refuses none of them.
	ResourceTokens algo.Property = "resource-tokens"
)

// All returns all properties that can be asked for. algo.Contract is always looked for.
// algo.Agreement is asked for as the package comment says.
func All() []algo.Property {
	return []algo.Property{algo.OneLeaderPerEpoch, algo.EpochsGrow, algo.Durable, algo.NoPhantom, algo.Agreement, NodeTokens, ResourceTokens}
}

// Claimed returns the properties that an algorithm promises: those of the contract,
// and what it claims.
func Claimed(claims algo.Claims) []algo.Property {
	properties := All()[:5]
	if !claims.OneLeaderPerEpoch {
		properties = properties[1:]
	}
	return properties
}

// history is who has announced itself so far, and whom each node named last.
type history struct {
	led   algosim.LeaderHistory
	named [MaxNodes]algo.Leader
	print algosim.Fingerprint
}

func (m *model) history(h history) uint32 {
	h.print = algosim.FingerprintOf(h.led, h.named)
	return number(m, &m.histories, h.print, h)
}

// announcement is made after a history.
type announcement struct {
	history uint32
	node    int
	leader  algo.Leader
}

// announced is what an announcement makes of the history, and what it breaks.
type announced struct {
	history uint32
	broken  []algosim.Violation
}

// announce returns what becomes of a history when a node announces a leader. It is computed
// once.
func (m *model) announce(before uint32, node int, l algo.Leader) announced {
	after := announced{history: before}
	if !m.tracksLed && !m.tracksNamed || l.Vacant() {
		return after
	}
	key := announcement{before, node, l}
	if known, ok := m.announced[key]; ok {
		return known
	}
	h := m.histories[before] // a copy
	breaks := func(b *algosim.Violation) {
		if b != nil {
			after.broken = append(after.broken, *b)
		}
	}
	if m.tracksNamed {
		breaks(goesBack(NodeTokens, m.name(node)+" names", l, h.named[node]))
		h.named[node] = l
	}
	switch {
	case !m.tracksLed:
	case l.ID != m.ids[node]:
		breaks(h.led.CheckFollow(m.ids[node], l))
	default:
		if len(h.led) > 0 {
			breaks(goesBack(ResourceTokens, "a resource hears of", l, h.led[len(h.led)-1]))
		}
		h.led = slices.Clone(h.led)
		breaks(h.led.AddLeader(l))
	}
	after.history = m.history(h)
	m.announced[key] = after
	return after
}

// goesBack says that the token of a leader is lower than that of one before.
func goesBack(p algo.Property, where string, l, before algo.Leader) *algosim.Violation {
	if l.Compare(before) >= 0 {
		return nil
	}
	return &algosim.Violation{Property: p, What: algosim.Sprintf("%s %s in epoch %d after %s in epoch %d", where, l.ID, l.Epoch, before.ID, before.Epoch)}
}
