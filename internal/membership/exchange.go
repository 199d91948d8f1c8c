package membership

import (
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// pause is the time between two rosters that answer one peer. Nodes that never come to agree,
// because one of them is not what it should be, must not keep each other busy with it.
const pause = 100 * time.Millisecond

// told is what this node knows of what a peer knows of the membership. Without one the peer
// may never have heard of this node.
type told struct {
	digest uint64        // of the roster that it was told last
	at     time.Duration // when
	owed   bool          // it is to be told another one, after the pause
	has    uint64        // the digest of ours that it has shown last
}

// tell sends our roster at once, before what the algorithm will send to the same peer: a
// stranger's messages are dropped.
func (m *Machine) tell(now time.Duration, peer algo.NodeID) {
	m.env.Send(peer, m.roster.Roster)
	m.told[peer] = told{digest: m.roster.digest, at: now, has: m.told[peer].has}
}

// broadcast tells every member.
func (m *Machine) broadcast(now time.Duration) {
	for peer := range m.view.Others(m.self()) {
		m.tell(now, peer)
	}
}

// Introduce tells a member that may not have heard of this node. The host calls it before
// anything else is said to it.
func (m *Machine) Introduce(now time.Duration, peer algo.NodeID) {
	if m.settled {
		return // everybody knows everybody
	}
	if _, ok := m.told[peer]; !ok && m.view.Contains(peer) {
		m.tell(now, peer)
	}
}

// Shown takes the digest that a peer has shown, and has our roster sent to it if that is
// another one.
func (m *Machine) Shown(now time.Duration, peer algo.NodeID, digest uint64) {
	switch {
	case m.joining():
	case digest == m.roster.digest:
		m.agreed(peer)
		if m.awaits(peer) {
			m.heal(now, peer)
		}
	default:
		m.heal(now, peer)
	}
}

// agreed notes that a peer knows what we know.
func (m *Machine) agreed(peer algo.NodeID) {
	m.told[peer] = told{digest: m.roster.digest, at: m.told[peer].at, has: m.roster.digest}
	if m.view.Contains(peer) {
		m.first.heard = true
		m.acquit(peer)
	}
	delete(m.outside, peer)
}

// Spoken takes it that somebody has spoken to us, which was dropped if it is no member: it may not know
// yet. Two members that do not watch each other show each other no digest. Without this, two leaders of
// whom each is the higher one in its own view would fight for ever.
func (m *Machine) Spoken(now time.Duration, peer algo.NodeID) {
	if known := m.settled && m.view.Contains(peer); !known && m.told[peer].has != m.roster.digest {
		m.heal(now, peer)
	}
}

// heal tells a peer that knows something else: now, or after the pause.
func (m *Machine) heal(now time.Duration, peer algo.NodeID) {
	t, ok := m.told[peer]
	switch {
	case !ok || now-t.at >= pause:
		m.tell(now, peer)
	case t.digest != m.roster.digest:
		t.owed = true
		m.told[peer] = t
		m.repays = min(m.repays, t.at+pause)
	}
}

// repay tells those whose pause is over.
func (m *Machine) repay(now time.Duration) {
	if m.repays > now {
		return
	}
	m.repays = never
	for _, peer := range slices.SortedFunc(maps.Keys(m.told), algo.NodeID.Compare) {
		switch t := m.told[peer]; {
		case !t.owed:
		case t.at+pause > now:
			m.repays = min(m.repays, t.at+pause)
		default:
			m.tell(now, peer)
		}
	}
}
