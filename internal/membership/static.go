package membership

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// StaticOptions are the settings of a [Static].
type StaticOptions struct {
	Self        Member
	Cluster     algo.NodeID   // shown to peers; zero if there is none
	List        []string      // addresses of all members, this node's own included
	StartupWait time.Duration // how long the algorithm waits at most for members that do not answer
	Retry       time.Duration // time between two messages that were not acknowledged
}

// Static is the membership as one node knows it, for an algorithm without a quorum: the nodes at the
// addresses of a list. An operator changes the list on each node. It is not safe for concurrent use.
// Times that it receives must not go back.
type Static struct {
	options StaticOptions
	env     Env
	end     error

	list    []string // sorted
	digest  uint64   // of list
	seeds   seeds    // the addresses of the list, with the node that was reached at each
	links   links
	standby standby
	known   []Member // entries from the last Self of each node, sorted by ID

	selfVersion uint64        // of this node's Self
	retryAt     time.Duration // time to send Self again to the peers that have not acknowledged it

	startAt   time.Duration // end of the wait for members that do not answer; never once it has ended
	started   bool
	waitEnded bool

	version   uint64 // of the view
	view      algo.View
	viewStale bool
	isPreset  bool // the view never changes
}

// NewStatic returns a machine for a list. With a [Shared] in saved, the members are those of that record, and they
// never change. This is for a simulation without connections.
func NewStatic(options StaticOptions, env Env, saved ...algo.Message) *Static {
	m := &Static{options: options, env: env, digest: digestOf(nil), viewStale: true, selfVersion: 1, retryAt: never}
	for _, record := range saved {
		if r, isShared := record.(Shared); isShared {
			m.isPreset, m.started, m.view = true, true, r.view
		}
	}
	return m
}

// Start is the first call.
func (m *Static) Start(now time.Duration) {
	if len(m.options.List) == 0 && !m.isPreset {
		m.end = &RejectedError{"the settings name no members: set members"}
		return
	}
	m.startAt = now + m.options.StartupWait
	m.setList(now, m.options.List)
	m.seeds.dial(now, m.env, m.dialDelay)
}

func (m *Static) setList(now time.Duration, list []string) {
	m.list = slices.Compact(slices.Sorted(slices.Values(list)))
	m.digest = digestOf(m.list)
	m.seeds = slices.DeleteFunc(m.seeds, func(s seed) bool { return !slices.Contains(m.list, s.Name) })
	added := len(m.seeds)
	for _, name := range m.list {
		m.seeds.add(now, name, m.options.Self)
	}
	for i := range m.seeds[added:] {
		m.seeds[added+i].isTentative = m.started
	}
	m.viewStale = true
}

// SetMembers replaces the list. A list without this node is an error: stop the node instead.
func (m *Static) SetMembers(now time.Duration, list []string) error {
	isOwn := func(name string) bool {
		isReached := func(s seed) bool { return s.Name == name && s.Peer == m.self() }
		return name == m.options.Self.Addr || slices.ContainsFunc(m.seeds, isReached)
	}
	if !slices.ContainsFunc(list, isOwn) {
		return fmt.Errorf("membership: the list of members does not name this node, %s: stop the node instead", m.options.Self.Addr)
	}
	m.setList(now, list)
	m.sendNewSelf(now) // a rejection that was sent before does not count any more
	m.redialFree(now)
	m.welcome(now)
	return nil
}

func (m *Static) self() algo.NodeID { return m.options.Self.ID }

// isListed reports whether peer was reached at an address of the list.
func (m *Static) isListed(peer algo.NodeID) bool {
	return slices.ContainsFunc(m.seeds, func(s seed) bool { return s.Peer == peer })
}

// isFree reports whether a node that is connected, and not found in the list yet, may be at a seed.
func (m *Static) isFree(s seed) bool {
	return !s.expanded && s.Peer != m.self() && !m.links.has(s.Peer)
}

// Up handles a new connection. The peer belongs to the address that was dialed, or to the one that it
// names. If neither is in the list, it may still be a listed node under another name.
func (m *Static) Up(now time.Duration, p Peer) {
	m.links.add(link{peer: p.ID, name: p.Name, incarnation: p.Incarnation, digest: p.Digest})
	m.standby.connect(p.ID, p.Incarnation)
	m.viewStale = true
	m.locate(p.Dialed, p.ID)
	if m.mayClaim(p) {
		m.locate(p.Addr, p.ID)
	}
	if !m.isListed(p.ID) {
		m.redialFree(now)
	}
	m.welcome(now)
}

// mayClaim reports whether a peer may take the address that it names: no node is connected from there, or
// an earlier incarnation.
func (m *Static) mayClaim(p Peer) bool {
	return !slices.ContainsFunc(m.seeds, func(s seed) bool {
		l := m.links.find(s.Peer)
		return s.Addr == p.Addr && (s.Peer == m.self() || l != nil && s.Peer != p.ID && l.incarnation >= p.Incarnation)
	})
}

// locate records that peer is at addr. A rejection stands until the peer accepts this node, with its Self, and
// until then the delays between dials keep growing.
func (m *Static) locate(addr string, peer algo.NodeID) {
	for i := range m.seeds {
		s := &m.seeds[i]
		if s.Addr != addr {
			continue
		}
		s.Peer = peer
		if s.State != SeedRejected {
			s.State, s.attempts = SeedReached, 0
		}
	}
}

// recordAccepted ends a rejection by peer, and reports whether there was one.
func (m *Static) recordAccepted(peer algo.NodeID) (wasRejected bool) {
	for i := range m.seeds {
		if s := &m.seeds[i]; s.Peer == peer {
			wasRejected = wasRejected || s.State == SeedRejected
			s.State, s.attempts, s.isTentative = SeedReached, 0, false
		}
	}
	return wasRejected
}

// redialFree dials each seed that may lead to a peer which was not found in the list yet.
func (m *Static) redialFree(now time.Duration) {
	for i := range m.seeds {
		if s := &m.seeds[i]; m.isFree(*s) {
			s.dialAt = now
			s.expectResult()
		}
	}
	m.seeds.dial(now, m.env, m.dialDelay)
}

// welcome sends Self to each peer at an address of the list, until the peer has acknowledged it. It rejects the other
// peers, unless a pending dial may still lead to them.
func (m *Static) welcome(now time.Duration) {
	isPending := func(s seed) bool { return m.isFree(s) && s.State == SeedPending }
	mayBeListed := slices.ContainsFunc(m.seeds, isPending)
	for _, peer := range m.links.peers() {
		switch l := m.links.find(peer); {
		case m.isListed(peer) && !l.selfSent:
			m.sendSelf(now, peer)
		case !m.isListed(peer) && !mayBeListed:
			m.env.Send(peer, Reject{Reason: ErrUnlisted.Error(), Holds: ConfigID{Version: m.selfVersion}})
			m.env.Reject(peer, ErrUnlisted)
		}
	}
}

// Down handles the end of a connection. A listed member stays one. After a rejection this node may be alone.
func (m *Static) Down(_ time.Duration, peer algo.NodeID) {
	m.links.remove(peer)
	for i := range m.seeds {
		if s := &m.seeds[i]; s.Peer == peer {
			s.expectResult()
		}
	}
	m.endIfUnlisted()
}

// expectResult makes s wait for the next dial, which tells more than the last one. A rejection stands.
func (s *seed) expectResult() {
	if s.State != SeedRejected {
		s.State = SeedPending
	}
}

// HandleReached records which node answers at an address: also this node itself, under another name. If another
// node was there before, that one stays: it has moved, and may move back.
func (m *Static) HandleReached(now time.Duration, addr string, peer algo.NodeID) {
	wasOther := slices.ContainsFunc(m.seeds, func(s seed) bool { return s.Addr == addr && !s.Peer.IsZero() && s.Peer != peer })
	if wasOther && peer == m.self() {
		m.seeds.recordFailure(addr, SeedSilent)
	} else {
		m.locate(addr, peer)
	}
	m.viewStale = true
	m.welcome(now)
}

// HandleDialFailure records how a dial without a connection has ended.
func (m *Static) HandleDialFailure(now time.Duration, addr string, state SeedState) {
	isKept := func(s seed) bool { return s.Addr == addr && s.State == SeedRejected && len(m.known) == 0 }
	if !slices.ContainsFunc(m.seeds, isKept) { // a rejection stands while no member has accepted this node
		m.seeds.recordFailure(addr, state)
	}
	m.welcome(now)
	m.endIfUnlisted()
}

// handleReject records that the list of a peer does not name this node. The peer is outside the view until it accepts
// this node. It closes the connection. The link stays until Down: if the peer has another list by then, its Self may
// come over the next connection of a session. A rejection that is older than this Self may then arrive after it.
func (m *Static) handleReject(from algo.NodeID, r Reject) {
	if l := m.links.find(from); l != nil {
		if r.Holds.Compare(l.holds) < 0 {
			return // it was overtaken
		}
		l.holds = r.Holds
	}
	for i := range m.seeds {
		if m.seeds[i].Peer == from {
			m.seeds[i].State = SeedRejected
		}
	}
	m.viewStale = true
	m.endIfUnlisted()
}

// endIfUnlisted stops a running node if a member rejects it, and none that it can reach accepts it. It has been removed
// from the lists, and would lead alone. A node that was listed since the start of this one, and has not accepted it
// yet, does not count: an operator may be about to change its list.
func (m *Static) endIfUnlisted() {
	isOut := func(s seed) bool { return !m.isFree(s) || s.State != SeedPending && s.State != SeedReached }
	isRejected := func(s seed) bool { return s.State == SeedRejected && !s.isTentative }
	isAlone := !slices.ContainsFunc(m.links, func(l link) bool { return m.isListed(l.peer) && !m.isRejectedBy(l.peer) })
	everyOut := !slices.ContainsFunc(m.seeds, func(s seed) bool { return !isOut(s) })
	if m.started && isAlone && everyOut && slices.ContainsFunc(m.seeds, isRejected) {
		m.end = ErrNotListed
	}
}

func (m *Static) isRejectedBy(peer algo.NodeID) bool {
	return slices.ContainsFunc(m.seeds, func(s seed) bool { return s.Peer == peer && s.State == SeedRejected })
}

// HandleResolved replaces the addresses behind a name of the list.
func (m *Static) HandleResolved(now time.Duration, name string, addrs []string) {
	m.seeds.expand(now, name, addrs)
	m.viewStale = true
	m.seeds.dial(now, m.env, m.dialDelay)
}

// HandleDigest records the digest of a peer's list.
func (m *Static) HandleDigest(_ time.Duration, peer algo.NodeID, digest uint64) {
	if l := m.links.find(peer); l != nil {
		l.digest = digest
	}
}

// Differing returns the connected members that have another list than this node.
func (m *Static) Differing() (ids []algo.NodeID) {
	for _, l := range m.links {
		if l.digest != m.Digest() && m.isListed(l.peer) {
			ids = append(ids, l.peer)
		}
	}
	return ids
}

// Receive handles a message, and reports whether it is one of this package.
func (m *Static) Receive(now time.Duration, from algo.NodeID, message algo.Message) bool {
	switch message := message.(type) {
	case Self:
		m.handleSelf(now, from, message)
	case Ack:
		m.handleAck(from, message)
	case Reject:
		m.handleReject(from, message)
	default:
		return false
	}
	return true
}

// handleSelf records the entry of a peer, unless it is older than the last one, and acknowledges the newest. With a
// Self, the peer accepts this node.
func (m *Static) handleSelf(now time.Duration, from algo.NodeID, s Self) {
	l := m.links.find(from)
	if l == nil {
		return
	}
	if err := cmp.Or(l.checkSelf(s.Member), s.Member.check()); err != nil {
		m.env.Reject(from, err)
		return
	}
	isOlder := s.Holds.Compare(l.holds) < 0
	if !isOlder {
		l.holds = s.Holds
	}
	m.env.Send(from, Ack{l.holds})
	if isOlder {
		return // it was overtaken
	}
	isGone := func(e Member) bool { return !m.links.has(e.ID) && !m.isListed(e.ID) }
	if m.recordAccepted(from) && m.isListed(from) {
		m.sendSelf(now, from) // the peer may have dropped the last one with a connection
	}
	m.known = slices.DeleteFunc(Config{Members: m.known}.with(s.Member), isGone)
	m.standby.handle(now, from, l.incarnation, s.Standby)
	m.viewStale = true
}

func (m *Static) handleAck(from algo.NodeID, a Ack) {
	if l := m.links.find(from); l != nil && a.Config.Version == m.selfVersion {
		l.sent.id = a.Config
	}
}

// sendSelf sends this node's Self to a peer, and schedules its repetition.
func (m *Static) sendSelf(now time.Duration, peer algo.NodeID) {
	m.links.find(peer).selfSent = true
	m.env.Send(peer, Self{Member: m.options.Self, Holds: ConfigID{Version: m.selfVersion}, Standby: m.standby.remaining(now)})
	m.retryAt = min(m.retryAt, now+m.options.Retry)
}

// sendNewSelf sends a changed Self to all peers.
func (m *Static) sendNewSelf(now time.Duration) {
	m.selfVersion++
	for _, peer := range m.links.peers() {
		if m.isListed(peer) {
			m.sendSelf(now, peer)
		}
	}
}

func (m *Static) sendUnacknowledged(now time.Duration) {
	m.retryAt = never
	for _, l := range slices.Clone(m.links) {
		if m.isListed(l.peer) && l.sent.id.Version != m.selfVersion {
			m.sendSelf(now, l.peer)
		}
	}
}

// SetSelf changes the entry of this node.
func (m *Static) SetSelf(now time.Duration, self Member) {
	m.options.Self = self
	m.viewStale = true
	m.sendNewSelf(now)
}

// Resign makes this node ineligible for a period.
func (m *Static) Resign(now, period time.Duration) {
	m.standby.start(now, period)
	m.viewStale = true
	m.sendNewSelf(now)
}

// Wake does what is due.
func (m *Static) Wake(now time.Duration) {
	m.seeds.dial(now, m.env, m.dialDelay)
	ownEnded, anyEnded := m.standby.expire(now)
	m.viewStale = m.viewStale || anyEnded
	switch {
	case ownEnded:
		m.sendNewSelf(now)
	case m.retryAt <= now:
		m.sendUnacknowledged(now)
	}
	m.Advance(now)
}

// dialDelay returns the time until the next dial of a seed. The failure detector dials the members that are
// known. Another node may be at such an address since, so this package dials it too, rarely.
func (m *Static) dialDelay(s seed) time.Duration {
	isFreeBehind := func(other seed) bool { return other.Name == s.Name && m.isFree(other) }
	switch {
	case s.expanded && slices.ContainsFunc(m.seeds, isFreeBehind):
		return rareDialDelay // by then it may have other addresses
	case !m.isFree(s):
		return never
	case !m.started:
		return s.backOff()
	}
	return rareDialDelay
}

// Advance starts the algorithm when that is due. The driver must call it after each step.
func (m *Static) Advance(now time.Duration) {
	if m.startAt <= now {
		m.startAt = never
		m.waitEnded = true
	}
	if !m.started {
		m.started = m.mayStart()
	}
}

// mayStart reports whether the algorithm may start. Without a quorum it would lead at once. So it waits until each
// member has sent its Self or refuses the connection, and while a member rejects this node.
func (m *Static) mayStart() bool {
	for _, s := range m.seeds {
		isConnected := m.links.has(s.Peer) && s.Peer != m.self()
		isKnown := s.expanded || s.Peer == m.self() || isConnected && Config{Members: m.known}.Has(s.Peer)
		isLate := !isKnown && s.State != SeedRefused && !m.waitEnded
		if s.State == SeedRejected || isLate {
			return false
		}
	}
	return m.end == nil
}

// Deadline returns when Wake is due.
func (m *Static) Deadline() time.Duration {
	next := min(m.seeds.deadline(), m.standby.deadline(), m.retryAt)
	if !m.started {
		next = min(next, m.startAt)
	}
	return next
}

// View returns the listed members with a known ID, and this node. It is the same value until something in it changes.
// A node that was never found is not in it. The view does not change after End: a node that all others have removed
// must not lead alone for a moment.
func (m *Static) View() algo.View {
	if !m.viewStale || m.isPreset || m.end != nil {
		return m.view
	}
	m.viewStale = false
	isEligible := func(e Member) bool { return !e.Witness && !m.IsStandby(e.ID) }
	members := m.members()
	if updateView(m.view, ConfigID{Version: m.version}, members, isEligible) != m.view {
		m.version++
		m.view = updateView(m.view, ConfigID{Version: m.version}, members, isEligible)
	}
	return m.view
}

// IsStandby reports whether a member is ineligible for a while because it resigned.
func (m *Static) IsStandby(id algo.NodeID) bool {
	return m.standby.has(id) || id == m.self() && m.standby.endsAt > 0
}

// members returns the entries of View, sorted by ID. The address of a member is that of the list.
func (m *Static) members() []Member {
	members := Config{Members: []Member{m.options.Self}}
	for _, s := range m.seeds {
		e, isKnown := Config{Members: m.known}.Find(s.Peer)
		if isKnown && !s.expanded && s.Peer != m.self() && s.State != SeedRejected {
			e.Addr = s.Addr
			members.Members = members.with(e)
		}
	}
	return members.Members
}

// Undiscovered returns the addresses of the list without a connected member, with the result of the last
// attempt.
func (m *Static) Undiscovered() (undiscovered []Seed) {
	for _, s := range m.seeds {
		if m.isFree(s) || s.State == SeedRejected {
			undiscovered = append(undiscovered, s.Seed)
		}
	}
	return undiscovered
}

// Cluster returns the ID that the settings name.
func (m *Static) Cluster() algo.NodeID { return m.options.Cluster }

// Committed is true: a list is not voted upon.
func (m *Static) Committed() bool { return true }

// Digest returns a hash of the list.
func (m *Static) Digest() uint64 { return m.digest }

func digestOf(list []string) uint64 {
	hash := fnv.New64a()
	for _, name := range list {
		_, _ = hash.Write(append([]byte(name), 0)) // never fails
	}
	return max(hash.Sum64(), 1)
}

// Ready reports whether the algorithm may run.
func (m *Static) Ready(time.Duration) bool { return m.started && m.end == nil }

// End returns why this node must stop, or nil.
func (m *Static) End() error { return m.end }

// Isolated reports whether this node is one of several listed, and is connected to no other.
func (m *Static) Isolated() bool {
	return len(m.list) > 1 && !slices.ContainsFunc(m.links, func(l link) bool { return m.isListed(l.peer) })
}

// Unsaved returns nil: a list is saved in the settings of each node.
func (m *Static) Unsaved() []algo.Message { return nil }

// MonitorSet returns nil: an algorithm monitors the members that it needs.
func (m *Static) MonitorSet() []algo.NodeID { return nil }
