package explore

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The token of a leader is its epoch and its ID, in this order. A leader sends it with each
// request, so that a resource can reject late requests of earlier leaders. No algorithm claims the
// following properties.
const (
	// NodeTokens: the leaders that a node follows never have a lower token than the one before, not
	// even over crashes.
	NodeTokens algo.Property = "node-tokens"
	// ResourceTokens: no node becomes leader with a lower token than an earlier leader. A resource
	// that hears of each leader at once rejects none of them.
	ResourceTokens algo.Property = "resource-tokens"
)

// All returns all properties that can be requested. algo.Contract is always checked. The package
// comment defines algo.Agreement.
func All() []algo.Property {
	return []algo.Property{algo.OneLeaderPerEpoch, algo.MonotonicEpochs, algo.Durable, algo.NoPhantom, algo.Agreement, NodeTokens, ResourceTokens}
}

// Claimed returns the properties of the contract and those that the algorithm claims.
func Claimed(claims algo.Claims) []algo.Property {
	properties := All()[:5]
	if !claims.OneLeaderPerEpoch {
		properties = properties[1:]
	}
	return properties
}

// history has all leaders so far, and the last leader that each node has followed.
type history struct {
	leaders     algosim.LeaderHistory
	followed    [MaxNodes]algo.Leader
	fingerprint algosim.Fingerprint
}

func (m *model) internHistory(h history) uint32 {
	h.fingerprint = algosim.FingerprintOf(h.leaders, h.followed)
	return intern(m, &m.histories, h.fingerprint, h)
}

// announcement is an announcement after a history.
type announcement struct {
	history uint32
	node    int
	leader  algo.Leader
}

// announceResult is the history after an announcement, and what the announcement violates.
type announceResult struct {
	history    uint32
	violations []algosim.Violation
}

// announce returns the result of an announcement. It is computed once.
func (m *model) announce(before uint32, node int, l algo.Leader) announceResult {
	after := announceResult{history: before}
	if !m.tracksLeaders && !m.tracksFollowed || l.IsVacant() {
		return after
	}
	key := announcement{before, node, l}
	if known, ok := m.announced[key]; ok {
		return known
	}
	h := m.histories[before] // a copy
	add := func(v *algosim.Violation) {
		if v != nil {
			after.violations = append(after.violations, *v)
		}
	}
	if m.tracksFollowed {
		add(compareTokens(NodeTokens, m.name(node)+" follows", l, h.followed[node]))
		h.followed[node] = l
	}
	switch {
	case !m.tracksLeaders:
	case l.ID != m.ids[node]:
		add(h.leaders.CheckFollow(m.ids[node], l))
	default:
		if len(h.leaders) > 0 {
			add(compareTokens(ResourceTokens, "a resource hears of", l, h.leaders[len(h.leaders)-1]))
		}
		h.leaders = slices.Clone(h.leaders)
		add(h.leaders.AddLeader(l))
	}
	after.history = m.internHistory(h)
	m.announced[key] = after
	return after
}

// compareTokens returns a violation if the token of l is lower than the token of the leader before.
func compareTokens(p algo.Property, where string, l, before algo.Leader) *algosim.Violation {
	if l.Compare(before) >= 0 {
		return nil
	}
	return &algosim.Violation{Property: p, What: algosim.Sprintf("%s %s in epoch %d after %s in epoch %d", where, l.ID, l.Epoch, before.ID, before.Epoch)}
}
