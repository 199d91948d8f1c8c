package explore

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// No algorithm claims the following properties. The token of a leader is its epoch and its ID, in this
// order. A leader sends it with each request, so that a resource can reject late requests of earlier
// leaders.
const (
	// NodeTokens: the leaders that a node follows never have a lower token than the one before, not
	// even over crashes.
	NodeTokens algo.Property = "node-tokens"
	// ResourceTokens: no node becomes leader with a lower token than an earlier leader. A resource
	// that hears of each leader at once rejects none of them.
	ResourceTokens algo.Property = "resource-tokens"
	// SingleLeader: at no moment do two running nodes consider themselves leader, in whatever epochs. Without clocks, no
	// algorithm can claim it.
	SingleLeader algo.Property = "single-leader"
)

// All returns all properties that can be requested. algo.Contract is always checked. The package
// comment defines algo.Agreement.
func All() []algo.Property {
	return []algo.Property{algo.OneLeaderPerEpoch, algo.MonotonicEpochs, algo.Durable, algo.NoPhantom, algo.Agreement, NodeTokens, ResourceTokens, SingleLeader}
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

// secondLeader returns a violation if an action made its node leader, while another node is leader too.
func (m *model) secondLeader(s *state, node int, o *outcome) *algosim.Violation {
	if len(o.announces) == 0 || !slices.Contains(m.options.Properties, SingleLeader) {
		return nil
	}
	own := m.nodes[s.nodes[node]]
	if !own.isLeader(m.ids[node]) {
		return nil
	}
	for i, id := range m.ids {
		if other := m.nodes[s.nodes[i]]; i != node && other.isLeader(id) {
			return &algosim.Violation{Property: SingleLeader, What: algosim.Sprintf("%s leads in epoch %d, and %s leads in epoch %d", m.ids[node], own.leader.Epoch, id, other.leader.Epoch)}
		}
	}
	return nil
}

// compareTokens returns a violation if the token of l is lower than the token of the leader before.
func compareTokens(p algo.Property, where string, l, before algo.Leader) *algosim.Violation {
	if l.Compare(before) >= 0 {
		return nil
	}
	return &algosim.Violation{Property: p, What: algosim.Sprintf("%s %s in epoch %d after %s in epoch %d", where, l.ID, l.Epoch, before.ID, before.Epoch)}
}
