package membership

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Delays between two dials of one seed. The first are short, because at a cold start all nodes of a
// cluster start together. A voter dials rarely: members may have moved to an address of its settings.
const (
	minDialDelay  = 5 * time.Millisecond
	maxDialDelay  = 400 * time.Millisecond
	rareDialDelay = time.Second
)

// SeedState is what the last attempt to reach a seed has shown.
type SeedState uint8

// The states of a seed.
const (
	SeedPending  SeedState = iota // no attempt has ended yet
	SeedReached                   // a node has answered
	SeedSilent                    // no answer came in time
	SeedRefused                   // no process listens there
	SeedRejected                  // a node listens there and rejects this one, because of its list
)

// Seed is an address that the settings of a node name.
type Seed struct {
	Name  string // as the settings write it
	Addr  string // one address behind the name; equal to Name if it was not resolved
	State SeedState
	Peer  algo.NodeID // node that was reached there last; zero if none was
	// InCluster: Peer is connected and holds a config. This node is not in that config yet.
	InCluster bool
}

type seed struct {
	Seed
	isName   bool // it was looked up
	expanded bool // the name has several addresses, which are seeds of their own
	attempts int
	dialAt   time.Duration
	// isTentative: the address was listed while this node was running, and the node there has not accepted it yet.
	isTentative bool
}

type seeds []seed

// add adds a name of the settings. It is self's own if it is the address of self.
func (ss *seeds) add(now time.Duration, name string, self Member) {
	if slices.ContainsFunc(*ss, func(s seed) bool { return s.Addr == name }) {
		return
	}
	added := seed{Seed: Seed{Name: name, Addr: name}, dialAt: now}
	if name == self.Addr {
		added.State, added.Peer, added.dialAt = SeedReached, self.ID, never
	}
	*ss = append(*ss, added)
}

// recordNode records that peer is at addr.
func (ss seeds) recordNode(addr string, peer algo.NodeID) {
	for i := range ss {
		if ss[i].Addr == addr {
			ss[i].State, ss[i].Peer, ss[i].attempts = SeedReached, peer, 0
		}
	}
}

// recordFailure records how a dial of addr has ended. Peer stays: the node there may be down.
func (ss seeds) recordFailure(addr string, state SeedState) {
	for i := range ss {
		if ss[i].Addr == addr {
			ss[i].State = state
		}
	}
}

// recheck makes seeds due because a connection has begun or ended. These are the seed at addr, where the peer
// listens, if no dial has reached it yet, and each seed that has refused: the refusal may be older than the process
// of the peer.
func (ss seeds) recheck(now time.Duration, addr string) {
	for i := range ss {
		switch s := &ss[i]; {
		case s.State == SeedRefused:
			s.State, s.dialAt = SeedPending, now
		case s.Addr == addr && s.Peer.IsZero():
			s.dialAt = now
		}
	}
}

// expand replaces the addresses behind a name. If there are several, each becomes a seed.
func (ss *seeds) expand(now time.Duration, name string, addrs []string) {
	i := slices.IndexFunc(*ss, func(s seed) bool { return s.Addr == name })
	if i < 0 {
		return
	}
	(*ss)[i].isName = true
	if (*ss)[i].expanded = len(addrs) > 1; !(*ss)[i].expanded {
		addrs = nil
	}
	*ss = slices.DeleteFunc(*ss, func(s seed) bool {
		return s.Name == name && s.Addr != name && !slices.Contains(addrs, s.Addr)
	})
	for _, addr := range addrs {
		if !slices.ContainsFunc(*ss, func(s seed) bool { return s.Addr == addr }) {
			*ss = append(*ss, seed{Seed: Seed{Name: name, Addr: addr}, dialAt: now})
		}
	}
}

// dial dials the seeds that are due. delay returns the time until the next dial of a seed, or never
// if it is not needed. Such a seed is checked again later, for members may move.
func (ss seeds) dial(now time.Duration, env Env, delay func(seed) time.Duration) {
	for i := range ss {
		s := &ss[i]
		if s.dialAt > now {
			continue
		}
		next := delay(*s)
		s.dialAt = now + min(next, rareDialDelay)
		if next != never {
			s.attempts++
			env.Dial(algo.NodeID{}, s.Addr)
		}
	}
}

// backOff returns the delay after a dial of a seed that is needed.
func (s seed) backOff() time.Duration { return min(minDialDelay<<min(s.attempts, 10), maxDialDelay) }

func (ss seeds) deadline() time.Duration {
	next := never
	for i := range ss {
		next = min(next, ss[i].dialAt)
	}
	return next
}

// nodeAt returns the one node at a name. It is not known before each address behind the name has led there:
// a name may stand for several nodes.
func (ss seeds) nodeAt(name string) (id algo.NodeID, found bool) {
	for _, s := range ss {
		if s.Name != name || s.expanded {
			continue
		}
		if s.Peer.IsZero() || found && s.Peer != id {
			return algo.NodeID{}, false
		}
		id, found = s.Peer, true
	}
	return id, found
}

// dialSeeds dials the seeds that are due (R21).
func (m *Dynamic) dialSeeds(now time.Duration) {
	if m.seeds.deadline() > now {
		return
	}
	isComplete := m.isVoter() && !m.config.isInitial() && m.allConnected() && !m.mayBeCopy()
	m.seeds.dial(now, m.env, func(s seed) time.Duration {
		switch {
		case isComplete:
			return never
		case s.isName && (s.expanded || s.Peer == m.self()) && !m.isVoter():
			return rareDialDelay // by then it may have other addresses
		case s.expanded, m.links.has(s.Peer), s.Peer == m.self():
			return never
		case !m.isVoter(), m.config.isInitial(), m.mayBeCopy():
			return s.backOff()
		case !m.keeps(r21), slices.ContainsFunc(m.config.Members, func(e Member) bool { return e.Addr == s.Addr }):
			return never // the failure detector dials members
		}
		return rareDialDelay // a member that is not connected may have moved there
	})
}

func (m *Dynamic) allConnected() bool {
	return !slices.ContainsFunc(m.config.Members, func(e Member) bool { return e.ID != m.self() && !m.links.has(e.ID) })
}

// dialMembers dials all members that are not connected.
func (m *Dynamic) dialMembers() {
	for _, e := range m.config.Members {
		if e.ID != m.self() && !m.links.has(e.ID) {
			m.env.Dial(e.ID, e.Addr)
		}
	}
}

// HandleResolved replaces the addresses behind a name of the settings.
func (m *Dynamic) HandleResolved(now time.Duration, name string, addrs []string) {
	m.seeds.expand(now, name, addrs)
	m.dialSeeds(now)
}

// HandleReached records which node answers at an address: also this node itself, under another name.
func (m *Dynamic) HandleReached(now time.Duration, addr string, peer algo.NodeID) {
	m.seeds.recordNode(addr, peer)
	m.end = cmp.Or(m.end, m.checkSeeds())
	m.sendBootstrapRequests()
}

// HandleDialFailure records how a dial without a connection has ended.
func (m *Dynamic) HandleDialFailure(now time.Duration, addr string, state SeedState) {
	m.seeds.recordFailure(addr, state)
}

// Undiscovered returns the seeds for which this node waits, with what is known of each. The first node of a
// list waits for a reply from all others. A node that is no voter waits for any seed to lead to a leader. A
// voter waits only if it is connected to no other member, or its cluster has had no leader yet.
func (m *Dynamic) Undiscovered() (undiscovered []Seed) {
	for _, s := range m.seeds {
		l := m.links.find(s.Peer)
		var isAwaited bool
		switch {
		case s.expanded, s.Peer == m.self() && (!s.isName || len(m.options.List) > 0):
		case m.isFirst():
			isAwaited = m.findReply(s.Peer) == nil
		case !m.isVoter():
			isAwaited = true
		default:
			isAwaited = l == nil && (m.config.isInitial() || m.isIsolated())
		}
		if isAwaited {
			s.InCluster = l != nil && l.digest != 0
			undiscovered = append(undiscovered, s.Seed)
		}
	}
	return undiscovered
}

// isIsolated reports whether this node is one of several members and is connected to none.
func (m *Dynamic) isIsolated() bool {
	isConnected := func(l link) bool { return m.config.Has(l.peer) }
	return len(m.config.Members) > 1 && !slices.ContainsFunc(m.links, isConnected)
}
