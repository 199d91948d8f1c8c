package membership

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// listBootstrap is what a node in no cluster knows about the bootstrap by a list. None of it is saved: a message
// from a node that has ended does not reach a node that starts later.
type listBootstrap struct {
	replies []bootstrapReply // to this node, if it is the first; sorted by ID
	// repliedTo is the first node of the list, once this node has replied to it. repliedToIncarnation is its newest
	// incarnation that has a reply (F3).
	repliedTo            algo.NodeID
	repliedToIncarnation uint64
}

type bootstrapReply struct {
	member      Member
	incarnation uint64
}

// isFirst reports whether this node bootstraps the cluster of its list (F1). It is the node at the first entry,
// as long as it is in no cluster.
func (m *Dynamic) isFirst() bool {
	if !m.isBlank() || len(m.options.List) == 0 {
		return false
	}
	first, found := m.seeds.nodeAt(m.options.List[0])
	return found && first == m.self()
}

// sendBootstrapRequests makes the first node ask each connected peer that has not replied yet.
func (m *Dynamic) sendBootstrapRequests() {
	if !m.isFirst() {
		return
	}
	for _, peer := range m.links.peers() {
		if m.findReply(peer) == nil {
			m.env.Send(peer, BootstrapRequest{})
		}
	}
}

// handleBootstrapRequest handles the question of the first node. A node that holds a config shows that
// instead of a reply.
func (m *Dynamic) handleBootstrapRequest(now time.Duration, from algo.NodeID) {
	if !m.isBlank() {
		m.sendConfig(now, from)
		return
	}
	l := m.links.find(from)
	if l == nil {
		return
	}
	if b := &m.listBootstrap; l.incarnation >= b.repliedToIncarnation {
		b.repliedTo, b.repliedToIncarnation = from, l.incarnation
	}
	m.env.Send(from, BootstrapReply{m.options.Self})
}

// handleBootstrapReply records that a node is in no cluster.
func (m *Dynamic) handleBootstrapReply(from algo.NodeID, r BootstrapReply) {
	l := m.links.find(from)
	if l == nil || !m.isFirst() {
		return
	}
	if err := cmp.Or(l.checkSelf(r.Member), r.Member.check()); err != nil {
		m.env.Reject(from, err)
		return
	}
	reply := bootstrapReply{r.Member, l.incarnation}
	i, found := m.searchReply(from)
	if found {
		m.listBootstrap.replies[i] = reply
		return
	}
	m.listBootstrap.replies = slices.Insert(m.listBootstrap.replies, i, reply)
}

func (m *Dynamic) searchReply(id algo.NodeID) (int, bool) {
	return slices.BinarySearchFunc(m.listBootstrap.replies, id, func(r bootstrapReply, id algo.NodeID) int { return r.member.ID.Compare(id) })
}

func (m *Dynamic) findReply(id algo.NodeID) *bootstrapReply {
	if i, found := m.searchReply(id); found {
		return &m.listBootstrap.replies[i]
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
		m.listBootstrap.replies = slices.Delete(m.listBootstrap.replies, i, i+1)
	}
}

// initialMembers returns the members of the initial config. Each entry of the list names one node. While an entry
// leads to several nodes, to the node of another entry, or to one without a reply, they are incomplete.
func (m *Dynamic) initialMembers() (members []Member, complete bool) {
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

// bootstrapByList creates the cluster of the list, when all other listed nodes have replied (F1).
func (m *Dynamic) bootstrapByList(now time.Duration) {
	if !m.isFirst() {
		return
	}
	members, complete := m.initialMembers()
	if !complete {
		return
	}
	if e, other, found := m.namesakes(members); found {
		m.env.Send(e.ID, Reject{Reason: nameTaken(other)})
		m.dropReply(e.ID) // it is asked again, in case the Reject is lost
		return
	}
	m.createCluster(members)
	m.sendConfigToAll(now)
}

// namesakes returns two initial members with one name. The first of them is not this node.
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

// bootstrap creates a cluster with this node alone, if each address in Join refuses or leads to a node that
// is in no cluster (R20). Silence is no answer: a node that has lost its data must not bootstrap again. Of several
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
	m.createCluster([]Member{m.options.Self})
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

// createCluster makes this node hold the initial config of a new cluster.
func (m *Dynamic) createCluster(members []Member) {
	if !hasEligible(members) {
		m.end = &RejectedError{"a witness cannot bootstrap a cluster: " + ErrNoEligibleMember.Error()}
		return
	}
	m.hold(Config{Cluster: m.options.Cluster, ID: ConfigID{Version: 1}, Author: m.self(), Members: members})
	m.listBootstrap = listBootstrap{}
}

// mayAdoptInitial reports whether a node in no cluster adopts an initial config, which no leader has
// committed yet.
func (m *Dynamic) mayAdoptInitial(from algo.NodeID, c Config) bool {
	if !c.Has(m.self()) && m.keeps(f2) {
		return false // F2: the node would be bound to a cluster that may never elect
	}
	l := m.links.find(from)
	isOutdated := c.Author == from && from != m.listBootstrap.repliedTo && l != nil && l.incarnation < m.listBootstrap.repliedToIncarnation
	// F3: this node has replied to a newer first, which counts on it. From another holder the config is
	// taken, because then the cluster of the earlier first may have a leader.
	return !isOutdated || !m.keeps(f3)
}
