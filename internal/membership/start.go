package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// A contact is an address at which a member is expected, its ID yet unknown: a seed, or one of a
// fixed set. Behind a name each address is a contact.
type contact struct {
	addr  string
	name  string // what the configuration calls it
	last  Answer
	holds bool        // it is a name for several others, which are contacts
	met   algo.NodeID // who was reached there
	tries int
	at    time.Duration // when to dial it next
}

// An Answer is what came of the last attempt to reach a contact.
type Answer uint8

const (
	Pending Answer = iota // nothing yet, or somebody is there who just starts
	Silence
	Refusal // nobody listens there
	Other   // who is there has another list of members: until that has changed this node does not begin
)

// The back-off between dials to one address. The first are quick, for at a cold start the others
// are just starting as well. The longest lets those who wait for each other's names meet within
// a second.
const (
	minContact = 5 * time.Millisecond
	maxContact = 400 * time.Millisecond
	// rareContact is the time between two for one who is connected to some members: that in which
	// the detector dials who is dead.
	rareContact = time.Second
)

// fresh is for how long it counts that a peer has asked to be let in. It repeats that as often
// as it dials.
const fresh = 2 * maxContact

// firstContact is what keeps the algorithm of a node that has started from leading at once:
// where no majority is needed nothing else does.
type firstContact struct {
	at      time.Duration // when it waits no more
	waiting bool          // at is still to come
	again   bool          // it was a member before it was started
	heard   bool          // a member has shown its roster
	silent  map[algo.NodeID]bool
}

// Start decides how this node becomes a member: it is one already, it belongs to a fixed set,
// or somebody must let it in, unless it is to found a cluster: see bootstrap. It is the first call.
func (m *Machine) Start(now time.Duration) {
	self := m.config.Self
	for _, addr := range slices.Concat(m.config.Fixed, m.config.Seeds) {
		if addr != self.Addr {
			m.contacts = append(m.contacts, contact{addr: addr, name: addr, at: now})
		}
	}
	m.vacant = now
	m.first = firstContact{at: now + m.config.FirstContact, waiting: true, silent: make(map[algo.NodeID]bool)}
	if r := m.roster.Roster; m.config.Bootstrap && len(m.contacts) > 0 && len(r.Entries) == 1 && len(r.Strikes) == 0 && m.change == (Change{}) {
		m.roster, m.view = Known{}, algo.View{} // it has met nobody: others may have founded a cluster since
	}
	switch r := m.roster.Roster; {
	case len(m.config.Fixed) > 0 && (m.joining() || r.meeting() && len(r.Entries) == 1):
		m.found(now, len(m.config.Fixed)) // anew if it has met nobody: the list may have been mended since
	case !m.joining() && !r.has(self.ID):
		m.remove()
		return
	case !m.joining():
		mine, _ := r.find(self.ID)
		if why := m.unfit(m.own()); mine != m.own() && why != nil {
			m.end.Rejected = why
			return
		}
		m.first.again = !m.config.Unconnected && len(r.Entries) > 1
		if mine.Addr != self.Addr {
			m.env.Dial(algo.NodeID{}, mine.Addr) // it has moved, or is a copy of one who is there
		}
		if !m.config.Unconnected {
			m.reach() // those who saw this node die take it for dead until it says hello
		}
		m.Restate(now, self)
	case len(m.contacts) == 0 && !m.config.Bootstrap:
		m.end.Rejected = errors.New("this node is in no cluster yet, and its configuration names nobody else. " +
			"Write one of these lines: bootstrap: true, on the node that founds the cluster, or on all with the same join; " +
			"join: [HOST:PORT], with members that let it in; or members: [HOST:PORT, ...], with all of them, the same on each")
	}
	m.contact(now)
}

// reach dials all members that this node is not connected to.
func (m *Machine) reach() {
	for e := range m.view.All() {
		if _, connected := m.links[e.ID]; !connected && e.ID != m.self() {
			m.env.Dial(e.ID, e.Addr)
		}
	}
}

// bootstrap founds a cluster once it is known that there is none: at each address that is named
// nobody listens, or is one who has just asked to be let in itself, as all do who are in no
// cluster. Of several that may found one, and are connected, only the lowest does. Silence is
// no answer.
func (m *Machine) bootstrap(now time.Duration) {
	if !m.config.Bootstrap || !m.joining() {
		return
	}
	for peer, l := range m.links {
		if now-l.asked > fresh || l.founds && peer.Compare(m.self()) < 0 {
			return
		}
	}
	for _, c := range m.contacts {
		if _, connected := m.links[c.met]; !connected && c.met != m.self() && !c.holds && c.last != Refusal {
			return
		}
	}
	m.found(now, 1)
}

// found begins a cluster with this node as its only member so far. There must be one who may
// lead: only a leader lets others in.
func (m *Machine) found(now time.Duration, size int) {
	if size == 1 && !m.config.Self.Eligible {
		m.end.Rejected = fmt.Errorf("a witness cannot found a cluster: only a leader lets others in, " +
			"and nobody could lead; have it join another member")
		return
	}
	m.take(now, Roster{Cluster: m.config.Cluster, Unmet: size - 1, Entries: []Entry{m.own()}})
}

// Ready reports whether the algorithm may start.
//
// Without a quorum it would lead at once. So it waits until it has heard of every member of a
// fixed set, or knows that it does not answer; and after a restart until one member has shown its
// roster, or all refuse: it may have been removed, or others have led since. With a quorum no such
// mistake can be made.
func (m *Machine) Ready(now time.Duration) bool {
	r := m.roster.Roster
	switch {
	case !r.has(m.self()) || len(m.doom.by) > 0 || m.end != (End{}):
		return false
	case r.merging() && slices.ContainsFunc(m.contacts, func(c contact) bool { return c.last == Other && m.wanted(c) }):
		return false // it could become a second cluster
	case m.config.Quorum:
		return len(r.Entries) >= r.quorum() && (len(m.outside) == 0 || !r.meeting())
	case m.first.at <= now, m.config.Unconnected:
		return true
	case m.first.again:
		return m.first.heard || len(m.first.silent) >= len(r.Entries)-1
	}
	return !slices.ContainsFunc(m.contacts, func(c contact) bool { return c.last == Pending && !c.holds && m.wanted(c) })
}

// wanted reports whether a contact still has to be made: a seat is empty, or nobody is connected
// who knows this node. All may have moved.
func (m *Machine) wanted(c contact) bool {
	r := m.roster.Roster
	switch {
	case m.joining() || c.met == m.self():
		return m.joining()
	case r.Unmet > 0 && slices.Contains(m.config.Fixed, c.name):
		return !slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Addr == c.name })
	}
	return m.lonely()
}

// lonely reports whether this node is one of several members, and connected to none.
func (m *Machine) lonely() bool {
	if m.roster.size() < 2 {
		return false
	}
	for id := range m.links {
		if m.roster.has(id) {
			return false
		}
	}
	return true
}

// scattered reports whether a member is not connected, and none is known to be at an address: all
// may have moved, and have met again in parts, which know of each other only by the configuration.
func (m *Machine) scattered(c contact) (missing bool) {
	for _, e := range m.roster.Entries {
		if e.Addr == c.addr || e.Addr == c.name {
			return false
		}
		_, connected := m.links[e.ID]
		missing = missing || !connected && e.ID != m.self()
	}
	return missing
}

// seek has contacts dialled again, a little later, that were made and are wanted again.
func (m *Machine) seek(now time.Duration) {
	for i := range m.contacts {
		if c := &m.contacts[i]; c.at == never && (m.wanted(*c) || m.scattered(*c)) {
			c.at = now + maxContact
		}
	}
}

// contact dials whom it is time to dial, and asks again to be let in.
func (m *Machine) contact(now time.Duration) {
	asks := false
	for i := range m.contacts {
		c := &m.contacts[i]
		if c.at > now {
			continue
		}
		pause := min(minContact<<min(c.tries, 20), maxContact)
		if !m.wanted(*c) {
			if pause = rareContact; !m.scattered(*c) {
				c.at = never
				continue
			}
		}
		c.at = now + pause
		c.tries++
		asks = true
		// Whom it has reached it need not dial again: but now and then somebody else may be there.
		if _, connected := m.links[c.met]; !connected && !c.holds || c.tries%10 == 0 {
			m.env.Dial(algo.NodeID{}, c.addr)
		}
	}
	if asks && m.joining() {
		for _, peer := range slices.SortedFunc(maps.Keys(m.links), algo.NodeID.Compare) {
			m.ask(peer)
		}
	}
	m.first.waiting = m.first.waiting && m.first.at > now
}

func (m *Machine) nextContact() time.Duration {
	next := never
	for _, c := range m.contacts {
		next = min(next, c.at)
	}
	if m.first.waiting {
		next = min(next, m.first.at)
	}
	return next
}

// Missed says that a dial has failed, and what that says: Pending where somebody is there.
func (m *Machine) Missed(id algo.NodeID, addr string, why Answer) {
	if why != Pending && m.first.waiting && m.roster.has(id) {
		m.first.silent[id] = true
	}
	m.Answered(addr, why, algo.NodeID{})
}

// Resolved says which addresses are behind a name of the configuration.
func (m *Machine) Resolved(now time.Duration, name string, addrs []string) {
	at := slices.IndexFunc(m.contacts, func(c contact) bool { return c.addr == name })
	if at < 0 {
		return
	}
	if m.contacts[at].holds = len(addrs) > 1; !m.contacts[at].holds {
		addrs = nil
	}
	m.contacts = slices.DeleteFunc(m.contacts, func(c contact) bool {
		return c.name == name && c.addr != name && !slices.Contains(addrs, c.addr)
	})
	for _, addr := range addrs {
		if !slices.ContainsFunc(m.contacts, func(c contact) bool { return c.addr == addr }) {
			m.contacts = append(m.contacts, contact{addr: addr, name: name, at: now})
		}
	}
	m.contact(now)
}

// Answered notes what came of an address, and who was reached there, whoever of the two has made
// the connection. It may be this node itself, for now: behind it may be others at another time.
func (m *Machine) Answered(addr string, last Answer, met algo.NodeID) {
	for i := range m.contacts {
		if c := &m.contacts[i]; c.addr == addr {
			c.last, c.met = last, met
		}
	}
}

// named reports whether this node has dialled a peer because its configuration names its address.
func (m *Machine) named(peer algo.NodeID) bool {
	return slices.ContainsFunc(m.contacts, func(c contact) bool { return c.met == peer })
}

// ask asks a peer to let this node in.
func (m *Machine) ask(peer algo.NodeID) {
	m.asked[peer] = true
	m.env.Send(peer, Join{Entry: m.own(), Founds: m.config.Bootstrap})
}

// rejected takes a Reject. It counts only while this node is in no cluster, or in a fixed set that
// meets, and from who is at an address that its configuration names: nobody else can stop it. Who
// has dialled this node may be there as well: that shows when it is dialled.
func (m *Machine) rejected(from algo.NodeID, r Reject) {
	_, running, _ := m.env.Leader()
	switch starting := m.joining() || m.roster.meeting() && !running; {
	case !starting || !m.asked[from]:
	case m.named(from):
		m.end.Rejected = fmt.Errorf("%s", r.Reason)
	default:
		m.env.Refuse(from, r, errors.New("it was not dialled at an address that is configured"))
	}
}
