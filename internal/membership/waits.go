package membership

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// For whom this node waits, as its host tells people.

// Sought is an address at which a member is still looked for, and what the configuration calls it.
type Sought struct {
	Addr, Name string
	Peer       algo.NodeID // who is connected there; zero for nobody
	// Cluster says that Peer is in a cluster, into which this node was not let so far, or of which
	// it knows another roster.
	Cluster bool
}

// Sought returns these addresses. An address at which a member is known is one of them only
// while this node is connected to no member.
func (m *Machine) Sought() (sought []Sought) {
	for _, c := range m.contacts {
		if m.wanted(c) && !c.holds {
			s := Sought{Addr: c.addr, Name: c.name}
			if l, connected := m.links[c.met]; connected {
				s.Peer, s.Cluster = c.met, l.cluster
			}
			sought = append(sought, s)
		}
	}
	return sought
}

// Waits is since when this node knows no leader, if it does not. It is alone if nobody has let it in,
// its algorithm has not started, or it is connected to no member, although its configuration names
// some.
func (m *Machine) Waits() (since time.Duration, vacant, alone bool) {
	leader, running, _ := m.env.Leader()
	return m.vacant, leader.Vacant(), m.joining() || !running || m.lonely() && len(m.contacts) > 0
}

// Seats are how many belong to this node's cluster, and how many of them it has met; none before
// it is in one.
func (m *Machine) Seats() (met, all int) { return len(m.roster.Entries), m.roster.size() }
