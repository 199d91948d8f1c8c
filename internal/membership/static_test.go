package membership

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// staticThree returns a network in which the nodes a, b and c have the same list.
func staticThree(t *testing.T) (*network, []*netNode) {
	t.Helper()
	n := newNetwork()
	list := []string{"A", "B", "C"}
	nodes := []*netNode{n.addStatic(0, "a", "A", list...), n.addStatic(1, "b", "B", list...), n.addStatic(2, "c", "C", list...)}
	for _, p := range nodes {
		p.start()
	}
	n.run(2 * time.Second)
	requireViews(t, "abc", nodes...)
	return n, nodes
}

func requireViews(t *testing.T, names string, nodes ...*netNode) {
	t.Helper()
	for _, p := range nodes {
		require.Equal(t, names, namesOf(p.m.View()), "the members that %s sees", p.self.Name)
		require.Equal(t, p.m.View().Len(), p.m.View().Len())
	}
}

func TestStaticLearnsMembersAsTheyConnect(t *testing.T) {
	n := newNetwork()
	list := []string{"A", "B", "C"}
	a, b, c := n.addStatic(0, "a", "A", list...), n.addStatic(1, "b", "B", list...), n.addStatic(2, "c", "C", list...)
	a.start()
	n.run(100 * time.Millisecond)
	require.True(t, a.m.Ready(n.now), "all others refuse")
	require.True(t, a.m.Isolated())
	b.start()
	n.run(1500 * time.Millisecond)
	requireViews(t, "ab", a, b)
	require.Equal(t, []Seed{{Name: "C", Addr: "C", State: SeedRefused}}, a.m.Undiscovered())
	c.start()
	n.run(1500 * time.Millisecond)
	requireViews(t, "abc", a, b, c)
	require.Empty(t, a.m.Undiscovered())
}

func TestStaticWaitsForSilentMember(t *testing.T) {
	n := newNetwork()
	a, b := n.addStatic(0, "a", "A", "A", "B"), n.addStatic(1, "b", "B", "A", "B")
	n.cut = func(*netNode, *netNode) bool { return true }
	b.start()
	a.start()
	n.run(900 * time.Millisecond)
	require.False(t, a.m.Ready(n.now))
	n.run(200 * time.Millisecond)
	require.True(t, a.m.Ready(n.now), "at the latest after StartupWait")
}

// A node that no peer lists waits for an event, also after StartupWait.
func TestStaticRejectedNodeSleeps(t *testing.T) {
	n := newNetwork()
	a, b := n.addStatic(0, "a", "A", "A"), n.addStatic(1, "b", "B", "A", "B")
	a.start()
	b.start()
	n.run(2 * time.Second)
	require.False(t, b.m.Ready(n.now))
	b.m.Wake(n.now)
	require.Greater(t, b.m.Deadline(), n.now)
}

// Two nodes lose their first frames, up to four, when they meet and when one of them changes. They still agree, and
// send nothing at rest.
func TestStaticLostMessageIsRepeated(t *testing.T) {
	n := newNetwork()
	a, b := n.addStatic(0, "a", "A", "A", "B"), n.addStatic(1, "b", "B", "A", "B")
	loses := func(frames int) {
		n.lost = func() bool { frames--; return frames >= 0 }
	}
	for frames := range 5 {
		loses(frames)
		a.start()
		b.start()
		n.run(2 * time.Second)
		requireViews(t, "ab", a, b)
		loses(frames)
		b.self.Priority++
		b.m.SetSelf(n.now, b.self)
		b.m.Resign(n.now, time.Hour)
		n.run(2 * time.Second)
		e, _ := a.m.View().Member(b.self.ID)
		require.Equal(t, b.self.Priority, e.Priority)
		require.False(t, a.m.View().IsEligible(b.self.ID))
		sent := n.frames
		n.run(time.Minute)
		require.Equal(t, sent, n.frames, "frames at rest")
		a.stop()
		b.stop()
	}
}

// A rejection is ignored if the peer has sent a newer Self: the peer may have received a list with the rejected node,
// and accepted the node over another connection.
func TestStaticOlderRejectionIsIgnored(t *testing.T) {
	n := newNetwork()
	a, b := n.addStatic(0, "a", "A", "A", "B").start(), n.addStatic(1, "b", "B", "A", "B").start()
	n.run(2 * time.Second)
	requireViews(t, "ab", a, b)
	version := func() ConfigID { return ConfigID{Version: a.static.selfVersion} }
	late := Reject{Reason: ErrUnlisted.Error(), Holds: version()}
	require.NoError(t, a.static.SetMembers(n.now, []string{"A", "B", "C"}))
	n.run(time.Second)
	b.m.Receive(n.now, a.self.ID, late)
	requireViews(t, "ab", a, b)
	require.NoError(t, b.m.End())

	b.m.Receive(n.now, a.self.ID, Reject{Reason: ErrUnlisted.Error(), Holds: version()})
	require.Equal(t, ErrNotListed, b.m.End(), "this one is true")
}

// A removed node that starts without reaching a member is ready to lead alone. It stops when a member rejects it.
func TestStaticRemovedNodeStopsAfterPartition(t *testing.T) {
	n, nodes := staticThree(t)
	a, b, c := nodes[0], nodes[1], nodes[2]
	c.stop()
	require.NoError(t, a.static.SetMembers(n.now, []string{"A", "B"}))
	require.NoError(t, b.static.SetMembers(n.now, []string{"A", "B"}))
	n.cut = func(p, q *netNode) bool { return p == c || q == c }
	c.start()
	n.run(2 * time.Second)
	require.True(t, c.m.Ready(n.now))
	n.cut = func(*netNode, *netNode) bool { return false }
	n.run(3 * time.Second)
	require.Equal(t, ErrNotListed, c.m.End())
}

// A removed node that was rejected does not lead when the other members stop.
func TestStaticRejectionPersists(t *testing.T) {
	n, nodes := staticThree(t)
	a, b, c := nodes[0], nodes[1], nodes[2]
	c.stop()
	require.NoError(t, a.static.SetMembers(n.now, []string{"A", "B"}))
	require.NoError(t, b.static.SetMembers(n.now, []string{"A", "B"}))
	c.start()
	n.run(time.Second)
	a.stop()
	b.stop()
	n.run(5 * time.Second)
	require.False(t, c.m.Ready(n.now))
}

// A node that leads alone does not stop if it receives the list of all before the other node does.
func TestStaticLoneNodeMayGetItsListFirst(t *testing.T) {
	n := newNetwork()
	a, b := n.addStatic(0, "a", "A", "A"), n.addStatic(1, "b", "B", "B")
	a.start()
	b.start()
	n.run(time.Second)
	require.NoError(t, a.static.SetMembers(n.now, []string{"A", "B"}))
	n.run(3 * time.Second)
	require.NoError(t, a.m.End())
	require.NoError(t, b.static.SetMembers(n.now, []string{"A", "B"}))
	n.run(3 * time.Second)
	requireViews(t, "ab", a, b)
}

func TestStaticListGrowsAndShrinks(t *testing.T) {
	n, nodes := staticThree(t)
	a, b, c := nodes[0], nodes[1], nodes[2]
	four := []string{"A", "B", "C", "D"}
	d := n.addStatic(3, "d", "D", four...).start()
	n.run(2 * time.Second)
	require.False(t, d.m.Ready(n.now), "no node lists it")
	require.NoError(t, d.m.End())
	require.NoError(t, a.static.SetMembers(n.now, four))
	n.run(2 * time.Second)
	requireViews(t, "abcd", a)
	requireViews(t, "ad", d)
	require.Len(t, a.static.Differing(), 2)
	require.Empty(t, d.static.Differing())
	require.NoError(t, b.static.SetMembers(n.now, four))
	require.NoError(t, c.static.SetMembers(n.now, four))
	n.run(2 * time.Second)
	requireViews(t, "abcd", a, b, c, d)
	require.True(t, d.m.Ready(n.now))

	without := four[1:]
	require.ErrorContains(t, a.static.SetMembers(n.now, without), "does not name this node, A: stop the node instead")
	for _, p := range []*netNode{b, c, d} {
		require.NoError(t, a.m.End(), "some member still lists it")
		require.NoError(t, p.static.SetMembers(n.now, without))
		n.run(1500 * time.Millisecond)
	}
	n.run(2 * time.Second)
	require.Equal(t, ErrNotListed, a.m.End(), "it would lead alone")
	requireViews(t, "bcd", b, c, d)
}

func TestStaticNewIDReplacesOldIDAtAddress(t *testing.T) {
	n, nodes := staticThree(t)
	a, b, c := nodes[0], nodes[1], nodes[2]
	c.stop()
	n.run(time.Second)
	requireViews(t, "abc", a, b) // a dead node stays a member
	successor := n.addStatic(12, "c", "C", c.list...).start()
	n.run(2 * time.Second)
	requireViews(t, "abc", a, b, successor)
	require.False(t, a.m.View().Contains(c.self.ID))
	require.True(t, a.m.View().Contains(successor.self.ID))
}

func TestStaticMemberUnderAnotherNameIsFoundByDialing(t *testing.T) {
	n := newNetwork()
	list := []string{"A", "node-b"}
	a, b := n.addStatic(0, "a", "A", list...), n.addStatic(1, "b", "B", list...)
	b.start()
	b.m.HandleReached(n.now, "node-b", b.self.ID)
	a.start()
	n.run(50 * time.Millisecond)
	n.connect(b, a, "A")
	require.True(t, n.isConnected(a, b), "it may be at node-b")
	a.m.HandleReached(n.now, "node-b", b.self.ID)
	n.run(time.Second)
	requireViews(t, "ab", a, b)
	e, _ := a.m.View().Member(b.self.ID)
	require.Equal(t, "node-b", e.Addr, "the address of the list")
}

func TestStaticNameMayStandForSeveralAddresses(t *testing.T) {
	n := newNetwork()
	a, b, c := n.addStatic(0, "a", "A", "all"), n.addStatic(1, "b", "B", "all"), n.addStatic(2, "c", "C", "all")
	for _, p := range []*netNode{a, b, c} {
		p.start()
		p.m.HandleResolved(n.now, "all", []string{"A", "B", "C"})
	}
	n.run(2 * time.Second)
	requireViews(t, "abc", a, b, c)
}

func TestStaticMemberSendsSelf(t *testing.T) {
	n, nodes := staticThree(t)
	a, b := nodes[0], nodes[1]
	before := a.m.View()
	require.Equal(t, before, a.m.View(), "the same value")
	b.self.Priority = 5
	b.m.SetSelf(n.now, b.self)
	n.run(time.Second)
	e, _ := a.m.View().Member(b.self.ID)
	require.Equal(t, 5, e.Priority)
	require.Greater(t, a.m.View().Version(), before.Version())
	b.m.Resign(n.now, time.Second)
	n.run(500 * time.Millisecond)
	require.False(t, a.m.View().IsEligible(b.self.ID))
	n.run(time.Second)
	require.True(t, a.m.View().IsEligible(b.self.ID))
}

func TestStaticHasNothingToSave(t *testing.T) {
	_, nodes := staticThree(t)
	m := nodes[0].m
	require.Nil(t, m.Unsaved())
	require.True(t, m.Committed())
	require.Empty(t, m.MonitorSet())
	require.NotZero(t, m.Digest())
}

func TestStaticRejectedNodeIsNotDueAtOnce(t *testing.T) {
	n, nodes := staticThree(t)
	d := n.addStatic(3, "d", "D", "A", "B", "C", "D").start()
	n.run(5 * time.Second)
	require.False(t, d.m.Ready(n.now), "no node lists it")
	d.m.Wake(n.now)
	require.Greater(t, d.m.Deadline(), n.now)
	for _, p := range nodes {
		require.NoError(t, p.static.SetMembers(n.now, []string{"A", "B", "C", "D"}))
	}
	n.run(2 * time.Second)
	require.True(t, d.m.Ready(n.now))
}

func TestStaticMemberStaysIfItsAddressLeadsHere(t *testing.T) {
	n, nodes := staticThree(t)
	a, b := nodes[0], nodes[1]
	a.m.HandleReached(n.now, "B", a.self.ID)
	require.True(t, a.m.View().Contains(b.self.ID), "it may move back")
	b.stop()
	n.run(time.Second)
	b.start()
	n.run(2 * time.Second)
	requireViews(t, "abc", nodes...)
}

// A listed node does not become a member under another name than that of its hello.
func TestStaticPeerHasNoOtherName(t *testing.T) {
	n, nodes := staticThree(t)
	self := nodes[1].self
	self.Name = "c"
	nodes[0].m.Receive(n.now, self.ID, Self{Member: self, Holds: ConfigID{Version: 9}})
	nodes[0].advance()
	requireViews(t, "abc", nodes[0])
	n.run(5 * time.Second)
	requireViews(t, "abc", nodes...)
}
