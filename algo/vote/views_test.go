package vote

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// of returns a view of some nodes, with epoch as its config term and number as its version.
func of(epoch algo.Epoch, number uint64, nodes ...int) algo.View {
	var some []algo.Member
	for _, i := range nodes {
		some = append(some, members(i)[i-1])
	}
	return algo.NewView(number, some...).WithTerm(epoch)
}

// A candidate that counts votes by an older view gets no vote, even if it is the old leader.
// A candidate with a newer view does.
func TestCandidateWithOlderViewGetsNoVote(t *testing.T) {
	for name, tc := range map[string]struct {
		view algo.ConfigID
		want string
	}{
		"older":     {algo.ConfigID{Term: 6, Version: 2}, "save 7 for n2; stop window; pause in 60ms to 120ms"},
		"the same":  {algo.ConfigID{Term: 6, Version: 3}, "save 7 for n1; stop window; pause in 60ms to 120ms; n1 <- vote round=7"},
		"a newer":   {algo.ConfigID{Term: 6, Version: 4}, "save 7 for n1; stop window; pause in 60ms to 120ms; n1 <- vote round=7"},
		"no leader": {algo.ConfigID{Version: 99}, "save 7 for n2; stop window; pause in 60ms to 120ms"},
	} {
		s := alone(2, of(6, 3, 1, 2, 3), Defaults(timing))
		s.Start(6)
		s.Receive(3, Elect{Round: 7, Term: 6, Msg: 1, Leader: n(1)})
		expect(t, name, s.Receive(1, Elect{Round: 7, Term: 6, Msg: 9, Leader: n(1), ConfigID: tc.view}), tc.want)
	}
}

// Two leaders of four members, disconnected from each other, each remove a member. Their majorities are then disjoint.
// They are not elected in the same round: the second leader let the members confirm its view before it changed the
// view, and these members do not vote for a server with an older view.
func TestDisjointMajoritiesElectOneLeader(t *testing.T) {
	checkRun(t, Defaults(timing), 4, func(c *algosim.Cluster) string {
		elected(c)
		c.Crash(1) // disconnected, it removes n4
		c.Node(1).View = of(1, 2, 1, 2, 3)
		c.Campaign(2)
		c.Run(20 * T)
		if got := c.Leader(2); c.Violation != "" || got != leadership(3, 2) {
			return "n2 does not lead: " + c.Violation
		}
		c.Reconfigure(of(3, 3, 1, 2, 3, 4), 2, 3, 4) // n2 lets the members confirm it
		c.Reconfigure(of(3, 4, 1, 2, 4), 2, 4)       // and removes n3
		c.DropIf(func(from, to int, _ algo.Message) bool { return from%2 != to%2 })
		c.Start(1)
		c.Campaign(2)
		c.Run(T)
		c.Campaign(1)
		c.Run(60 * T)
		return c.Violation
	})
}

// A round with a leader has ended. A candidate that learns of the leader from its view counts no late votes in the
// round, because the members have changed since.
func TestViewEndsRound(t *testing.T) {
	s := alone(4, of(5, 1, 1, 2, 3, 4), textbook())
	s.Start(5)
	expect(t, "one vote of two", s.Receive(3, Vote{6}), "save 6 for n4; stop window; pause in 60ms to 120ms")
	expect(t, "n2 was elected, and has removed a member", s.Reconfigure(of(6, 3, 2, 3, 4)),
		"stop pause; window in 20ms; monitor n2 n3; n2 n3 <- elect round=7 configid={term=6,version=3}")
	restarted := alone(4, of(6, 3, 2, 3, 4), textbook())
	restarted.Start(6)
	expect(t, "the same after a restart", restarted.Receive(3, Elect{Round: 6}), "n3 <- elect round=7 configid={term=6,version=3}")
	expect(t, "late votes", s.Receive(2, Vote{6})+s.Receive(3, Vote{6}), "")
	expect(t, "the Lead of n2", s.Receive(2, Lead{6, 1}), "stop window; watch in 120ms; monitor n2; announce n2 in 6")
}

// A leader or a follower learns from its view that there is a newer leader. If it already
// knows that leader, the view changes nothing.
func TestViewOfNewerLeader(t *testing.T) {
	s := leading(t, 2, viewOf(3), textbook())
	expect(t, "a leader", s.Reconfigure(of(9, 4, 1, 2, 3)), "save 9; stop lead; stop watch; window in 20ms; n1 n3 <- elect round=10 term=7 msg=1 leader=n2 configid={term=9,version=4}; announce none in 7")
	s = following(t, 2, 1, viewOf(3), textbook())
	expect(t, "a follower", s.Reconfigure(of(8, 4, 1, 2, 3)), "save 8; stop watch; window in 20ms; monitor n1 n3; n1 n3 <- elect round=9 term=7 msg=1 leader=n1 configid={term=8,version=4}; announce none in 7")
	expect(t, "it takes no part in that round", s.Receive(3, Elect{Round: 8}), "n3 <- elect round=9 term=7 msg=1 leader=n1 configid={term=8,version=4}")
	s = following(t, 2, 1, viewOf(3), textbook())
	expect(t, "a follower of that leader", s.Reconfigure(of(7, 4, 1, 2, 3)), "")
	s = leading(t, 2, viewOf(3), textbook())
	expect(t, "the leader itself", s.Reconfigure(of(7, 4, 1, 2, 3)), "")

	s = alone(2, of(9, 4, 1, 2, 3), textbook())
	expect(t, "a new member", s.Start(0),
		"save 9; window in 20ms; monitor n1 n3; n1 n3 <- elect round=10 configid={term=9,version=4}")
	expect(t, "it has no vote in that round", s.Receive(3, Elect{Round: 9}), "n3 <- elect round=10 configid={term=9,version=4}")
	expect(t, "it counts no vote in it", s.Receive(1, Vote{9})+s.Receive(3, Vote{9}), "")
	s.Receive(3, Elect{Round: 10, ConfigID: of(9, 4).ConfigID()})
	expect(t, "it votes in the next", s.Expire(timerWindow), "save 10 for n2; pause in 60ms to 120ms")
}

// The claim of a voting server uses the server's current view, not the previous one.
func TestOwnClaimUsesCurrentView(t *testing.T) {
	s := alone(2, of(5, 1, 1, 2, 3), textbook())
	s.Start(7)
	s.Receive(3, Elect{Round: 8, ConfigID: of(5, 1).ConfigID()})
	expect(t, "it claims again", s.Reconfigure(of(5, 2, 1, 2, 3)), "window in 20ms; n1 n3 <- elect round=8 configid={term=5,version=2}")
	expect(t, "it votes for itself", s.Expire(timerWindow), "save 8 for n2; pause in 60ms to 120ms")
}
