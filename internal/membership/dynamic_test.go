package membership

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

func (n *network) requireMembers(t *testing.T, names string) {
	t.Helper()
	require.Empty(t, n.disagreement(names))
}

// listOfThree returns a network in which the nodes a, b and c have bootstrapped a cluster by a list.
func listOfThree(t *testing.T) (*network, []*netNode) {
	t.Helper()
	n := newNetwork()
	list := []string{"C", "A", "B"}
	nodes := []*netNode{
		n.add(0, "a", "A", Options{List: list}).start(),
		n.add(1, "b", "B", Options{List: list}).start(),
		n.add(2, "c", "C", Options{List: list}).start(),
	}
	n.run(time.Second)
	n.requireMembers(t, "abc")
	return n, nodes
}

func TestListBootstrapsOnceAllHaveReplied(t *testing.T) {
	n := newNetwork()
	list := []string{"A", "B", "C"}
	a := n.add(0, "a", "A", Options{List: list}).start()
	b := n.add(1, "b", "B", Options{List: list}).start()
	n.run(2 * time.Second)
	require.Nil(t, n.leader(), "the list is not complete")
	require.Equal(t, []Seed{{Name: "C", Addr: "C", State: SeedRefused}}, a.m.Undiscovered())
	c := n.add(2, "c", "C", Options{List: list}).start()
	n.run(time.Second)
	n.requireMembers(t, "abc")
	require.Empty(t, a.m.Undiscovered())

	c.stop() // after the bootstrap a quorum suffices
	a.stop()
	b.stop()
	a.start()
	b.start()
	n.run(time.Second)
	n.requireMembers(t, "abc")
}

func TestListWithTwoNamesForOneNodeDoesNotBootstrap(t *testing.T) {
	n := newNetwork()
	list := []string{"A", "B", "B2"}
	a := n.add(0, "a", "A", Options{List: list}).start()
	b := n.add(1, "b", "B", Options{List: list}).start()
	n.run(time.Second)
	a.m.HandleReached(n.now, "B2", b.self.ID)
	n.run(time.Second)
	require.Zero(t, a.m.Cluster())
}

func TestListWithOneNameForAllNodesDoesNotBootstrap(t *testing.T) {
	n := newNetwork()
	a := n.add(0, "a", "A", Options{List: []string{"all"}}).start()
	b := n.add(1, "b", "B", Options{List: []string{"all"}})
	a.m.HandleResolved(n.now, "all", []string{"A", "B"})
	n.run(time.Second)
	require.Zero(t, a.m.Cluster(), "the other address refuses")
	b.start()
	b.m.HandleResolved(n.now, "all", []string{"A", "B"})
	n.run(time.Second)
	require.Zero(t, a.m.Cluster(), "each entry names one node")
	require.Zero(t, b.m.Cluster())
}

func TestListNameWithTwoAddressesOfOneNodeBootstraps(t *testing.T) {
	n := newNetwork()
	list := []string{"A.host", "B"}
	a := n.add(0, "a", "A", Options{List: list}).start()
	n.add(1, "b", "B", Options{List: list}).start()
	a.m.HandleResolved(n.now, "A.host", []string{"A", "A6"})
	n.run(time.Second)
	require.Zero(t, a.m.Cluster())
	a.m.HandleReached(n.now, "A6", a.self.ID)
	n.run(time.Second)
	n.requireMembers(t, "ab")
}

func TestListWithOneNameForTwoNodesRejectsOne(t *testing.T) {
	n := newNetwork()
	list := []string{"A", "B", "C"}
	n.add(0, "a", "A", Options{List: list}).start()
	b := n.add(1, "x", "B", Options{List: list}).start()
	c := n.add(2, "x", "C", Options{List: list}).start()
	n.run(time.Second)
	require.True(t, b.hasEnded() != c.hasEnded(), "%v, %v", b.m.End(), c.m.End())
}

func TestFirstNodeIsFoundByDialing(t *testing.T) {
	n := newNetwork()
	list := []string{"10.0.0.1", "B"}
	a := n.add(0, "a", "A", Options{List: list}).start()
	n.add(1, "b", "B", Options{List: list}).start()
	n.run(time.Second)
	require.Zero(t, a.m.Cluster())
	a.m.HandleReached(n.now, "10.0.0.1", a.self.ID) // its own address, under another name
	n.run(time.Second)
	n.requireMembers(t, "ab")
}

// A node that joins only itself is rejected. Otherwise, it would wait for ever.
func TestJoinOfItselfAloneIsRejected(t *testing.T) {
	const wrong = "membership: cannot join: join names only this node (A): name another member, or set bootstrap to create a cluster"
	n := newNetwork()
	a := n.add(0, "a", "A", Options{Join: []string{"A"}}).start()
	require.EqualError(t, a.m.End(), wrong)
	a.options.Join = []string{"A", "10.0.0.1"}
	a.start()
	n.run(time.Second)
	require.NoError(t, a.m.End(), "another node may start there")
	a.m.HandleReached(n.now, "10.0.0.1", a.self.ID)
	require.EqualError(t, a.m.End(), wrong)
	a.options.Join = []string{"host"}
	a.start()
	a.m.HandleResolved(n.now, "host", []string{"A"})
	a.m.HandleReached(n.now, "host", a.self.ID)
	require.NoError(t, a.m.End(), "the name may have other addresses later")
	a.options = Options{Join: []string{"A"}, Bootstrap: true}
	a.start()
	n.run(time.Second)
	n.requireMembers(t, "a")
	a.options.Bootstrap = false
	a.start()
	require.NoError(t, a.m.End(), "a member needs no join")
}

func TestJoinThroughAnySeed(t *testing.T) {
	n := newNetwork()
	b := n.add(1, "b", "B", Options{Join: []string{"A"}}).start()
	n.run(time.Second)
	n.add(0, "a", "A", Options{Bootstrap: true, Join: []string{"B", "C"}}).start()
	n.run(time.Second)
	n.requireMembers(t, "ab")
	n.add(2, "c", "C", Options{Join: []string{"B"}}).start()
	n.run(time.Second)
	n.requireMembers(t, "abc")
	require.False(t, b.m.Isolated())
}

// emptiedBootstrapNode returns what is wrong after the node that bootstrapped the cluster has lost its directory.
func emptiedBootstrapNode(without rule) string {
	n := newNetwork()
	a := n.add(0, "a", "A", Options{Bootstrap: true, Join: []string{"B"}}).start()
	n.run(time.Second)
	n.add(1, "b", "B", Options{Join: []string{"A"}}).start()
	n.add(2, "c", "C", Options{Join: []string{"A"}}).start()
	n.run(time.Second)
	if wrong := n.disagreement("abc"); wrong != "" {
		return "before: " + wrong
	}
	a.stop()
	n.run(time.Second)
	successor := n.add(10, "a", "A", a.options)
	successor.without = without
	successor.start()
	n.run(3 * time.Second)
	return n.disagreement("abc")
}

func TestEmptiedBootstrapNodeReplacesItself(t *testing.T) { require.Empty(t, emptiedBootstrapNode(0)) }

func TestLearnerReportsAwaitedSeeds(t *testing.T) {
	n, nodes := listOfThree(t)
	for _, p := range nodes {
		p.stop()
	}
	nodes[0].start() // without a quorum no leader can add a member
	d := n.add(3, "d", "D", Options{Join: []string{"A", "B"}}).start()
	n.run(time.Second)
	require.True(t, d.m.Isolated())
	require.Equal(t, []Seed{
		{Name: "A", Addr: "A", State: SeedReached, Peer: testID(0), InCluster: true},
		{Name: "B", Addr: "B", State: SeedRefused},
	}, d.m.Undiscovered())
	nodes[1].start()
	n.run(2 * time.Second)
	require.Equal(t, "abcd", namesOf(d.m.View()))
	require.Empty(t, d.m.Undiscovered())
}

func TestSilentSeedDelaysBootstrap(t *testing.T) {
	n := newNetwork()
	a := n.add(0, "a", "A", Options{Bootstrap: true, Join: []string{"B"}})
	b := n.add(1, "b", "B", Options{Join: []string{"A"}}).start()
	n.cut = func(*netNode, *netNode) bool { return true }
	a.start()
	n.run(time.Second)
	require.Zero(t, a.m.Cluster())
	b.stop() // now its address refuses connections
	n.run(time.Second)
	n.requireMembers(t, "a")
}

// Nodes that all bootstrap, with the same seeds, create one cluster, whatever their start times.
func TestOneOfSeveralBootstraps(t *testing.T) {
	const offsets = 8
	for i := range offsets * offsets * offsets {
		n := newNetwork()
		for k, at := range []int{i % offsets, i / offsets % offsets, i / offsets / offsets} {
			name := string(rune('a' + k))
			p := n.add(k, name, strings.ToUpper(name), Options{Bootstrap: true, Join: []string{"A", "B", "C"}})
			n.after(time.Duration(at)*hop/2, func() { p.start() })
		}
		n.run(2 * time.Second)
		require.Empty(t, n.disagreement("abc"), "start offsets %d", i)
	}
}

func TestEmptiedMemberOfListReplacesItself(t *testing.T) {
	for i, name := range []string{"a", "b"} {
		n, nodes := listOfThree(t)
		nodes[i].stop()
		n.run(time.Second)
		n.add(10, name, nodes[i].self.Addr, nodes[i].options).start()
		n.run(2 * time.Second)
		n.requireMembers(t, "abc")
		nodes[i].self.Addr = "Z"
		nodes[i].start() // the old directory is back
		n.run(time.Second)
		require.Equal(t, ErrExpired, nodes[i].m.End())
	}
}

// allMoved returns what is wrong after all members have moved.
func allMoved(without rule) string {
	n := newNetwork()
	list := []string{"A", "B", "C"}
	var nodes []*netNode
	for i, addr := range list {
		p := n.add(i, strings.ToLower(addr), addr, Options{List: list})
		p.without = without
		nodes = append(nodes, p.start())
	}
	n.run(time.Second)
	for _, p := range nodes {
		p.stop()
	}
	for _, p := range nodes {
		p.self.Addr += "2"
		p.options.List = []string{"A2", "B2", "C2"}
		p.start()
	}
	n.run(3 * time.Second)
	return n.disagreement("abc")
}

func TestAllMembersMove(t *testing.T) { require.Empty(t, allMoved(0)) }

func TestMemberRemovedWhileDown(t *testing.T) {
	n, nodes := listOfThree(t)
	a, c := nodes[0], nodes[2]
	c.stop()
	n.run(time.Second)
	require.NoError(t, a.dynamic.Remove(n.now, c.self.ID))
	n.run(time.Second)
	n.requireMembers(t, "ab")
	require.Equal(t, Removal{State: RemovalDone}, a.dynamic.Removal(c.self.ID))
	c.start()
	n.run(time.Second)
	require.Equal(t, ErrRemoved, c.m.End())
	a.stop()
	nodes[1].stop()
	c.start() // without a peer: c has saved its removal
	require.Equal(t, ErrRemoved, c.m.End())
}

func TestLeaderLeaves(t *testing.T) {
	n, _ := listOfThree(t)
	p := n.leader()
	require.NoError(t, p.dynamic.Remove(n.now, p.self.ID))
	require.Equal(t, Removal{RemovalPending, ErrHandsOver}, p.dynamic.Removal(p.self.ID))
	n.run(3 * time.Second)
	require.Equal(t, ErrLeft, p.m.End())
	n.requireMembers(t, strings.ReplaceAll("abc", p.self.Name, ""))
}

func TestLeaderIsRemoved(t *testing.T) {
	n, nodes := listOfThree(t)
	p := n.leader()
	other := nodes[(int(p.self.ID[15]))%3]
	require.NoError(t, other.dynamic.Remove(n.now, p.self.ID))
	require.Equal(t, Removal{RemovalPending, ErrOtherLeads}, other.dynamic.Removal(p.self.ID))
	n.run(3 * time.Second)
	require.Equal(t, ErrRemoved, p.m.End())
	n.requireMembers(t, strings.ReplaceAll("abc", p.self.Name, ""))
}

func TestTwoMembersLeaveAtOnce(t *testing.T) {
	n, nodes := listOfThree(t)
	nodes[0].stop()
	n.run(time.Second)
	b, c := nodes[1], nodes[2]
	require.NoError(t, b.dynamic.Remove(n.now, testID(0)))
	n.run(time.Second)
	n.requireMembers(t, "bc")
	require.NoError(t, b.dynamic.Remove(n.now, b.self.ID))
	require.NoError(t, c.dynamic.Remove(n.now, c.self.ID))
	n.run(5 * time.Second)
	require.NotEqual(t, b.up, c.up, "one leaves, the last stays")
	last := n.find(func(*netNode) bool { return true })
	require.Equal(t, Removal{RemovalRejected, ErrLastMember}, last.dynamic.Removal(last.self.ID))
}

func TestResignedLeaderIsStandby(t *testing.T) {
	n, nodes := listOfThree(t)
	p := n.leader()
	other := nodes[int(p.self.ID[15])%3]
	p.m.Resign(n.now, 2*time.Second)
	p.advance()
	n.run(time.Second)
	require.False(t, p.leads)
	require.False(t, other.m.View().IsEligible(p.self.ID))
	require.NotNil(t, n.leader())
	n.run(2 * time.Second)
	require.True(t, other.m.View().IsEligible(p.self.ID))
}

func TestStandbyEndsWithIncarnation(t *testing.T) {
	n, nodes := listOfThree(t)
	p := n.leader()
	other := nodes[int(p.self.ID[15])%3]
	p.m.Resign(n.now, time.Hour)
	n.run(time.Second)
	require.False(t, other.m.View().IsEligible(p.self.ID))
	p.stop()
	p.start()
	n.run(time.Second)
	require.True(t, other.m.View().IsEligible(p.self.ID))
}

func TestSuspectedMembersExpireDownToThree(t *testing.T) {
	n, nodes := listOfThree(t)
	nodes = append(nodes, n.add(3, "d", "D", Options{Join: []string{"A"}}).start())
	n.run(time.Second)
	n.requireMembers(t, "abcd")
	for _, p := range nodes {
		p.dynamic.options.RemoveSuspectedAfter = 2 * time.Second
		p.options.RemoveSuspectedAfter = 2 * time.Second
	}
	d := nodes[3]
	d.stop()
	n.run(time.Second)
	n.requireMembers(t, "abcd")
	n.run(3 * time.Second)
	n.requireMembers(t, "abc")
	nodes[2].stop()
	n.run(5 * time.Second)
	n.requireMembers(t, "abc")
	d.start()
	n.run(time.Second)
	require.Equal(t, ErrExpired, d.m.End())
	n.add(13, "d", "D", d.options).start() // under a new ID
	nodes[2].start()
	n.run(2 * time.Second)
	n.requireMembers(t, "abcd")
}

func TestRecoverOneSurvivor(t *testing.T) {
	n, nodes := listOfThree(t)
	for _, p := range nodes {
		p.stop()
	}
	record, err := Recover(testID(0), nodes[0].dynamic.record(), nodes[0].term)
	require.NoError(t, err)
	nodes[0].saved = append(nodes[0].saved[:0], record)
	nodes[0].start()
	n.run(time.Second)
	n.requireMembers(t, "a")
	nodes[1].start() // with its old directory
	n.run(time.Second)
	require.Equal(t, ErrRemoved, nodes[1].m.End())
	n.add(11, "b", "B", Options{Join: []string{"A"}}).start()
	n.run(time.Second)
	n.requireMembers(t, "ab")

	_, err = Recover(testID(9), record, 0)
	require.ErrorContains(t, err, "no member")
	_, err = Recover(testID(0), record, algo.MaxEpoch)
	require.ErrorContains(t, err, "too few epochs")
}

func TestJoinWithTakenNameIsRejected(t *testing.T) {
	n, _ := listOfThree(t)
	d := n.add(3, "a", "D", Options{Join: []string{"B"}}).start()
	n.run(time.Second)
	require.EqualError(t, d.m.End(), "membership: cannot join: the name a belongs to the member at A")
}

func TestNodeWithoutSeedsIsRejected(t *testing.T) {
	p := newNetwork().add(0, "a", "A", Options{}).start()
	require.ErrorContains(t, p.m.End(), "set bootstrap, join or members")
}

func TestWitnessCannotBootstrap(t *testing.T) {
	p := newNetwork().add(0, "a", "A", Options{Bootstrap: true})
	p.self.Witness = true
	p.start()
	require.ErrorContains(t, p.m.End(), "a witness cannot bootstrap a cluster")
}

func TestMemberThatMissedChangesTrustsNewMember(t *testing.T) {
	n, nodes := listOfThree(t)
	nodes[2].stop()
	n.add(3, "d", "D", Options{Join: []string{"A"}}).start()
	n.run(2 * time.Second)
	n.add(4, "e", "E", Options{Join: []string{"A"}}).start()
	n.run(2 * time.Second)
	n.requireMembers(t, "abcde")
	nodes[0].stop()
	nodes[1].stop()
	n.run(time.Second)
	nodes[2].start() // c knows only a, b and c, of which it reaches none; d and e dial c
	n.run(2 * time.Second)
	n.requireMembers(t, "abcde")
	require.NotNil(t, n.leader())
}

func TestImpossibleRemovalIsRejected(t *testing.T) {
	n := newNetwork()
	a := n.add(0, "a", "A", Options{Bootstrap: true}).start()
	n.run(time.Second)
	require.Equal(t, ErrLastMember, a.dynamic.Remove(n.now, a.self.ID))
	require.Equal(t, ErrNoMember, a.dynamic.Remove(n.now, testID(9)))
	b := n.add(1, "b", "B", Options{Join: []string{"A"}})
	b.self.Witness = true
	b.start()
	n.run(time.Second)
	require.Equal(t, ErrNoEligibleMember, a.dynamic.Remove(n.now, a.self.ID))
	a.self.Witness = true
	a.m.SetSelf(n.now, a.self) // without effect: no member could lead
	n.run(time.Second)
	require.True(t, b.m.View().IsEligible(a.self.ID))
}

// twoClusters returns what is wrong after two clusters have met.
func twoClusters(without rule) string {
	n := newNetwork()
	a := n.add(0, "a", "A", Options{Bootstrap: true}).start()
	b := n.add(1, "b", "B", Options{Bootstrap: true})
	b.without, a.dynamic.without = without, without
	b.term = 5 // so that its config is the newer one
	b.start()
	n.run(time.Second)
	own := [2]string{a.m.Cluster().String(), b.m.Cluster().String()}
	n.connect(a, b, "B")
	n.run(time.Second)
	if !a.up || !b.up || own != [2]string{a.m.Cluster().String(), b.m.Cluster().String()} {
		return "one cluster has taken over the members of another"
	}
	return ""
}

func TestNodeNeverChangesItsCluster(t *testing.T) { require.Empty(t, twoClusters(0)) }

// TestWalks makes nodes crash, start, move, resign, lose connections or their directory, join and be removed at random.
// Then the faults end: the nodes must agree, and send nothing more. In half of the walks, one node then dies for good
// and must be removed by request.
func TestWalks(t *testing.T) {
	for seed := range uint64(testkit.Rounds(200, 10000)) {
		walk(t, rand.New(rand.NewPCG(seed, 1)), seed)
	}
}

func walk(t *testing.T, random *rand.Rand, seed uint64) {
	n, nodes := listOfThree(t)
	for i, name := range []string{"d", "e"} {
		nodes = append(nodes, n.add(3+i, name, strings.ToUpper(name), Options{Join: []string{"A", "B", "C"}}))
	}
	removed := make(map[*netNode]bool)
	for range 12 {
		nodes = disturb(n, nodes, random, removed)
		n.run(time.Duration(random.IntN(600)) * time.Millisecond)
	}
	n.cut = func(p, q *netNode) bool { return false }
	for _, p := range nodes {
		if !p.up && !p.hasEnded() {
			p.start()
		}
	}
	n.run(6 * time.Second)
	requireRest(t, n, nodes, removed, seed)
	if seed%2 == 1 {
		removeDead(t, n, seed)
	}
}

// requireRest requires that all nodes agree, and send nothing more.
func requireRest(t *testing.T, n *network, nodes []*netNode, removed map[*netNode]bool, seed uint64) {
	t.Helper()
	for _, p := range nodes {
		require.True(t, p.up || removed[p], "seed %d: %s has stopped without a request: %v", seed, p.self.Name, p.m.End())
	}
	require.Empty(t, n.disagreement(namesUp(n)), "seed %d", seed)
	frames := n.frames
	n.run(5 * time.Second)
	require.Equal(t, frames, n.frames, "seed %d: the nodes do not come to rest", seed)
}

// removeDead stops one of at least three members for good, and removes it by request of another.
func removeDead(t *testing.T, n *network, seed uint64) {
	t.Helper()
	p := n.find(func(p *netNode) bool { return true })
	if p.m.View().Len() < 3 {
		return
	}
	p.stop()
	n.run(time.Second)
	q := n.find(func(q *netNode) bool { return true })
	require.NoError(t, q.dynamic.Remove(n.now, p.self.ID))
	n.run(2 * time.Second)
	require.Empty(t, n.disagreement(namesUp(n)), "seed %d", seed)
}

// namesUp returns the names of the running nodes, sorted.
func namesUp(n *network) string {
	var names []string
	for _, p := range n.nodes {
		if p.up {
			names = append(names, p.self.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "")
}

// disturb does one thing at random to a network.
func disturb(n *network, nodes []*netNode, random *rand.Rand, removed map[*netNode]bool) []*netNode {
	p, q := nodes[random.IntN(len(nodes))], nodes[random.IntN(len(nodes))]
	switch random.IntN(9) {
	case 0:
		if p.up {
			p.stop()
		}
	case 1, 2:
		if !p.up && !p.hasEnded() {
			p.start()
		}
	case 3:
		n.cut = func(a, b *netNode) bool { return (a == q) != (b == q) }
	case 4:
		n.cut = func(a, b *netNode) bool { return false }
	case 5:
		if p.up && p.m.Ready(n.now) && len(removed) < 2 && p.dynamic.Remove(n.now, q.self.ID) == nil {
			removed[q] = true
		}
	case 6:
		move(n, nodes, p)
	case 7:
		if p.up && p.m.Ready(n.now) {
			p.m.Resign(n.now, time.Duration(random.IntN(1000))*time.Millisecond)
		}
	case 8:
		// Other nodes know the successor by the name and address of p, so these must be committed.
		isFirstLoss := len(removed) == 0 && p.up && p.dynamic.SelfCommitted()
		if isFirstLoss {
			p.stop()
			removed[p] = true
			nodes = slices.DeleteFunc(slices.Clone(nodes), func(q *netNode) bool { return q == p })
			nodes = append(nodes, n.add(20, p.self.Name, p.self.Addr, p.options).start())
		}
	}
	return nodes
}

// move gives a running node another address, which all settings name.
func move(n *network, nodes []*netNode, p *netNode) {
	isSuccessor := p.self.ID == testID(20) // until it is a member again, other nodes know it by its address
	if !p.up || isSuccessor {
		return
	}
	p.stop()
	p.self.Addr += "'"
	for _, q := range nodes {
		if len(q.options.List) == 0 {
			q.options.Join = append(q.options.Join, p.self.Addr)
		} else {
			q.options.List = append(q.options.List, p.self.Addr)
		}
		if q.up {
			q.dynamic.seeds.add(n.now, p.self.Addr, q.self)
		}
	}
	if !p.hasEnded() {
		p.start()
	}
}

// A refused dial from before a connection is no proof that the peer is down. The peer has started since, and may have
// bootstrapped a cluster when the connection breaks. So the node waits with its own bootstrap.
func TestRefusalBeforeConnectionIsNoProof(t *testing.T) {
	s := &script{}
	s.m = NewDynamic(Options{Self: entryOf(1), Cluster: testID(91), Retry: testRetry, Bootstrap: true, Join: []string{"A"}}, s)
	s.m.Start(0)
	first := Peer{ID: testID(0), Name: entryOf(0).Name, Incarnation: 1, Addr: "A"}
	s.m.Up(0, first)
	s.m.HandleDialFailure(0, "A", SeedRefused) // the previous dial: its failure arrives late
	s.m.Receive(0, first.ID, Self{Member: entryOf(0), Bootstraps: true})
	s.m.Down(0, first.ID)
	s.advance()
	require.True(t, s.m.isBlank(), s.holds())
	s.m.HandleDialFailure(0, "A", SeedRefused)
	s.advance()
	require.False(t, s.m.isBlank(), "it is down, and has no cluster as far as this node can know")
}
