package membership

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// founding is what a node in no cluster knows about the founding by a list. None of it is saved: a message
// from a node that has ended does not reach a node that starts later.
type founding struct {
	replies []foundingReply // to this node, if it is the first; sorted by ID
	// repliedTo is the first node of the list, once this node has replied to it. repliedToIncarnation is its newest
	// incarnation that has a reply (F3).
	repliedTo            algo.NodeID
	repliedToIncarnation uint64
}

type foundingReply struct {
	member      Member
	incarnation uint64
}

// isFirst reports whether this node founds the cluster of its list (F1). It is the node at the first entry,
// as long as it is in no cluster.
func (m *Dynamic) isFirst() bool {
	if !m.isBlank() || len(m.options.List) == 0 {
		return false
	}
	first, found := m.seeds.nodeAt(m.options.List[0])
	return found && first == m.self()
}

// requestFounding makes the first node ask each connected peer that has not replied yet.
func (m *Dynamic) requestFounding() {
	if !m.isFirst() {
		return
	}
	for _, peer := range m.links.peers() {
		if m.findReply(peer) == nil {
			m.env.Send(peer, FoundingRequest{})
		}
	}
}

// handleFoundingRequest handles the question of the first node. A node that holds a config shows that
// instead of a reply.
func (m *Dynamic) handleFoundingRequest(now time.Duration, from algo.NodeID) {
	if !m.isBlank() {
		m.sendConfig(now, from)
		return
	}
	l := m.links.find(from)
	if l == nil {
		return
	}
	if f := &m.founding; l.incarnation >= f.repliedToIncarnation {
		f.repliedTo, f.repliedToIncarnation = from, l.incarnation
	}
	m.env.Send(from, FoundingReply{m.options.Self})
}

// handleFoundingReply records that a node is in no cluster.
func (m *Dynamic) handleFoundingReply(from algo.NodeID, r FoundingReply) {
	l := m.links.find(from)
	if l == nil || !m.isFirst() {
		return
	}
	if err := cmp.Or(l.checkSelf(r.Member), r.Member.check()); err != nil {
		m.env.Reject(from, err)
		return
	}
	reply := foundingReply{r.Member, l.incarnation}
	i, found := m.searchReply(from)
	if found {
		m.founding.replies[i] = reply
		return
	}
	m.founding.replies = slices.Insert(m.founding.replies, i, reply)
}

func (m *Dynamic) searchReply(id algo.NodeID) (int, bool) {
	return slices.BinarySearchFunc(m.founding.replies, id, func(r foundingReply, id algo.NodeID) int { return r.member.ID.Compare(id) })
}

func (m *Dynamic) findReply(id algo.NodeID) *foundingReply {
	if i, found := m.searchReply(id); found {
		return &m.founding.replies[i]
	}
	return nil
}

// dropStaleReply drops the reply of an earlier incarnation of a peer (F1): it may be in a cluster since.
func (m *Dynamic) dropStaleReply(p Peer) {
	if r := m.findReply(p.ID); r != nil && r.incarnation != p.Incarnation {
		m.dropReply(p.ID)
	}
}

func (m *Dynamic) dropReply(id algo.NodeID) {
	if i, found := m.searchReply(id); found {
		m.founding.replies = slices.Delete(m.founding.replies, i, i+1)
	}
}

// founders returns the members of the founding config. Each entry of the list names one node. While an entry
// leads to several nodes, to the node of another entry, or to one without a reply, they are incomplete.
func (m *Dynamic) founders() (members []Member, complete bool) {
	members = []Member{m.options.Self}
	for _, name := range m.options.List[1:] {
		id, found := m.seeds.nodeAt(name)
		reply := m.findReply(id)
		isUsed := slices.ContainsFunc(members, func(e Member) bool { return e.ID == id })
		if !found || isUsed || reply == nil && m.keeps(f1) {
			return nil, false
		}
		if reply != nil {
			members = append(members, reply.member)
		}
	}
	return sortMembers(members), true
}

// foundByList founds the cluster of the list, when all other listed nodes have replied (F1).
func (m *Dynamic) foundByList(now time.Duration) {
	if !m.isFirst() {
		return
	}
	members, complete := m.founders()
	if !complete {
		return
	}
	if e, other, found := m.namesakes(members); found {
		m.env.Send(e.ID, Reject{Reason: nameTaken(other)})
		m.dropReply(e.ID) // it is asked again, in case the Reject is lost
		return
	}
	m.found(members)
	m.sendConfigToAll(now)
}

// namesakes returns two founders with one name. The first of them is not this node.
func (m *Dynamic) namesakes(members []Member) (e, other Member, found bool) {
	for i, e := range members {
		for _, other := range members[:i] {
			if e.Name == other.Name && e.ID == m.self() {
				return other, e, true
			}
			if e.Name == other.Name {
				return e, other, true
			}
		}
	}
	return e, other, false
}

// bootstrap founds a cluster with this node alone, if each address in Join refuses or leads to a node that
// is in no cluster (R20). Silence is no answer: a node that has lost its data must not found again. Of several
// connected nodes that may bootstrap, the one with the smallest ID does.
func (m *Dynamic) bootstrap(now time.Duration) {
	if !m.options.Bootstrap || !m.isBlank() || slices.ContainsFunc(m.links, m.comesFirst) && m.keeps(r20) {
		return
	}
	for _, s := range m.seeds {
		if !m.isKnownBlank(s) && m.keeps(r20) {
			return
		}
	}
	m.found([]Member{m.options.Self})
	m.sendConfigToAll(now)
}

// comesFirst reports whether a peer may bootstrap before this node: it is in no cluster, may bootstrap, and has
// a smaller ID. A peer that has not told about itself yet may do so.
func (m *Dynamic) comesFirst(l link) bool {
	return !l.hasSelf() || l.isBlank() && l.bootstraps && l.peer.Compare(m.self()) < 0
}

// isKnownBlank reports whether no node at a seed can be in a cluster.
func (m *Dynamic) isKnownBlank(s seed) bool {
	l := m.links.find(s.Peer)
	isBlank := l != nil && l.isBlank()
	return s.expanded || s.State == SeedRefused || s.Peer == m.self() || isBlank
}

// found makes this node hold a founding config.
func (m *Dynamic) found(members []Member) {
	if !hasEligible(members) {
		m.end = &RejectedError{"a witness cannot bootstrap a cluster: " + ErrNoEligibleMember.Error()}
		return
	}
	m.hold(Config{Cluster: m.options.Cluster, ID: ConfigID{Version: 1}, Author: m.self(), Members: members})
	m.founding = founding{}
}

// mayAdoptFounding reports whether a node in no cluster takes a founding config, which no leader has
// confirmed yet.
func (m *Dynamic) mayAdoptFounding(from algo.NodeID, c Config) bool {
	if !c.Has(m.self()) && m.keeps(f2) {
		return false // F2: the node would be bound to a cluster that may never elect
	}
	l := m.links.find(from)
	isOutdated := c.Author == from && from != m.founding.repliedTo && l != nil && l.incarnation < m.founding.repliedToIncarnation
	// F3: this node has replied to a newer first, which counts on it. From another holder the config is
	// taken, because then the cluster of the earlier first may have a leader.
	return !isOutdated || !m.keeps(f3)
}
