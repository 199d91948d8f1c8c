package vote

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// The rules of the questions: nobody takes part in a round that a majority has not asked for.

// "One that cannot hear its leader would otherwise end its work each time that it misses it."
func TestOneThatMissesTheLeaderEndsNothing(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 5)
	c.Lose(func(from, to int, _ algo.Message) bool { return from == 1 && to == 3 })
	c.Suspect(3, 1)
	c.Reset()
	c.Run(100 * hbt)
	for _, i := range []int{1, 2, 4, 5} {
		c.WantLeader(t, i, leadership(1, 1))
	}
	if c.Changes > 1 || c.Sent["vote"] > 0 {
		t.Errorf("%d changes, want that n3 follows nobody, and %d votes, want none\n%s", c.Changes, c.Sent["vote"], c.Story())
	}
	c.Lose(func(_, _ int, _ algo.Message) bool { return false })
	c.Trust(3, 1)
	if why := c.AgreedAfter(2 * T); why != "" {
		t.Error(why)
	}
	c.WantLeader(t, 3, leadership(1, 1))
}

// "Claims of some that have had a leader again since would add up to a majority": one asks in vain for
// long, and others miss the leader once each.
func TestWhoFollowsAgainAsksNoMore(t *testing.T) {
	s := following(t, 5, 1, viewOf(5), Defaults(timing))
	s.Suspects(1)
	s.Expires(timerWindow)
	const again = "window in 60ms to 120ms; n2 n3 n4 <- elect round=8 term=7 msg=1 leader=n1 view={number=1} again=true again"
	does(t, "it asks in vain", s.Expires(timerWindow), again)
	s.Hears(4, Elect{Round: 8, Term: 7, Msg: 9, Leader: n(1)})
	does(t, "n4 does too, once", s.Expires(timerWindow), again)
	does(t, "n3 does, later", s.Hears(3, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)}), "")
	does(t, "that are two of five", s.Expires(timerWindow), again)
	s.Hears(3, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)})
	does(t, "three at one time are a majority", s.Hears(4, Elect{Round: 8, Term: 7, Msg: 20, Leader: n(1)}), "window in 20ms")
}

// Where messages are slow the claims come after the window: those in it count until the next is over.
func TestAClaimOutlivesItsWindow(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Hears(4, Elect{Round: 7})
	s.Expires(timerWindow)
	does(t, "it asks the others", s.Expires(timerWindow),
		"window in 60ms to 120ms; n1 n3 n5 <- elect round=7 view={number=1} again=true again")
	does(t, "a late one is the third", s.Hears(5, Elect{Round: 7}), "window in 20ms")
}

// A vote of who thought that a majority asks takes nobody out of its round who asks for none.
func TestAVoteDisturbsNobodyWhoHasALeader(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	does(t, "who leads", s.Hears(3, Vote{8})+s.Hears(3, Vote{40}), "")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	does(t, "who follows", s.Hears(3, Vote{8})+s.Hears(3, Vote{40}), "")
	s.Suspects(1)
	does(t, "who asks for another round", s.Hears(3, Vote{40}), "")
}

// Who has a leader waits no longer when it misses it because another has elected in vain.
func TestWhoHasALeaderIsAsPatientAsBefore(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	s.Hears(3, Elect{Round: 8, Term: 7, Msg: 1, Leader: n(1), InVain: 3})
	does(t, "n1 dies", s.Suspects(1), "save 8 for n2; stop watch; window in 20ms; stop window; pause in 60ms to 120ms; "+
		"monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 view={number=1}; announce nobody in 7")
}

// "It leads no more, and its followers would wait for its Lead."
func TestALeaderThatAsksLeadsNoMore(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	does(t, "its leader asks", s.Hears(1, Elect{Round: 8}), "stop watch; window in 20ms; "+
		"monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 view={number=1}; announce nobody in 7")
}

// "What it was sent may be lost": whoever comes back has not heard what was asked.
func TestWhoReturnsIsAsked(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Suspects(3)
	does(t, "n3 is there again", s.Trusts(3), "n3 <- elect round=7 view={number=1} again=true again")
	s = leading(t, 2, viewOf(3), Defaults(timing))
	does(t, "once there is a leader nobody is asked", s.Suspects(3)+s.Trusts(3), "")
}

// "Or was sent before there was anybody to hear it": they start one after the other, within a window.
func TestWhoStartsLaterIsAskedAgain(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Hears(3, Elect{Round: 7})
	does(t, "n1 is asked again", s.Expires(timerWindow), "window in 10ms; n1 <- elect round=7 view={number=1} again=true again")
	s.Hears(1, Elect{Round: 7})
	does(t, "having voted it says its claim to who asks again", s.Hears(3, Elect{Round: 7, Again: true}), "n3 <- elect round=7 view={number=1}")
	for _, size := range []int{3, 5} {
		goesWell(t, Defaults(timing), size, func(c *host.Cluster) string {
			for i := 1; i <= size; i++ {
				c.At(time.Duration(i)*(T+T/4), func() { c.Start(i) })
			}
			c.Run(time.Duration(size) * (T + T/4))
			return c.AgreedAfter(rtt + 5*T)
		})
	}
}

// Who alone has heard of a round can follow nobody of an older one: the others go on to it.
func TestWhoAloneHeardOfARoundIsNotLeftOutside(t *testing.T) {
	goesWell(t, Defaults(timing), 5, func(c *host.Cluster) string {
		elected(c)
		c.Node(5).Saved = algo.Stable{Epoch: 11}
		c.Crash(5)
		c.Start(5)
		return c.AgreedAfter(6 * T)
	})
}

// "All go by the most of them."
func TestAllGoByTheMostRoundsInVain(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Hears(1, Elect{Round: 7, InVain: 99})
	does(t, "7 mod 3 is 1: the second of those who claim", s.Hears(3, Elect{Round: 7}),
		"save 7 for n2; stop window; pause in 120ms to 240ms")
}

// A majority that is there when there was none at the end of the window gives the others one more.
func TestALateMajorityWaitsForAWindow(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Expires(timerWindow)
	does(t, "it asks again", s.Expires(timerWindow),
		"window in 60ms to 120ms; n1 n3 n4 n5 <- elect round=7 view={number=1} again=true again")
	does(t, "half of them", s.Hears(4, Elect{Round: 7}), "")
	does(t, "more than half", s.Hears(5, Elect{Round: 7}), "window in 20ms")
	does(t, "and the next", s.Hears(3, Elect{Round: 7}), "")
}

// "Who has just started misses nobody": it asks who leads.
func TestWhoHasJustStartedMissesNobody(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), Defaults(timing))
	s.Hears(3, Elect{Round: 8})
	does(t, "n1 dies", s.Suspects(1), "stop watch; window in 20ms; monitor n1 n3; "+
		"n1 n3 <- elect round=8 term=7 msg=1 leader=n1 view={number=1}; announce nobody in 7")
}

// A Lead of a term below the saved round is obsolete, also if no leader is known since.
func TestALeadBelowTheSavedRoundIsObsolete(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(9)
	does(t, "a Lead of before", s.Hears(1, Lead{Term: 7, Msg: 1}), "")
}

// "A vote for the dead would be lost, and with it the round."
func TestTheDeadIsNotVotedFor(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Hears(1, Elect{Round: 7})
	s.Hears(3, Elect{Round: 7})
	s.Suspects(1)
	does(t, "the last one claims", s.Hears(4, Elect{Round: 7}), "save 7 for n2; stop window; pause in 60ms to 120ms")
}
