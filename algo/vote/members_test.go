package vote

import (
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
)

// witnesses returns a view of count members, some of them witnesses.
func witnesses(number uint64, count int, which ...int) algo.View {
	all := members(count)
	for _, i := range which {
		all[i-1].Eligible = false
	}
	return algo.NewView(number, all...)
}

func TestMembersJoinAndLeave(t *testing.T) {
	t.Run("a follower's leader leaves", func(t *testing.T) {
		s := following(t, 2, 4, viewOf(4), Defaults(timing))
		expect(t, "n2", s.Reconfigure(algo.NewView(2, members(3)...)),
			"stop watch; window in 20ms; monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n4 configid={version=2}; announce none in 7")
	})
	t.Run("a follower's leader resigns", func(t *testing.T) {
		s := following(t, 2, 1, viewOf(3), Defaults(timing))
		expect(t, "n2", s.Reconfigure(witnesses(2, 3, 1)),
			"stop watch; window in 20ms; monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=2}; announce none in 7")
	})
	t.Run("this leader resigns", func(t *testing.T) {
		s := leading(t, 1, viewOf(3), Defaults(timing))
		expect(t, "n1", s.Reconfigure(witnesses(2, 3, 1)),
			"stop lead; stop watch; window in 20ms; n2 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=2}; announce none in 7")
		s.Receive(2, Elect{Round: 8, Term: 7, Msg: 1, Leader: n(1)})
		expect(t, "it still votes", s.Receive(3, Elect{Round: 8, Term: 7, Msg: 1, Leader: n(1)}),
			"save 8 for n2; stop window; pause in 60ms to 120ms; n2 <- vote round=8")
	})
	t.Run("a leader resigns during an election", func(t *testing.T) {
		s := leading(t, 1, viewOf(3), Defaults(timing))
		s.Receive(3, Elect{Round: 9})
		expect(t, "n1", s.Reconfigure(witnesses(2, 3, 1)),
			"stop lead; announce none in 7") // its claim stays valid
	})
	t.Run("a member joins a leader", func(t *testing.T) {
		s := leading(t, 1, viewOf(2), Defaults(timing))
		expect(t, "n1", s.Reconfigure(viewOf(3)), "monitor n2 n3")
		expect(t, "the new member sends an Elect", s.Receive(3, Elect{Round: 1}), "n3 <- lead term=7 msg=1")
		s.Suspect(2)
		expect(t, "the majority is larger", s.Reconfigure(viewOf(5)),
			"monitor n2 n3 n4 n5")
		s.Suspect(3)
		expect(t, "too many have left", s.Suspect(4), "quorum in 120ms")
		expect(t, "the majority is smaller again", s.Reconfigure(algo.NewView(3, members(5)[0], members(5)[1], members(5)[4])),
			"stop quorum; monitor n2 n5")
	})
	t.Run("the last awaited member leaves", func(t *testing.T) {
		s := alone(2, viewOf(3), Defaults(timing))
		s.Start(6)
		s.Receive(1, Elect{Round: 7})
		expect(t, "n2", s.Reconfigure(algo.NewView(2, members(2)...)), "save 7 for n1; stop window; "+
			"pause in 60ms to 120ms; monitor n1; n1 <- vote round=7")
	})
	t.Run("the votes of former members do not count", func(t *testing.T) {
		s := alone(2, viewOf(5), textbook())
		s.Start(6)
		s.Receive(5, Vote{7})
		s.Reconfigure(viewOf(4))
		expect(t, "the vote of a member", s.Receive(4, Vote{7}), "")
		expect(t, "the vote of another member", s.Receive(3, Vote{7}),
			"lead in 40ms; stop pause; watch in 120ms; n1 n3 n4 <- lead term=7 msg=1; announce n2 in 7")
	})
	t.Run("a change without effect", func(t *testing.T) {
		s := following(t, 2, 1, viewOf(3), Defaults(timing))
		expect(t, "n2", s.Reconfigure(viewOf(4)), "")
	})
}

// A witness claims and votes, but gets no votes and does not lead.
func TestWitnessVotesAndIsNotElected(t *testing.T) {
	s := alone(1, witnesses(1, 3, 1), Defaults(timing))
	expect(t, "it claims", s.Start(6), "window in 20ms; monitor n2 n3; n2 n3 <- elect round=7 configid={version=1}")
	s.Receive(3, Elect{Round: 7})
	expect(t, "it votes", s.Receive(2, Elect{Round: 7}), "save 7 for n2; stop window; pause in 60ms to 120ms; n2 <- vote round=7")
	expect(t, "it counts no votes", s.Receive(2, Vote{7})+s.Receive(3, Vote{7}), "")
	expect(t, "it follows", s.Receive(2, Lead{Term: 7, Msg: 1}), "stop pause; watch in 120ms; monitor n2; announce n2 in 7")
	s = alone(2, witnesses(1, 3, 1), Defaults(timing))
	s.Start(6)
	expect(t, "it is not followed", s.Receive(1, Lead{Term: 7, Msg: 1}), "")

	c := newCluster(Defaults(timing), witnesses(1, 3, 1, 2, 3))
	c.StartAll()
	c.Run(100 * T)
	c.RequireAgreement(t)
	if got := c.Leaders(); got != 0 {
		t.Errorf("%d leaders, although no member is eligible", got)
	}
	if got := c.Sent["vote"]; got != 0 {
		t.Errorf("%d votes, want none", got)
	}
	// Each has sent one request: nothing is saved or sent until a member is eligible.
	if c.Sent["elect"] != 6 || c.Node(1).Saved != (algo.HardState{}) {
		t.Errorf("%d Elects, want 6, and %v is saved", c.Sent["elect"], c.Node(1).Saved)
	}
	c.View = witnesses(2, 3, 1, 3)
	c.Reconfigure(c.View, 1, 2, 3)
	c.Run(3 * T)
	for i := 1; i <= 3; i++ {
		c.RequireLeader(t, i, leadership(1, 2))
	}
}

func TestResignedLeaderReturnsAsFollower(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.View = witnesses(2, 3, 1)
	c.Reconfigure(c.View, 1, 2, 3)
	c.Run(3 * T)
	for i := 1; i <= 3; i++ {
		c.RequireLeader(t, i, leadership(2, 2))
	}
	c.View = witnesses(3, 3)
	c.Reconfigure(c.View, 1, 2, 3)
	c.Run(100 * T)
	for i := 1; i <= 3; i++ {
		c.RequireLeader(t, i, leadership(2, 2)) // no server takes over from a working leader
	}
}

// A server alone has no claims to wait for.
func TestServerAloneLeadsImmediately(t *testing.T) {
	s := alone(1, viewOf(1), Defaults(timing))
	expect(t, "n1 starts", s.Start(0),
		"save 1 for n1; window in 20ms; stop window; pause in 60ms to 120ms; lead in 40ms; stop pause; watch in 120ms; announce n1 in 1")
	expect(t, "it continues to lead", s.Expire(timerLead), "lead in 40ms; watch in 120ms")
}

func TestCloneSharesNothing(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		s := alone(2, viewOf(4), o)
		s.Clone() // before it has started
		s.Start(6)
		s.Receive(4, Vote{7})
		s.Receive(1, Elect{Round: 8})
		s.Suspect(3)
		clone := s.Clone()
		clone.Receive(1, Elect{Round: 8, Term: 6, Msg: 1})
		clone.Receive(3, Elect{Round: 9})
		clone.Trust(3)
		clone.Suspect(1)
		clone.Suspect(4)
		clone.Receive(3, Vote{9})
		clone.Receive(4, Vote{9})
		if got := s.Machine.HardState().Epoch; got != 7 {
			t.Errorf("the original is in round %d, want 7", got)
		}
		p := s.Machine.Algorithm().(*server)
		if len(p.elector.slate) != 2 || p.elector.slate[0].lastLead.term != 0 {
			t.Errorf("its slate is %v", p.elector.slate)
		}
		if !slices.Equal(p.current.tally, algo.Set{n(2), n(4)}) {
			t.Errorf("its tally is %v", p.current.tally)
		}
		if len(p.suspected) != 1 || len(p.monitored) != 3 {
			t.Errorf("it suspects %v of %v", p.suspected, p.monitored)
		}
	}
}
