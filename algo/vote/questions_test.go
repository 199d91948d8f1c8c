package vote

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules for requests: a server takes part in a round only if a majority has requested it.

// A server that cannot hear the leader does not end the leadership when it times out.
func TestOneTimeoutEndsNoLeadership(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 5)
	c.DropIf(func(from, to int, _ algo.Message) bool { return from == 1 && to == 3 })
	c.Suspect(3, 1)
	c.Reset()
	c.Run(100 * hbt)
	for _, i := range []int{1, 2, 4, 5} {
		c.RequireLeader(t, i, leadership(1, 1))
	}
	if c.Announcements > 1 || c.Sent["vote"] > 0 {
		t.Errorf("%d changes, want only that n3 has no leader, and %d votes, want none\n%s", c.Announcements, c.Sent["vote"], c.Transcript())
	}
	c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
	c.Trust(3, 1)
	if problem := c.DisagreementAfter(2 * T); problem != "" {
		t.Error(problem)
	}
	c.RequireLeader(t, 3, leadership(1, 1))
}

// Claims of servers that have found the leader again do not add up to a majority: one server requests without success
// for a long time, and others time out once each.
func TestFollowerNoLongerRequestsRound(t *testing.T) {
	s := following(t, 5, 1, viewOf(5), Defaults(timing))
	s.Suspect(1)
	s.Expire(timerWindow)
	const again = "window in 60ms to 120ms; n2 n3 n4 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1} wantsreply=true again"
	expect(t, "no majority", s.Expire(timerWindow), again)
	s.Receive(4, Elect{Round: 8, Term: 7, Msg: 9, Leader: n(1)})
	expect(t, "n4 requests too, once", s.Expire(timerWindow), again)
	expect(t, "n3 requests, later", s.Receive(3, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)}), "")
	expect(t, "these are two of five", s.Expire(timerWindow), again)
	s.Receive(3, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)})
	expect(t, "three at the same time are a majority", s.Receive(4, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)}), "window in 20ms")
}

// If messages are slow, claims arrive after the window: earlier ones count until the next window ends.
func TestClaimOutlivesItsWindow(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Receive(4, Elect{Round: 7})
	s.Expire(timerWindow)
	expect(t, "it requests again from the others", s.Expire(timerWindow),
		"window in 60ms to 120ms; n1 n3 n5 <- elect round=7 configid={version=1} wantsreply=true again")
	expect(t, "a late claim is the third", s.Receive(5, Elect{Round: 7}), "window in 20ms")
}

// The vote of a server that has seen a majority does not affect a server that requests no election.
func TestVoteDoesNotDisturbFollower(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	expect(t, "a leader", s.Receive(3, Vote{8})+s.Receive(3, Vote{40}), "")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	expect(t, "a follower", s.Receive(3, Vote{8})+s.Receive(3, Vote{40}), "")
	s.Suspect(1)
	expect(t, "a server that requests another round", s.Receive(3, Vote{40}), "")
}

// The failed rounds of another server do not extend the timeouts of a follower.
func TestFollowerIgnoresFailedRounds(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	s.Receive(3, Elect{Round: 8, Term: 7, Msg: 1, Leader: n(1), FailedRounds: 3})
	expect(t, "n1 is suspected", s.Suspect(1), "save 8 for n2; stop watch; window in 20ms; stop window; pause in 60ms to 120ms; "+
		"monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1}; announce none in 7")
}

// An Elect from its leader shows a follower that the leadership has ended.
func TestElectOfLeaderEndsItsLeadership(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	expect(t, "an Elect of its leader", s.Receive(1, Elect{Round: 8}), "stop watch; window in 20ms; "+
		"monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1}; announce none in 7")
}

// A server in an election sends Elect again to a server that it trusts again, which may not have received the first.
func TestTrustedServerIsAsked(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Suspect(3)
	expect(t, "n3 is trusted again", s.Trust(3), "n3 <- elect round=7 configid={version=1} wantsreply=true again")
	s = leading(t, 2, viewOf(3), Defaults(timing))
	expect(t, "a leader requests no election", s.Suspect(3)+s.Trust(3), "")
}

// A server sends another Elect to servers without a claim: the first may have arrived before they ran. Here the servers
// start one after the other.
func TestLateStarterIsAskedAgain(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Receive(3, Elect{Round: 7})
	expect(t, "another request to n1", s.Expire(timerWindow), "window in 10ms; n1 <- elect round=7 configid={version=1} wantsreply=true again")
	s.Receive(1, Elect{Round: 7})
	expect(t, "after its vote it still sends its claim on request", s.Receive(3, Elect{Round: 7, WantsReply: true}), "n3 <- elect round=7 configid={version=1}")
	for _, size := range []int{3, 5} {
		checkRun(t, Defaults(timing), size, func(c *algosim.Cluster) string {
			for i := 1; i <= size; i++ {
				c.At(time.Duration(i)*(T+T/4), func() { c.Start(i) })
			}
			c.Run(time.Duration(size) * (T + T/4))
			return c.DisagreementAfter(rtt + 5*T)
		})
	}
}

// A server that is the only one to know a round follows no leader of an earlier round, so the others enter that round.
func TestServerAheadOfOthersIsNotLeftOut(t *testing.T) {
	checkRun(t, Defaults(timing), 5, func(c *algosim.Cluster) string {
		elected(c)
		c.Node(5).Saved = algo.HardState{Epoch: 11}
		c.Crash(5)
		c.Start(5)
		return c.DisagreementAfter(6 * T)
	})
}

// Servers adopt the highest number of failed rounds.
func TestServersAdoptHighestFailedRounds(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Receive(1, Elect{Round: 7, FailedRounds: 99})
	expect(t, "7 mod 3 is 1: the second server with a claim", s.Receive(3, Elect{Round: 7}),
		"save 7 for n2; stop window; pause in 120ms to 240ms")
}

// If a majority claims after the end of the window, the others get another window.
func TestLateMajorityWaitsForWindow(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Expire(timerWindow)
	expect(t, "it requests again", s.Expire(timerWindow),
		"window in 60ms to 120ms; n1 n3 n4 n5 <- elect round=7 configid={version=1} wantsreply=true again")
	expect(t, "half of them", s.Receive(4, Elect{Round: 7}), "")
	expect(t, "more than half", s.Receive(5, Elect{Round: 7}), "window in 20ms")
	expect(t, "and the next", s.Receive(3, Elect{Round: 7}), "")
}

// The Elect of a server that has just started does not show that the server has lost the leader.
func TestElectOfStartingServerIsNoClaim(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	s.Receive(3, Elect{Round: 8})
	expect(t, "n1 is suspected", s.Suspect(1), "stop watch; window in 20ms; monitor n1 n3; "+
		"n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1}; announce none in 7")
}

// A Lead of a term below the saved round is obsolete, even if the server knows of no leader.
func TestLeadBelowSavedRoundIsObsolete(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(9)
	expect(t, "an earlier Lead", s.Receive(1, Lead{Term: 7, Msg: 1}), "")
}

// A suspected server gets no vote: the vote would be lost, and the round would fail.
func TestSuspectedServerGetsNoVote(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Receive(1, Elect{Round: 7})
	s.Receive(3, Elect{Round: 7})
	s.Suspect(1)
	expect(t, "the last one claims", s.Receive(4, Elect{Round: 7}), "save 7 for n2; stop window; pause in 60ms to 120ms")
}
