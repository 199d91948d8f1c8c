package membership

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// R19: a resignation is in no config. If it were, and all live members had resigned, only a leader
// could end it, and there is none. The node itself says that it is standby when that begins, when it
// ends, and on each connection. It ends after its duration, and with the process.

// standby knows which members are ineligible for a while because they resigned.
type standby struct {
	endsAt time.Duration // when this node becomes eligible again; 0 if it is eligible
	peers  []standbyPeer // sorted by ID
}

type standbyPeer struct {
	id          algo.NodeID
	incarnation uint64
	endsAt      time.Duration
}

func (s *standby) search(id algo.NodeID) (int, bool) {
	return slices.BinarySearchFunc(s.peers, id, func(p standbyPeer, id algo.NodeID) int { return p.id.Compare(id) })
}

// has reports whether a peer is standby.
func (s *standby) has(id algo.NodeID) bool {
	_, found := s.search(id)
	return found
}

// start makes this node standby for a period.
func (s *standby) start(now, period time.Duration) { s.endsAt = after(now, period) }

// remaining returns how long this node stays standby.
func (s *standby) remaining(now time.Duration) time.Duration { return max(s.endsAt-now, 0) }

// handle records how long a peer stays standby, and reports whether that changes anything.
func (s *standby) handle(now time.Duration, from algo.NodeID, incarnation uint64, period time.Duration) (changed bool) {
	i, found := s.search(from)
	p := standbyPeer{from, incarnation, after(now, period)}
	switch {
	case period <= 0 && found:
		s.peers = slices.Delete(s.peers, i, i+1)
	case period <= 0:
		return false
	case found:
		s.peers[i] = p
		return false
	default:
		s.peers = slices.Insert(s.peers, i, p)
	}
	return true
}

// connect ends what an earlier incarnation of peer has said.
func (s *standby) connect(peer algo.NodeID, incarnation uint64) {
	if i, found := s.search(peer); found && s.peers[i].incarnation != incarnation {
		s.peers = slices.Delete(s.peers, i, i+1)
	}
}

// expire ends each standby that is due. It reports whether this node's own has ended, and whether any has.
func (s *standby) expire(now time.Duration) (own, anyEnded bool) {
	before := len(s.peers)
	s.peers = slices.DeleteFunc(s.peers, func(p standbyPeer) bool { return p.endsAt <= now })
	own = s.endsAt > 0 && s.endsAt <= now
	if own {
		s.endsAt = 0
	}
	return own, own || len(s.peers) < before
}

func (s *standby) deadline() time.Duration {
	next := never
	if s.endsAt > 0 {
		next = s.endsAt
	}
	for _, p := range s.peers {
		next = min(next, p.endsAt)
	}
	return next
}

// after returns now + period, for any period.
func after(now, period time.Duration) time.Duration { return now + min(max(period, 0), never-now-1) }

// Resign makes this node ineligible for a period. It stays a member and votes.
func (m *Dynamic) Resign(now, period time.Duration) {
	m.standby.start(now, period)
	m.viewStale = true
	m.sendSelfToAll(now)
}

// IsEligible reports whether a member may be elected now.
func (m *Dynamic) IsEligible(id algo.NodeID) bool {
	e, found := m.config.Find(id)
	return found && m.isEligible(e)
}

func (m *Dynamic) isEligible(e Member) bool {
	return !e.Witness && !(m.IsStandby(e.ID) && m.keeps(r19))
}

// IsStandby reports whether a member is ineligible for a while because it resigned.
func (m *Dynamic) IsStandby(id algo.NodeID) bool {
	return m.standby.has(id) || id == m.self() && m.standby.endsAt > 0
}
