package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Reasons why a leader does not change the config now. A request is repeated, so each may pass.
var (
	ErrNotLeader   = errors.New("this node does not lead")
	ErrOlderTerm   = errors.New("the leader has not written a config in its own epoch yet")
	ErrUncommitted = errors.New("the previous config is not committed yet")
	ErrNoLease     = errors.New("the leader has no lease from a quorum of the present members")
	ErrTwoChanges  = errors.New("the change is for more than one member")
	ErrUnreachable = errors.New("no quorum of the changed config is reachable")
	ErrTooLarge    = errors.New("the members would not fit in one frame")
)

// isLeader reports whether this node may write configs (R2). It leads, in an epoch not older than the config,
// and has taken part in no later one. Otherwise its successor may have been elected with an older config.
func (m *Dynamic) isLeader() bool {
	leader, taken := m.env.Leader()
	isCurrent := leader.Epoch == taken || !m.keeps(r2)
	return leader.ID == m.self() && isCurrent && leader.Epoch >= m.config.ID.Term && m.isReady()
}

// term returns the epoch of the leader, which is the config term of what it writes.
func (m *Dynamic) term() algo.Epoch {
	leader, _ := m.env.Leader()
	return leader.Epoch
}

// needsRewrite reports whether this leader has yet to write a config with its own term (R6).
func (m *Dynamic) needsRewrite() bool { return m.config.ID.Term < m.term() && m.keeps(r6) }

// reconfig writes the next config if the rules allow it now, and reports whether it did. If not, the
// node that wants the change repeats its request (R15).
func (m *Dynamic) reconfig(now time.Duration, next []Member, expired []algo.NodeID) bool {
	if m.isLeader() && m.needsRewrite() {
		m.rewrite(now) // R6: the change follows when this is committed
		return false
	}
	if m.checkChange(next) != nil {
		return false
	}
	m.before = nil
	if !sameIDs(m.config.Members, next) {
		m.before = m.config.Members
	}
	m.write(now, m.term(), next, expired)
	m.sendConfigToAll(now)
	return true
}

// checkChange returns why this node may not change the members to next now, or nil.
func (m *Dynamic) checkChange(next []Member) error {
	switch {
	case !m.isLeader():
		return ErrNotLeader
	case m.needsRewrite():
		return ErrOlderTerm
	case !m.committed && m.keeps(r3):
		return ErrUncommitted // R3: quorums of two configs that are two changes apart may be disjoint
	case !m.env.HoldsLease():
		return ErrNoLease // A4: the next lease must meet a voter that has granted this one
	case !quorumsOverlap(m.config.Members, next) && m.keeps(r5):
		return ErrTwoChanges // R5: one member at a time, so that the quorums of two configs in a row overlap
	case !hasEligible(next) && m.keeps(r14):
		return ErrNoEligibleMember // R14
	case !m.reaches(next) && m.keeps(r10):
		return ErrUnreachable // R10: nothing could be changed back
	case !fits(next):
		return ErrTooLarge
	}
	return nil
}

// write makes this node hold a config of its own.
func (m *Dynamic) write(now time.Duration, term algo.Epoch, members []Member, expired []algo.NodeID) {
	expired = slices.DeleteFunc(slices.Clone(expired), func(id algo.NodeID) bool { return Config{Members: members}.Has(id) })
	m.hold(Config{
		Cluster: m.config.Cluster,
		ID:      ConfigID{term, m.config.ID.Version + 1},
		Author:  m.self(),
		Members: members,
		Expired: expired,
	})
	m.retryAt = now // sends it
	m.commitIfHeld(now)
}

// rewrite writes the present members with the term of this leader.
func (m *Dynamic) rewrite(now time.Duration) {
	m.write(now, m.term(), m.config.Members, m.config.Expired)
}

// recommit makes a new leader rewrite a config that is not known to be committed (R6). A leader before may
// have written another config, which a quorum could still commit. A committed config is rewritten when a
// change is wanted, so that an election costs no frame. With a lease the leader renews it once before: no node answers
// a renewal while a slow disk saves the config.
func (m *Dynamic) recommit(now time.Duration) {
	if m.committed && m.keeps(r6Lazy) {
		return
	}
	if m.isLeader() && m.needsRewrite() && m.env.HoldsLease() {
		m.rewrite(now)
	}
}

// hold replaces the config. A config from a peer or from this node is not committed at first.
func (m *Dynamic) hold(c Config) {
	m.config, m.committed, m.acks = c, false, nil
	for i, l := range m.links {
		m.links[i].isLearner = l.hasSelf() && m.isLearner(l.peer)
	}
	m.unsaved, m.viewStale = true, true
}

// handleUpdate handles the config of a peer (R1): a newer one replaces this node's, from any peer.
func (m *Dynamic) handleUpdate(now time.Duration, from algo.NodeID, u Update) {
	if err := u.Config.check(); err != nil {
		m.env.Reject(from, err)
		return
	}
	if l := m.links.find(from); l != nil {
		l.digest = u.Config.digest(u.Committed)
	}
	isOtherCluster := !m.isBlank() && u.Config.Cluster != m.config.Cluster
	if isOtherCluster && m.keeps(r16) {
		m.env.Reject(from, ErrOtherCluster) // R16: a node never changes its cluster
		return
	}
	switch order := u.Config.ID.Compare(m.config.ID); {
	case order < 0:
		m.sendConfig(now, from)
	case order == 0:
		m.handleSameConfig(now, from, u.Committed)
	case m.isOverruled(u.Config):
		m.rewrite(now)
	case m.mayAdopt(from, u):
		m.adopt(now, from, u)
	}
}

// handleSameConfig handles an Update with the config that this node holds.
func (m *Dynamic) handleSameConfig(now time.Duration, from algo.NodeID, committed bool) {
	if committed && !m.committed {
		m.commit(now)
		m.requestJoin(now, from)
	}
	m.sendAck()
}

// isOverruled reports whether this node leads in a later epoch than the author of a newer config (R7).
// Such a config is what a leader before left behind. It is uncommitted, and may not list this leader.
func (m *Dynamic) isOverruled(c Config) bool {
	return m.isLeader() && c.ID.Term <= m.term() && m.keeps(r7)
}

// mayAdopt reports whether this node may replace its config by the newer one of u.
func (m *Dynamic) mayAdopt(from algo.NodeID, u Update) bool {
	if m.isBlank() && u.Config.isInitial() && !u.Committed {
		return m.mayAdoptInitial(from, u.Config)
	}
	// R11: the removal of this node is not decided yet. Its vote may be needed if the author dies.
	isUndecided := m.isVoter() && !u.Config.Has(m.self()) && !u.Committed
	return !isUndecided || !m.keeps(r11)
}

// adopt replaces the config by that of a peer.
func (m *Dynamic) adopt(now time.Duration, from algo.NodeID, u Update) {
	wasLearner := !m.isBlank() && !m.isVoter()
	m.hold(u.Config)
	m.before = nil
	m.retryAt = now
	m.wasMember = m.wasMember || m.isVoter() && !m.keeps(r13) // R13: commit records it, not before
	if m.wasMember && !m.isVoter() {
		m.end = m.removalReason()
		return
	}
	if u.Committed {
		m.commit(now)
	}
	m.requestJoin(now, from)
	m.sendAck()
	if wasLearner && m.isVoter() {
		m.introduce(now, from)
	}
}

// introduce sends the config that made this node a voter to the other voters. A member drops what a non-member sends,
// and the messages of this node's algorithm may overtake the leader's Update.
func (m *Dynamic) introduce(now time.Duration, from algo.NodeID) {
	for _, peer := range m.links.peers() {
		if peer != from && m.config.Has(peer) {
			m.sendConfig(now, peer)
		}
	}
}

// commit records that the config is committed.
func (m *Dynamic) commit(now time.Duration) {
	m.committed, m.before, m.acks = true, nil, nil
	m.wasMember = m.wasMember || m.isVoter()
	m.unsaved, m.retryAt = true, now
}

// sendAck tells the author that this node holds its config. A node that has taken part in a later epoch
// sends none (R4). It may have helped to elect a leader with an older config.
func (m *Dynamic) sendAck() {
	_, taken := m.env.Leader()
	isInTerm := taken <= m.config.ID.Term || !m.keeps(r4)
	if !m.committed && m.isVoter() && isInTerm && m.config.Author != m.self() {
		m.env.Send(m.config.Author, Ack{m.config.ID})
	}
}

// handleAck counts a member that holds the config of this leader.
func (m *Dynamic) handleAck(now time.Duration, from algo.NodeID, a Ack) {
	isCounted := a.Config == m.config.ID && from != m.self() && m.config.Has(from) && m.isLeader()
	if !isCounted {
		return
	}
	if i, found := slices.BinarySearchFunc(m.acks, from, algo.NodeID.Compare); !found {
		m.acks = slices.Insert(m.acks, i, from)
	}
	m.commitIfHeld(now)
}

// commitIfHeld is the config quorum check: a config is committed when a quorum of its members holds it
// in the term of its author.
func (m *Dynamic) commitIfHeld(now time.Duration) {
	isHeld := 1+len(m.acks) >= quorum(m.config.Members)
	if m.committed || !isHeld || !m.isLeader() || m.needsRewrite() {
		return
	}
	m.commit(now)
	m.sendConfigToAll(now)
}

// rollBackIfStuck makes the author of an uncommitted change write the members before again, if the
// change cannot be committed and the members before can (R12). Only the author may: it alone knows that
// no change was built on its own. It may do so without leading, and after a restart.
func (m *Dynamic) rollBackIfStuck(now time.Duration) {
	if m.before == nil || m.committed || !m.keeps(r12) || m.reaches(m.config.Members) || !m.reaches(m.before) {
		return
	}
	before := m.before
	m.before = nil
	m.write(now, m.config.ID.Term, before, m.config.Expired)
}

// reaches reports whether a quorum of members is not suspected, as far as this node knows.
func (m *Dynamic) reaches(members []Member) bool {
	reached := 0
	for _, e := range members {
		suspected, _ := m.env.Suspected(e.ID)
		if e.ID == m.self() || !suspected {
			reached++
		}
	}
	return reached >= quorum(members)
}

// sendConfig sends the config to a connected peer. The same content is sent once per Retry.
func (m *Dynamic) sendConfig(now time.Duration, peer algo.NodeID) {
	l := m.links.find(peer)
	content := sentState{m.config.ID, m.committed}
	if m.isBlank() || l == nil || l.sent == content && now-l.sentAt < m.options.Retry {
		return
	}
	l.sent, l.sentAt = content, now
	m.env.Send(peer, Update{m.config, m.committed})
}

// sendConfigToAll sends the config to all connected peers. One that is no member may have been removed,
// or wait to be added.
func (m *Dynamic) sendConfigToAll(now time.Duration) {
	for _, peer := range m.links.peers() {
		m.sendConfig(now, peer)
	}
}
