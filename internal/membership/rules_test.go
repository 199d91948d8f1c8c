package membership

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// A script is one machine, with an environment that a test writes, and a transcript of what the machine does.
type script struct {
	m        *Dynamic
	leader   algo.Leader
	taken    algo.Epoch
	suspects nodeSet
	noLease  bool
	done     []string
}

// voter returns node 1 of a committed config 1.1 of some nodes, connected to nine others. It leads in epoch 1.
func voter(members int) *script {
	c := Config{Cluster: testID(90), ID: ConfigID{1, 1}, Author: testID(0)}
	for i := range members {
		c.Members = append(c.Members, entryOf(i))
	}
	return newScript(Options{Self: entryOf(0)}, Record{Config: c, Committed: true, WasMember: true})
}

func newScript(o Options, saved ...algo.Message) *script {
	s := &script{leader: algo.Leader{ID: testID(0), Epoch: 1}, taken: 1}
	o.Retry, o.Cluster = testRetry, testID(91)
	s.m = NewDynamic(o, s, saved...)
	s.m.Start(0)
	for i := 1; i < 10; i++ {
		s.m.Up(0, Peer{ID: testID(i), Name: entryOf(i).Name, Incarnation: 1, Digest: s.m.Digest(), Addr: entryOf(i).Addr})
	}
	s.m.Advance(0)
	s.done = nil
	return s
}

func (s *script) note(format string, args ...any) {
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

func (s *script) Send(to algo.NodeID, m algo.Message) {
	text := m.Kind()
	if u, isUpdate := m.(Update); isUpdate {
		text += " " + formatUpdate(u)
	}
	s.note("%s to n%d", text, indexOf(to)+1)
}

func (s *script) Dial(id algo.NodeID, addr string)            { s.note("dial %s", addr) }
func (s *script) Reject(peer algo.NodeID, reason error)       { s.note("reject n%d", indexOf(peer)+1) }
func (s *script) Leader() (algo.Leader, algo.Epoch)           { return s.leader, s.taken }
func (s *script) HoldsLease() bool                            { return !s.noLease }
func (s *script) Suspected(algo.NodeID) (bool, time.Duration) { return false, 0 }

// suspecting is a script with a failure detector that suspects some nodes.
type suspecting struct{ *script }

func (s suspecting) Suspected(id algo.NodeID) (bool, time.Duration) {
	return s.suspects.has(indexOf(id)), 0
}

func formatUpdate(u Update) string {
	text := format(u.Config)
	if u.Committed {
		text += " committed"
	}
	return text
}

// receive passes a message from node i to the machine.
func (s *script) receive(i int, m algo.Message) {
	s.m.Receive(0, testID(i-1), m)
	s.m.Advance(0)
}

func (s *script) advance() { s.m.Advance(0) }

// suspect makes the failure detector suspect nodes from now on.
func (s *script) suspect(nodes nodeSet) {
	s.suspects = nodes
	s.m.env = suspecting{s}
	s.advance()
}

func (s *script) remove(i int) {
	_ = s.m.Remove(0, testID(i-1)) // the config shows whether it was rejected
	s.advance()
}

// lead makes node 1 lead in an epoch.
func (s *script) lead(epoch algo.Epoch) {
	s.leader, s.taken = algo.Leader{ID: testID(0), Epoch: epoch}, epoch
	s.advance()
}

// follow makes node 1 follow node i in an epoch.
func (s *script) follow(i int, epoch algo.Epoch) {
	s.leader, s.taken = algo.Leader{ID: testID(i - 1), Epoch: epoch}, epoch
	s.advance()
}

// holds returns the config of the machine.
func (s *script) holds() string { return formatUpdate(Update{s.m.config, s.m.committed}) }

// configOf returns an Update with a config of some nodes, written by node 2.
func configOf(term algo.Epoch, version uint64, committed bool, nodes ...int) Update {
	c := Config{Cluster: testID(90), ID: ConfigID{term, version}, Author: testID(1)}
	for _, i := range nodes {
		c.Members = append(c.Members, entryOf(i-1))
	}
	return Update{c, committed}
}

func ack(term algo.Epoch, version uint64) Ack { return Ack{ConfigID{term, version}} }

// selfOf returns the Self message of node i, which holds the config with this config ID.
func selfOf(i int, term algo.Epoch, version uint64) Self {
	return Self{Member: entryOf(i - 1), Holds: ConfigID{term, version}}
}

// TestRules shows each rule of reconfiguration on one node. Node 1 leads in epoch 1 with 1.1{1 2 3} committed.
func TestRules(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(s *script)
		want string // the config at the end
	}{
		{"R1 newer config from a non-member", func(s *script) { s.follow(2, 5); s.receive(9, configOf(5, 7, true, 1, 2, 9)) }, "5.7{1 2 9} committed"},
		{"R1 older config", func(s *script) { s.receive(2, configOf(0, 9, true, 1, 2)) }, "1.1{1 2 3} committed"},
		{"R2 leader", func(s *script) { s.remove(3) }, "1.2{1 2}"},
		{"R2 later epoch taken", func(s *script) { s.taken = 2; s.remove(3) }, "1.1{1 2 3} committed"},
		{"R3 second change before the commit", func(s *script) { s.remove(3); s.remove(2) }, "1.2{1 2}"},
		{"R3 second change after the commit", func(s *script) { s.remove(3); s.receive(2, ack(1, 2)); s.remove(2) }, "1.3{1} committed"},
		{"R4 ack of another config", func(s *script) { s.remove(3); s.receive(2, ack(1, 1)) }, "1.2{1 2}"},
		{"R4 ack of a removed member", func(s *script) { s.remove(3); s.receive(3, ack(1, 2)) }, "1.2{1 2}"},
		{"R5 two members", func(s *script) { s.m.reconfig(0, s.m.config.Members[:1], nil) }, "1.1{1 2 3} committed"},
		{"R6 new leader, no change wanted", func(s *script) { s.lead(4) }, "1.1{1 2 3} committed"},
		{"R6 new leader, a change wanted", func(s *script) { s.lead(4); s.remove(3) }, "4.2{1 2 3}"},
		{"R6 new leader, uncommitted config", func(s *script) { s.remove(3); s.lead(4) }, "4.3{1 2}"},
		{"R7 config of an earlier leader", func(s *script) { s.lead(4); s.receive(2, configOf(3, 2, false, 2, 3)) }, "4.2{1 2 3}"},
		{"R7 config of a later leader", func(s *script) { s.lead(4); s.receive(2, configOf(5, 2, false, 1, 2)) }, "5.2{1 2}"},
		{"R8 leader removes itself", func(s *script) { s.remove(1) }, "1.1{1 2 3} committed"},
		{"R9 learner with an older config", func(s *script) { s.receive(4, selfOf(4, 0, 0)) }, "1.1{1 2 3} committed"},
		{"R9 learner with this config", func(s *script) { s.receive(4, selfOf(4, 1, 1)) }, "1.2{1 2 3 4}"},
		{"R10 no quorum would remain", func(s *script) { s.suspect(one(1)); s.remove(3) }, "1.1{1 2 3} committed"},
		{"R11 left out, uncommitted", func(s *script) { s.follow(2, 2); s.receive(2, configOf(2, 2, false, 2, 3)) }, "1.1{1 2 3} committed"},
		{"R11 left out, committed", func(s *script) { s.follow(2, 2); s.receive(2, configOf(2, 2, true, 2, 3)) }, "2.2{2 3}"},
		{"R12 change that cannot be committed", func(s *script) { s.remove(3); s.suspect(one(1)) }, "1.3{1 2 3}"},
		{"R12 by a former leader", func(s *script) { s.remove(3); s.follow(0, 7); s.suspect(one(1)) }, "1.3{1 2 3}"},
		{"R12 not by another node", func(s *script) { s.follow(2, 2); s.receive(2, configOf(2, 2, false, 1, 2)); s.suspect(one(1)) }, "2.2{1 2}"},
		{"R16 config of another cluster", func(s *script) {
			u := configOf(9, 9, true, 1, 2)
			u.Config.Cluster = testID(99)
			s.receive(2, u)
		}, "1.1{1 2 3} committed"},
		{"A4 no lease", func(s *script) { s.noLease = true; s.remove(3) }, "1.1{1 2 3} committed"},
		{"request of a member", func(s *script) { s.receive(2, RemoveRequest{testID(2)}) }, "1.2{1 2}"},
		{"request of a non-member", func(s *script) { s.receive(9, RemoveRequest{testID(2)}) }, "1.1{1 2 3} committed"},
		{"config with unsorted members", func(s *script) { s.receive(2, configOf(9, 9, true, 2, 1)) }, "1.1{1 2 3} committed"},
		{"node that speaks for another", func(s *script) { s.receive(5, selfOf(4, 1, 1)) }, "1.1{1 2 3} committed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voter(3)
			test.do(s)
			require.Equal(t, test.want, s.holds())
		})
	}
}

// A node that claims another name than that of its hello is rejected. It does not replace a member that is down, and
// does not join under a new name.
func TestPeerHasNoOtherName(t *testing.T) {
	s := voter(3)
	s.suspect(one(2))
	for _, name := range []string{entryOf(2).Name, "new"} {
		self := selfOf(3, 1, 1)
		self.Member.ID, self.Member.Name = testID(3), name
		for range 2 {
			s.receive(4, self)
		}
		require.Equal(t, "1.1{1 2 3} committed", s.holds())
		require.Empty(t, s.m.Learners())
		require.Contains(t, s.done, "reject n4")
	}
}

// The bootstrap reply of a listed node counts only with the name of its hello.
func TestInitialMemberHasNoOtherName(t *testing.T) {
	s := newScript(Options{Self: entryOf(0), List: []string{"A", "B"}})
	s.leader, s.taken = algo.Leader{}, 0
	s.m.HandleReached(0, "B", testID(1))
	other := entryOf(1)
	other.Name = "other"
	s.receive(2, BootstrapReply{other})
	require.Zero(t, s.m.Cluster())
	s.receive(2, BootstrapReply{entryOf(1)})
	require.Equal(t, "0.1{1 2}", s.holds())
}

func TestReplacementIsRemovedFirst(t *testing.T) {
	s := voter(3)
	successor := selfOf(3, 1, 1)
	successor.Member.ID = testID(8)
	s.m.Up(0, Peer{ID: testID(8), Name: successor.Member.Name, Digest: s.m.Digest()})
	s.done = nil
	s.m.Receive(0, testID(8), successor)
	require.Equal(t, "1.1{1 2 3} committed", s.holds(), "R17: not while the member is trusted")
	require.Equal(t, []algo.NodeID{testID(2)}, s.m.MonitorSet())
	s.suspect(one(2))
	require.Equal(t, "1.1{1 2 3} committed", s.holds(), "R17: the suspicion may be wrong for a moment")
	s.m.Receive(0, testID(8), successor)
	require.Equal(t, "1.2{1 2}", s.holds())
	require.Equal(t, []algo.NodeID{testID(2)}, s.m.config.Expired)
	s.receive(2, ack(1, 2))
	successor.Holds = ConfigID{1, 2}
	s.m.Receive(0, testID(8), successor)
	require.Equal(t, "1.3{1 2 9}", s.holds())
}

// A leader fulfils a request as soon as it can. It does not wait until the node repeats the request.
func TestWaitingRequestIsFulfilled(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(s *script)
		happens func(s *script)
		want    string
	}{
		{"a change before is committed", func(s *script) { s.receive(5, selfOf(5, 1, 1)) }, func(s *script) {
			s.receive(4, selfOf(4, 1, 2)) // the config with n5 is not committed yet
			s.receive(2, ack(1, 2))
			s.receive(3, ack(1, 2))
		}, "1.3{1 2 3 4 5}"},
		{"this leader gets the lease", func(s *script) { s.noLease = true }, func(s *script) {
			s.receive(4, selfOf(4, 1, 1))
			s.noLease = false
			s.advance()
		}, "1.2{1 2 3 4}"},
		{"the config is of an older term", func(s *script) { s.lead(2) }, func(s *script) {
			s.receive(4, selfOf(4, 1, 1)) // the leader writes 2.2 with the same members
			s.m.Receive(0, testID(3), selfOf(4, 2, 2))
			s.receive(2, ack(2, 2))
		}, "2.3{1 2 3 4}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := voter(3)
			c.before(s)
			c.happens(s)
			require.Equal(t, c.want, s.holds())
		})
	}
	s := voter(3)
	s.noLease = true
	s.receive(4, selfOf(4, 1, 1))
	s.m.Down(0, testID(3))
	s.noLease = false
	s.advance()
	require.Equal(t, "1.1{1 2 3} committed", s.holds(), "R9: the node may be dead now")
}

func TestVoterAcknowledgesInTerm(t *testing.T) {
	s := voter(3)
	s.follow(2, 2)
	s.receive(2, configOf(2, 2, false, 1, 2, 3))
	require.Equal(t, []string{"config-ack to n2"}, s.done)
	s.done = nil
	s.follow(3, 4)
	s.receive(2, configOf(2, 2, false, 1, 2, 3))
	require.Empty(t, s.done, "R4: it may have elected a leader with an older config")
}

func TestLostMessagesAreRepeated(t *testing.T) {
	s := voter(3)
	s.remove(3)
	require.Contains(t, s.done, "config 1.2{1 2} to n2")
	s.done = nil
	s.advance()
	require.Empty(t, s.done, "not before the time to retry")
	s.m.Wake(testRetry)
	require.Contains(t, s.done, "config 1.2{1 2} to n2")
	s.m.Receive(testRetry, testID(1), ack(1, 2))
	s.m.Advance(testRetry)
	s.m.Wake(2 * testRetry)
	s.done = nil
	require.Equal(t, never, s.m.Deadline())
}

func TestRequestGoesToLeader(t *testing.T) {
	s := voter(3)
	s.follow(2, 1)
	s.remove(3)
	require.Contains(t, s.done, "remove-request to n2")
	require.Equal(t, Removal{RemovalPending, ErrOtherLeads}, s.m.Removal(testID(2)))
	s.receive(2, configOf(1, 2, false, 1, 2))
	require.Equal(t, Removal{RemovalWritten, ErrUncommitted}, s.m.Removal(testID(2)))
	s.receive(2, configOf(1, 2, true, 1, 2))
	require.Equal(t, Removal{State: RemovalDone}, s.m.Removal(testID(2)))
	s.done = nil
	s.m.Wake(time.Second)
	require.Empty(t, s.done, "the request is done")
}

func TestRemovalReportsObstacle(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(s *script)
		want error
	}{
		{"vacancy", func(s *script) { s.leader = algo.Leader{} }, ErrNoLeader},
		{"other leader", func(s *script) { s.follow(2, 3) }, ErrOtherLeads},
		{"no lease", func(s *script) { s.noLease = true }, ErrNoLease},
		{"later epoch", func(s *script) { s.taken = 7 }, ErrNotLeader},
		{"older term", func(s *script) { s.lead(3) }, ErrOlderTerm},
		{"previous change", func(s *script) { s.receive(4, selfOf(4, 1, 1)) }, ErrUncommitted},
		{"suspicion", func(s *script) { s.suspect(one(1)) }, ErrUnreachable},
		{"nothing", func(s *script) {}, ErrNotTried},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voter(3)
			test.do(s)
			require.Equal(t, Removal{RemovalPending, test.want}, s.m.Removal(testID(2)))
		})
	}
}

func TestCanceledRemovalIsNotRepeated(t *testing.T) {
	s := voter(3)
	s.follow(2, 1)
	s.remove(3)
	s.m.CancelRemove(testID(2))
	s.done = nil
	s.m.Wake(time.Second)
	require.Empty(t, s.done)
}

func TestLearnerRequestsFromSenderAndAuthorFirst(t *testing.T) {
	s := newScript(Options{Self: entryOf(10), Join: []string{"A"}})
	s.leader, s.taken = algo.Leader{}, 0
	selfs := func() (sent []string) {
		for _, what := range s.done {
			if strings.HasPrefix(what, "self") {
				sent = append(sent, what)
			}
		}
		s.done = nil
		return sent
	}
	s.receive(3, configOf(1, 1, false, 1, 2, 3)) // written by node 2
	require.Equal(t, []string{"self to n3", "self to n2"}, selfs())
	s.receive(2, configOf(1, 1, true, 1, 2, 3))
	require.Equal(t, []string{"self to n2"}, selfs())
	s.receive(3, configOf(1, 1, true, 1, 2, 3))
	require.Empty(t, selfs(), "nothing new")
	s.m.Wake(testRetry)
	require.Len(t, selfs(), 9, "all peers: another may lead")
}

func TestLearnerJoinsAgainAfterRollBack(t *testing.T) {
	s := newScript(Options{Self: entryOf(3), Join: []string{"A"}})
	s.leader, s.taken = algo.Leader{}, 0
	s.receive(1, configOf(1, 1, true, 1, 2))
	s.receive(1, configOf(1, 2, false, 1, 2, 4))
	require.True(t, s.m.Ready(0))
	s.receive(1, configOf(1, 3, true, 1, 2))
	require.NoError(t, s.m.End(), "R13: no node has removed it")
	s.receive(1, configOf(1, 4, true, 1, 2, 4))
	s.receive(1, configOf(1, 5, true, 1, 2))
	require.Equal(t, ErrRemoved, s.m.End())
}

func TestRecordIsSavedOnEachChange(t *testing.T) {
	s := voter(3)
	require.Empty(t, s.m.Unsaved())
	s.remove(3)
	record := s.m.Unsaved()[0].(Record)
	require.Equal(t, "1.2{1 2}", format(record.Config))
	require.Len(t, record.Before, 3)
	require.False(t, record.Committed)
	require.Empty(t, s.m.Unsaved())

	again := newScript(Options{Self: entryOf(0)}, record)
	again.lead(0)
	again.suspect(one(1))
	require.Equal(t, "1.3{1 2 3}", again.holds(), "R12: also after a restart")
}

func TestMemberWithTakenNameStops(t *testing.T) {
	saved := configOf(1, 1, true, 1, 2)
	self := entryOf(0)
	self.Name = "b"
	s := newScript(Options{Self: self}, Record{Config: saved.Config, Committed: true, WasMember: true})
	require.EqualError(t, s.m.End(), "membership: cannot join: the name b belongs to the member at B")
	require.Equal(t, never, s.m.Deadline())
}

func TestNodeInNoClusterRepliesToFirst(t *testing.T) {
	s := newScript(Options{Self: entryOf(1), List: []string{"A", "B"}})
	s.leader, s.taken = algo.Leader{}, 0
	s.receive(3, BootstrapRequest{})
	require.Equal(t, []string{"bootstrap-reply to n3"}, s.done)

	initial := Config{Cluster: testID(90), ID: ConfigID{Version: 1}, Author: testID(3), Members: []Member{entryOf(2), entryOf(3)}}
	s.receive(4, Update{Config: initial})
	require.Zero(t, s.m.Cluster(), "F2: it is not listed")
	initial.Members = []Member{entryOf(1), entryOf(3)}
	s.m.listBootstrap.repliedToIncarnation = 2 // a later first has sent a request
	s.receive(4, Update{Config: initial})
	require.Zero(t, s.m.Cluster(), "F3: from the earlier first itself")
	s.receive(5, Update{Config: initial})
	require.Equal(t, testID(90), s.m.Cluster(), "F3: from another holder")
	s.done = nil
	s.receive(3, BootstrapRequest{})
	require.Equal(t, []string{"config 0.1{2 4} to n3"}, s.done)
}

func TestQuorumsOverlap(t *testing.T) {
	members := func(nodes ...int) []Member { return configOf(1, 1, true, nodes...).Config.Members }
	for _, test := range []struct {
		a, b []Member
		want bool
	}{
		{members(1), members(1, 2), true},
		{members(1, 2), members(1), true},
		{members(1, 2, 3), members(1, 2, 3, 4), true},
		{members(1, 2, 3), members(1), false},
		{members(1, 2), members(3, 4), false},
		{members(1, 2, 3), members(1, 2, 4), false},
		{members(1, 2, 3), members(1, 2, 3), true},
	} {
		require.Equal(t, test.want, quorumsOverlap(test.a, test.b), "%v, %v", test.a, test.b)
	}
}

// A lone member that starts at a new address dials its former one. Its directory may be a copy, and the original node
// may run there.
func TestLoneMemberDialsItsFormerAddress(t *testing.T) {
	self := Member{ID: testID(0), Name: "a", Addr: "B:1"}
	former := self
	former.Addr = "A:1"
	config := Config{Cluster: testID(9), ID: ConfigID{Term: 1, Version: 1}, Author: self.ID, Members: []Member{former}}
	for state, isReady := range map[SeedState]bool{SeedPending: false, SeedRefused: true, SeedSilent: true} {
		env := &script{}
		m := NewDynamic(Options{Self: self, Bootstrap: true, Retry: time.Second}, env, Record{Config: config, Committed: true, WasMember: true})
		m.Start(0)
		m.Wake(0)
		require.False(t, m.Ready(0))
		require.Contains(t, env.done, "dial A:1")
		m.HandleDialFailure(0, "A:1", state)
		require.Equal(t, isReady, m.Ready(0))
	}
}
