package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// sendSelf tells a peer what this node is.
func (m *Dynamic) sendSelf(now time.Duration, peer algo.NodeID) {
	m.env.Send(peer, Self{m.options.Self, m.config.ID, m.standby.remaining(now), m.options.Bootstrap})
}

func (m *Dynamic) sendSelfToAll(now time.Duration) {
	for _, peer := range m.links.peers() {
		m.sendSelf(now, peer)
	}
}

// requestJoin makes a learner ask to be added when it has a config, or knows that it is committed. It asks the peer
// that has sent the config, and the author. One of them leads most likely. The next retry asks all peers. If each
// config did, N nodes that join at once would send N³ requests.
func (m *Dynamic) requestJoin(now time.Duration, from algo.NodeID) {
	if m.isVoter() {
		return
	}
	m.scheduleRetry(now)
	m.dialMembers() // the leader is one of them
	m.sendSelf(now, from)
	if author := m.config.Author; author != from && m.links.has(author) {
		m.sendSelf(now, author)
	}
}

// handleSelf handles what a node says about itself. The leader adds a node, or changes its entry, only
// if the node holds the present config (R9): it is alive then, and can save. A node that holds another
// config receives this one first.
func (m *Dynamic) handleSelf(now time.Duration, from algo.NodeID, s Self) {
	l := m.links.find(from)
	if l == nil {
		return
	}
	if err := l.checkSelf(s.Member); err != nil {
		m.env.Reject(from, err)
		return
	}
	l.self, l.holds, l.bootstraps = s.Member, s.Holds, s.Bootstraps
	l.isLearner = m.isLearner(from)
	m.handleStandby(now, from, s.Standby)
	isCurrent := s.Holds == m.config.ID || !m.keeps(r9) && m.isLeader()
	if !isCurrent {
		m.sendConfig(now, from)
		return
	}
	if e, _ := m.config.Find(from); e != s.Member && m.isLeader() {
		m.addOrUpdate(now, s.Member)
	}
}

// admitLearners adds a learner as soon as that can be done: when this node has become the leader, when it holds the
// lease, or when the change before is committed. Otherwise each of these steps of a join would wait for the next
// retry of the learner. Only its predecessor is not removed before the learner asks again: a suspicion may be wrong
// for a moment.
func (m *Dynamic) admitLearners(now time.Duration) {
	if !m.links.haveLearner() || !m.isLeader() {
		return
	}
	for _, l := range m.links {
		if !l.isLearner || l.holds != m.config.ID && m.keeps(r9) || m.rejectReason(l.self) != "" {
			continue
		}
		if _, replaces := m.predecessor(l.self); !replaces {
			m.addOrUpdate(now, l.self)
		} else if m.needsRewrite() {
			m.rewrite(now)
		}
	}
}

// isLearner reports whether a peer that has told about itself wants to join.
func (m *Dynamic) isLearner(peer algo.NodeID) bool {
	return !m.isBlank() && !m.config.Has(peer) && !slices.Contains(m.config.Expired, peer)
}

func (m *Dynamic) handleStandby(now time.Duration, from algo.NodeID, period time.Duration) {
	if l := m.links.find(from); l != nil && m.standby.handle(now, from, l.incarnation, period) {
		m.viewStale = true
	}
}

// addOrUpdate adds a learner, or changes the entry of a member.
func (m *Dynamic) addOrUpdate(now time.Duration, e Member) {
	if mine, _ := m.config.Find(e.ID); mine == e {
		return
	}
	if reason := m.rejectReason(e); reason != "" {
		m.env.Send(e.ID, Reject{Reason: reason})
		return
	}
	if old, found := m.predecessor(e); found && m.keeps(r17) {
		m.replace(now, old)
		return
	}
	m.reconfig(now, m.config.with(e), m.config.Expired)
}

// rejectReason returns why e can never be added, empty if it can.
func (m *Dynamic) rejectReason(e Member) string {
	if err := e.check(); err != nil {
		return err.Error()
	}
	if other, found := m.namesake(e); found {
		return nameTaken(other)
	}
	if !fits(m.config.with(e)) {
		return fmt.Sprintf("the cluster has %d members, and their config would not fit in one frame with another", len(m.config.Members))
	}
	return ""
}

// namesake returns another member with the name of e, and another address.
func (m *Dynamic) namesake(e Member) (Member, bool) {
	for _, other := range m.config.Members {
		if other.ID != e.ID && other.Name == e.Name && other.Addr != e.Addr {
			return other, true
		}
	}
	return Member{}, false
}

func nameTaken(other Member) string {
	return fmt.Sprintf("the name %s belongs to the member at %s", other.Name, other.Addr)
}

// predecessor returns the member that has the name and the address of e. It is the same node, which has
// lost its data directory since.
func (m *Dynamic) predecessor(e Member) (Member, bool) {
	for _, other := range m.config.Members {
		if other.ID != e.ID && other.Name == e.Name && other.Addr == e.Addr {
			return other, true
		}
	}
	return Member{}, false
}

// replace removes the predecessor of a learner, if it is suspected (R17). The learner is added when that is
// committed and the learner holds that config.
func (m *Dynamic) replace(now time.Duration, old Member) {
	if suspected, _ := m.env.Suspected(old.ID); suspected {
		m.reconfig(now, m.config.without(old.ID), m.config.expiredWith(old.ID))
	}
}

// handleReject ends a learner that cannot be added.
func (m *Dynamic) handleReject(r Reject) {
	if !m.isVoter() {
		m.end = &RejectedError{r.Reason}
	}
}
