package membership

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

const never = time.Duration(math.MaxInt64)

// Env performs the requests of a machine, in order, after the records of Unsaved are saved.
type Env interface {
	// Send sends m to a connected peer. It may be lost.
	Send(to algo.NodeID, m algo.Message)
	// Dial makes one attempt to connect. A zero ID stands for any node at the address. If the address is a
	// name, HandleResolved comes before the result. If it has several addresses, it is not dialed itself.
	Dial(id algo.NodeID, addr string)
	// Reject closes the connection to a peer, and sends it the reason.
	Reject(peer algo.NodeID, reason error)
	// Leader returns the leader that the algorithm follows, zero before it runs, and the highest
	// epoch in which this node has taken part.
	Leader() (leader algo.Leader, taken algo.Epoch)
	// Suspected reports whether the failure detector suspects a member, and since when.
	Suspected(id algo.NodeID) (suspected bool, since time.Duration)
	// HoldsLease reports whether a quorum of the present members has granted this leader's lease. It
	// is true if the algorithm has no lease.
	HoldsLease() bool
}

// Options are the settings of a [Dynamic]. At most one of Join, with or without Bootstrap, and List is
// used.
type Options struct {
	// Self is this node's entry in the config, as its settings describe it.
	Self Member
	// Cluster is the ID of the cluster that this node may create: drawn at random, or the one that it had with
	// a static list.
	Cluster algo.NodeID
	// Join has addresses of members. Any of them leads this node into the cluster.
	Join []string
	// Bootstrap makes this node bootstrap a cluster alone if all addresses in Join answer that they are
	// in none.
	Bootstrap bool
	// List has the addresses of all initial members, this node's own included.
	List []string
	// RemoveSuspectedAfter is how long the leader suspects a member before it removes it; 0: never.
	RemoveSuspectedAfter time.Duration
	// Retry is the time between two requests for the same thing.
	Retry time.Duration
}

// Dynamic is the membership as one node knows it, for an algorithm that needs a quorum. It is not
// safe for concurrent use. Times that it receives must not go back.
type Dynamic struct {
	options Options
	env     Env
	without rule // rules that a test has switched off

	// Saved: see Record.
	config    Config
	committed bool
	wasMember bool
	before    []Member
	unsaved   bool

	end     error
	links   links
	seeds   seeds
	standby standby

	acks          []algo.NodeID // members that hold the config of this leader, sorted
	removals      []algo.NodeID // requested from this node and not done yet; its own ID: it leaves
	listBootstrap listBootstrap

	retryAt   time.Duration // when to repeat what is pending
	suspectAt time.Duration // when to look for a member that was suspected for too long

	view      algo.View
	viewStale bool
	digest    uint64 // of digestOf
	digestOf  digested
}

// NewDynamic returns a machine that continues from a [Record], if saved has one.
func NewDynamic(options Options, env Env, saved ...algo.Message) *Dynamic {
	m := &Dynamic{options: options, env: env, retryAt: never, suspectAt: never, viewStale: true}
	m.options.List = slices.Compact(slices.Sorted(slices.Values(options.List)))
	for _, record := range saved {
		switch r := record.(type) {
		case Record:
			m.restore(r)
		case Shared:
			m.restore(r.Record)
			m.view, m.viewStale = r.view, false
		}
	}
	return m
}

func (m *Dynamic) restore(r Record) {
	m.config, m.committed, m.wasMember, m.before = r.Config, r.Committed, r.WasMember, r.Before
}

// Start starts the machine. The driver must call it first.
func (m *Dynamic) Start(now time.Duration) {
	if m.wasMember && !m.isVoter() {
		m.end = m.removalReason()
		return
	}
	for _, name := range slices.Concat(m.options.List, m.options.Join, m.formerAddrs()) {
		m.seeds.add(now, name, m.options.Self)
	}
	m.end = cmp.Or(m.checkSettings(), m.checkOwnEntry())
	if m.end == nil {
		m.dialMembers() // they may still suspect the previous incarnation of this node
		m.retryAt = now
	}
}

// checkSettings returns the reason why a node with these settings can never be a member.
func (m *Dynamic) checkSettings() error {
	if err := m.checkSeeds(); err != nil {
		return err
	}
	if err := m.options.Self.check(); err != nil {
		return &RejectedError{err.Error()}
	}
	return nil
}

// checkSeeds returns an error if no seed can lead this node into a cluster. A name that leads to this node alone may
// have other addresses later.
func (m *Dynamic) checkSeeds() error {
	mayLeadToOther := func(s seed) bool { return s.isName || s.Peer != m.self() }
	switch {
	case !m.isBlank() || m.options.Bootstrap || len(m.options.List) > 0 || slices.ContainsFunc(m.seeds, mayLeadToOther):
		return nil
	case len(m.seeds) == 0:
		return &RejectedError{"the settings name no other node: set bootstrap, join or members"}
	}
	return &RejectedError{fmt.Sprintf("join names only this node (%s): name another member, or set bootstrap to create a cluster", m.seeds[0].Name)}
}

// checkOwnEntry returns the reason why the entry of this node cannot match its settings.
func (m *Dynamic) checkOwnEntry() error {
	if e, found := m.namesake(m.options.Self); found && m.isVoter() {
		return &RejectedError{nameTaken(e)}
	}
	return nil
}

func (m *Dynamic) self() algo.NodeID { return m.options.Self.ID }

// isBlank reports whether this node is in no cluster and holds no config.
func (m *Dynamic) isBlank() bool { return m.config.Cluster.IsZero() }

// isVoter reports whether the config lists this node. If not, the node is blank, a learner or removed.
func (m *Dynamic) isVoter() bool { return m.config.Has(m.self()) }

// Receive handles a message, and reports whether it is one of this package. Only members acknowledge
// a config or request a removal.
func (m *Dynamic) Receive(now time.Duration, from algo.NodeID, message algo.Message) bool {
	switch message := message.(type) {
	case Update:
		m.handleUpdate(now, from, message)
	case Self:
		m.handleSelf(now, from, message)
	case Ack:
		m.handleAck(now, from, message)
	case RemoveRequest:
		m.handleRemoveRequest(now, from, message)
	case Reject:
		m.handleReject(message)
	case BootstrapRequest:
		m.handleBootstrapRequest(now, from)
	case BootstrapReply:
		m.handleBootstrapReply(from, message)
	default:
		return false
	}
	return true
}

// Up handles a new connection.
func (m *Dynamic) Up(now time.Duration, p Peer) {
	if p.Dialed != "" {
		m.seeds.recordNode(p.Dialed, p.ID)
	} else {
		m.seeds.recheck(now, p.Addr)
	}
	m.standby.connect(p.ID, p.Incarnation)
	m.viewStale = true
	m.links.add(link{peer: p.ID, name: p.Name, incarnation: p.Incarnation})
	m.dropStaleReply(p)
	m.sendSelf(now, p.ID)
	m.sendBootstrapRequests()
	m.HandleDigest(now, p.ID, p.Digest)
	m.dialSeeds(now)
}

// Down handles the end of a connection.
func (m *Dynamic) Down(now time.Duration, peer algo.NodeID) {
	m.links.remove(peer)
	m.seeds.recheck(now, "")
}

// HandleDigest handles the digest of a peer's config, from a hello or a heartbeat. It is how two nodes
// find out that they hold different configs.
func (m *Dynamic) HandleDigest(now time.Duration, peer algo.NodeID, digest uint64) {
	if l := m.links.find(peer); l != nil {
		l.digest = digest
	}
	if digest != m.Digest() {
		m.sendConfig(now, peer)
	}
}

// Wake performs what is due.
func (m *Dynamic) Wake(now time.Duration) {
	m.dialSeeds(now)
	ownEnded, anyEnded := m.standby.expire(now)
	m.viewStale = m.viewStale || anyEnded
	if ownEnded {
		m.sendSelfToAll(now)
	}
	m.Advance(now)
}

// Advance performs what follows from the leader, the lease and the suspicions. The driver must call it after each
// step, until View does not change any more.
func (m *Dynamic) Advance(now time.Duration) {
	if m.end != nil {
		return
	}
	if m.retryAt <= now {
		m.requestPending(now)
	}
	m.bootstrap(now)
	m.bootstrapByList(now)
	m.rollBackIfStuck(now)
	m.recommit(now)
	m.removeSuspected(now)
	m.admitLearners(now)
}

// Deadline returns when Wake is due.
func (m *Dynamic) Deadline() time.Duration {
	if m.end != nil {
		return never
	}
	return min(m.retryAt, m.suspectAt, m.seeds.deadline(), m.standby.deadline())
}

// requestPending repeats each request that is not done yet (R15). No node keeps a queue for others, so
// a message may be lost at any time.
func (m *Dynamic) requestPending(now time.Duration) {
	m.scheduleRetry(now)
	m.dropDoneRemovals()
	switch {
	case !m.isVoter():
		m.dialMembers() // the leader is one of them
		m.sendSelfToAll(now)
		m.sendBootstrapRequests()
	case m.isLeader() && !m.committed:
		m.sendConfigToAll(now)
	case !m.wantsChange() && len(m.removals) == 0:
		m.retryAt = never
	case m.isLeader():
		m.addOrUpdate(now, m.options.Self)
		for _, id := range slices.Clone(m.removals) {
			m.removeMember(now, id)
		}
	default:
		m.requestFromLeader(now)
	}
}

func (m *Dynamic) scheduleRetry(now time.Duration) {
	m.retryAt = now + m.options.Retry
	if !m.keeps(r15) {
		m.retryAt = never
	}
}

// requestFromLeader sends the leader the requests of this voter.
func (m *Dynamic) requestFromLeader(now time.Duration) {
	if e, _ := m.config.Find(m.self()); e.Addr != m.options.Self.Addr {
		m.dialMembers() // they dial the former address of this node (R21)
	}
	if m.wantsChange() {
		m.sendSelfToAll(now)
	}
	leader, _ := m.env.Leader()
	for _, id := range m.removals {
		if !leader.IsVacant() {
			m.env.Send(leader.ID, RemoveRequest{id})
		}
	}
}

// wantsChange reports whether the entry of this node is missing, or differs from its settings.
func (m *Dynamic) wantsChange() bool {
	e, found := m.config.Find(m.self())
	return !found || e != m.options.Self
}

// SetSelf changes the settings that the entry of this node must match.
func (m *Dynamic) SetSelf(now time.Duration, self Member) {
	m.options.Self = self
	m.requestPending(now)
}

// SelfCommitted reports whether a committed config has this node with the settings of the last SetSelf.
func (m *Dynamic) SelfCommitted() bool { return m.committed && !m.wantsChange() }

// View returns the config as an algorithm sees it: standby members are ineligible. It is the same
// value until something in it changes.
func (m *Dynamic) View() algo.View {
	if m.viewStale {
		m.viewStale = false
		m.view = updateView(m.view, m.config.ID, m.config.Members, m.isEligible)
	}
	return m.view
}

// updateView returns the view of a config, or old if that is equal.
func updateView(old algo.View, id ConfigID, members []Member, isEligible func(Member) bool) algo.View {
	list := make([]algo.Member, 0, len(members))
	for _, e := range members {
		list = append(list, algo.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: isEligible(e)})
	}
	isSame := old.ConfigID() == algo.ConfigID{Term: id.Term, Version: id.Version} && slices.Equal(list, slices.Collect(old.All()))
	if isSame {
		return old
	}
	return algo.NewView(id.Version, list...).WithTerm(id.Term)
}

// Config returns the config that this node holds. It must not be changed.
func (m *Dynamic) Config() Config { return m.config }

// Cluster returns the ID of the cluster, zero until this node is in one.
func (m *Dynamic) Cluster() algo.NodeID { return m.config.Cluster }

// Committed reports whether the config is known to be committed.
func (m *Dynamic) Committed() bool { return m.committed }

// Digest returns a hash of the config and of whether it is known to be committed; 0 if this node is in no cluster.
// It is kept until one of them changes, because each event asks for it.
func (m *Dynamic) Digest() uint64 {
	if d := (digested{m.config.Cluster, m.config.ID, m.committed}); d != m.digestOf {
		m.digest, m.digestOf = m.config.digest(m.committed), d
	}
	return m.digest
}

// digested is what a digest depends on.
type digested struct {
	cluster   algo.NodeID
	id        ConfigID
	committed bool
}

// Ready reports whether the algorithm may run.
func (m *Dynamic) Ready(time.Duration) bool { return m.isReady() }

func (m *Dynamic) isReady() bool { return m.isVoter() && m.end == nil && !m.mayBeCopy() }

// formerAddrs returns the former address of this node, if it has moved while it was the only member.
func (m *Dynamic) formerAddrs() []string {
	e, isVoter := m.config.Find(m.self())
	if !isVoter || e.Addr == m.options.Self.Addr || len(m.config.Members) > 1 {
		return nil
	}
	return []string{e.Addr}
}

// mayBeCopy reports whether this node is the only member, has moved, and has not finished a dial of its former
// address yet. If the directory of this node is a copy, its original runs there. With other members, their quorum
// decides.
func (m *Dynamic) mayBeCopy() bool {
	former := m.formerAddrs()
	return slices.ContainsFunc(m.seeds, func(s seed) bool { return slices.Contains(former, s.Addr) && s.State == SeedPending })
}

// End returns why this node must stop, or nil.
func (m *Dynamic) End() error { return m.end }

// Isolated reports whether this node is no voter, or is connected to no other member.
func (m *Dynamic) Isolated() bool { return !m.isVoter() || m.isIsolated() }

// Unsaved returns the record to save, if it has changed since the last call.
func (m *Dynamic) Unsaved() []algo.Message {
	if !m.unsaved {
		return nil
	}
	m.unsaved = false
	return []algo.Message{m.record()}
}

func (m *Dynamic) record() Record {
	return Record{Config: m.config, Committed: m.committed, WasMember: m.wasMember, Before: m.before}
}

// MonitorSet returns the members that the failure detector must monitor for this package, besides
// those that the algorithm monitors.
func (m *Dynamic) MonitorSet() (ids []algo.NodeID) {
	if m.before != nil || m.options.RemoveSuspectedAfter > 0 && m.isLeader() {
		for _, e := range m.config.Members {
			if e.ID != m.self() {
				ids = append(ids, e.ID)
			}
		}
	}
	if !m.links.haveLearner() || !m.isLeader() {
		return ids
	}
	for _, l := range m.links {
		if !l.isLearner {
			continue
		}
		if old, found := m.predecessor(l.self); found && old.ID != m.self() && !slices.Contains(ids, old.ID) {
			ids = append(ids, old.ID)
		}
	}
	return ids
}
