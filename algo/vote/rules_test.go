package vote

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/host"
)

// The rules that are not in the source. Each mends a failure, and has a test in which
// it would show. That it does is what internal/mutants sees to, where each rule is taken
// out.

// goesWell fails the test unless what happens goes well: happens says what went wrong, or
// nothing.
func goesWell(t *testing.T, o Options, size int, happens func(c *host.Cluster) string) {
	t.Helper()
	c := host.New(newSpec(o), host.View(size))
	c.Tracing = true
	why := happens(c)
	if why == "" {
		why = c.Broken
	}
	if why != "" {
		t.Errorf("%s\n%s", why, c.Story())
	}
}

// elected starts a cluster and has it elect n1 in term 1.
func elected(c *host.Cluster) {
	c.StartAll()
	c.Run(5 * T)
}

// twoInATerm is how two servers can be elected in one term. n1 and n2 both claim, and n2
// votes for n1, which leads. What n1 sends is slow from then on. n3 begins the same
// round late, and n2 votes again: for itself.
func twoInATerm(c *host.Cluster) {
	slow := false
	c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
		if slow && from == 1 {
			return 10 * T, true
		}
		return T, to != 3 || m.Kind() != "elect" || from == 2 && c.Now >= 3*T
	}
	c.StartAll()
	c.Campaign(1)
	c.Campaign(2)
	c.At(2*T+1, func() { slow = true })
	c.At(3*T+1, func() { c.Campaign(3) })
	c.Run(6*T + T/2)
}

// "A numbered round, one vote per round." Without it two servers are elected in a round.
func TestOneVoteInARound(t *testing.T) {
	goesWell(t, textbook(), 3, func(c *host.Cluster) string {
		twoInATerm(c)
		if got := c.Leader(1); c.Broken == "" && got != leadership(1, 1) {
			return fmt.Sprintf("n1 names %v", got)
		}
		return c.Broken
	})
}

// "Saved before it is sent." Without it who is restarted votes again.
func TestTheVoteIsSaved(t *testing.T) {
	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		c.StartAll()
		c.Lose(func(from, to int, _ algo.Message) bool { return (from == 2) != (to == 2) })
		c.Campaign(1) // n3 votes for n1, and n2 does not hear of it
		c.Run(5 * T)
		if got := c.Leader(1); got != leadership(1, 1) {
			return fmt.Sprintf("n1 names %v", got)
		}
		c.Lose(func(from, to int, m algo.Message) bool { return from == 1 || to == 1 || m.Kind() == "elect" })
		c.Campaign(2) // it votes for itself, in the same round
		c.Run(3 * T)
		c.Lose(func(from, to int, _ algo.Message) bool { return from == 1 || to == 1 })
		c.Crash(3)
		c.Start(3)
		c.Deliver(2, 3, Elect{Round: 1})
		c.Run(8 * T)
		return c.Broken
	})
}

// The moments of a crash around the save of a vote: whoever crashes before it has told
// nobody, whoever crashes after it will not vote for another.
func TestACrashAroundTheSaveOfAVote(t *testing.T) {
	for moment, want := range map[string]struct {
		dieIn int
		saved algo.Stable
		again string // whether it takes part in that round, after the restart
	}{
		"before the save": {1, algo.Stable{}, "elects"},
		"after the save":  {2, algo.Stable{Epoch: 1, Vote: n(1)}, "abstains"},
		"after the vote":  {3, algo.Stable{Epoch: 1, Vote: n(1)}, "abstains"},
	} {
		t.Run(moment, func(t *testing.T) {
			c := newCluster(textbook(), viewOf(3))
			c.Tracing = true
			c.StartAll()
			c.Run(2*T - 1)
			c.Node(2).DieIn = want.dieIn
			c.Run(1)
			if c.Node(2).Machine != nil {
				t.Fatalf("n2 did not crash\n%s", c.Story())
			}
			if got := c.Node(2).Saved; got != want.saved {
				t.Errorf("n2 saved %v, want %v", got, want.saved)
			}
			c.Start(2)
			again := "abstains"
			c.OnSend = func(from, _ int, m algo.Message) {
				if vote, is := m.(Vote); from == 2 && is && vote.Round == 1 {
					again = "elects"
				}
			}
			c.Lose(func(_, _ int, _ algo.Message) bool { return true })
			c.Deliver(1, 2, Elect{Round: 1})
			c.Deliver(3, 2, Elect{Round: 1})
			c.Run(2 * T)
			if again != want.again {
				t.Errorf("after the restart n2 %s, want that it %s\n%s", again, want.again, c.Story())
			}
		})
	}
}

// A server does not lead in a round in which it may have voted for another, or may have
// led, before a restart.
func TestARestartedServerDoesNotLeadInItsOldRound(t *testing.T) {
	for name, voted := range map[string]int{"for another": 1, "for itself": 2} {
		s := alone(2, viewOf(3), Defaults(timing))
		s.StartFrom(algo.Stable{Epoch: 7, Vote: n(voted)})
		does(t, "a late vote, having voted "+name, s.Hears(1, Vote{7}), "")
		does(t, "a majority of them", s.Hears(3, Vote{7}), "")
		does(t, "it claims in the next", s.Hears(3, Elect{Round: 7}), "n3 <- elect round=8 view={number=1}")
		s.Hears(1, Elect{Round: 8})
		does(t, "and votes there", s.Hears(3, Elect{Round: 8}), "save 8 for n1; stop window; pause in 60ms to 120ms; n1 <- vote round=8")
	}
	// Elected before its own window ended, it would have no vote to know itself by. Its
	// vote is its own then. Without, it announces one leadership twice.
	goesWell(t, textbook(), 3, func(c *host.Cluster) string {
		c.StartAll()
		c.Campaign(1)
		c.Deliver(2, 1, Vote{1})
		c.Deliver(3, 1, Vote{1})
		c.Crash(1)
		c.Start(1)
		c.Deliver(2, 1, Vote{1})
		c.Deliver(3, 1, Vote{1})
		return c.Broken
	})
}

// Nor where it only knew that the round was on: somebody had asked for the one after it.
func TestWhoHasNotVotedAndLeadsKnowsItAfterARestart(t *testing.T) {
	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(0)
	s.Hears(2, Elect{Round: 8}) // so it has taken part in round 7, maybe
	does(t, "one votes for it", s.Hears(2, Vote{7}), "")
	does(t, "and another", s.Hears(3, Vote{7}), "save 7 for n1; lead in 40ms; stop window; watch in 120ms; n2 n3 <- lead term=7 msg=1; announce n1 in 7")
	s = alone(1, viewOf(3), Defaults(timing))
	s.StartFrom(algo.Stable{Epoch: 7, Vote: n(1)})
	does(t, "the votes come again", s.Hears(2, Vote{7})+s.Hears(3, Vote{7}), "")
}

// "Identical votes means the same round; a vote of any round but my saved round is
// ignored." Without it a late vote of one round and a vote of the next elect a second
// leader there.
func TestVotesOfOtherRoundsAreIgnored(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "an older vote", s.Hears(1, Vote{5}), "")
	does(t, "the same of another", s.Hears(3, Vote{5}), "")

	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
			if m == (Vote{1}) {
				return 10 * T, true // those of n2 and n3 for n1
			}
			return T, !(from == 1 && c.Now > T || to == 1 && c.Now > 2*T)
		}
		c.StartAll()
		c.Campaign(1)
		c.Campaign(3)
		c.Run(5 * T)
		c.Suspect(1, 2, 3) // n1 is cut off
		c.Run(10 * T)
		if got := c.Leader(2); got != leadership(2, 2) {
			return fmt.Sprintf("n2 names %v", got)
		}
		c.Run(10 * T)
		return c.Broken
	})
}

// "A Lead is obsolete if its term is below my saved round." Without it a late Lead
// brings back a leader that has died, and spoils the election of another.
func TestAnObsoleteLeadIsIgnored(t *testing.T) {
	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		elected(c)
		c.Detect = T / 10
		c.Crash(1)
		c.Run(T / 2)
		c.Deliver(1, 2, algo.Repeat{Message: Lead{Term: 1, Msg: 2}})
		if got := c.Leader(2); !got.Vacant() {
			return fmt.Sprintf("n2 follows the dead %s", name(got.ID))
		}
		return c.AgreedAfter(3 * T)
	})
}

// "A timeout takes saved round + 1." Without it nobody has a vote left when the leader
// of a round has died.
func TestATimeoutTakesTheNextRound(t *testing.T) {
	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		elected(c)
		c.Detect = T / 10
		c.Crash(1)
		return c.AgreedAfter(1000 * T)
	})
}

// "An Elect of a newer round is adopted: clear vote and claims, save, broadcast my
// Elect, open a window." Without it who is ahead never elects together with the others.
func TestANewerRoundIsAdopted(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.StartFrom(algo.Stable{Epoch: 6, Vote: n(3)})
	s.Hears(1, Elect{Round: 7, Term: 5, Msg: 9, Leader: n(1)})
	does(t, "while voting in another", s.Hears(3, Elect{Round: 9}),
		"save 8; window in 20ms; n1 n3 <- elect round=9 view={number=1}")
	s.Expires(timerWindow)
	does(t, "the claim of the other round is gone", s.Expires(timerWindow), "save 9 for n2; pause in 60ms to 120ms")

	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		c.Node(3).Saved.Epoch = 5
		c.StartAll()
		return c.AgreedAfter(1000 * T)
	})
}

// "Older: answered with Lead if I lead my saved round, else with Elect of my round."
// Without it who is behind climbs round by round, with a pause between.
func TestWhoIsBehindIsTold(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	does(t, "by the leader", s.Hears(3, Elect{Round: 3}), "n3 <- lead term=7 msg=1")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	does(t, "not by a follower", s.Hears(3, Elect{Round: 3}), "")
	s = leading(t, 2, viewOf(3), textbook())
	s.Hears(1, Elect{Round: 9})
	does(t, "by a leader of a term before", s.Hears(3, Elect{Round: 8}), "n3 <- elect round=9 term=7 msg=1 leader=n2 view={number=1}")
	s.Expires(timerWindow)
	does(t, "having voted", s.Hears(3, Elect{Round: 8}), "n3 <- elect round=9 term=7 msg=1 leader=n2 view={number=1}")

	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		c.Node(1).Saved.Epoch = 50
		c.Start(1, 2) // n3 is dead: n1 and n2 need each other
		c.Detect = T / 10
		c.Campaign(2)
		return c.AgreedAfter(8 * T)
	})
}

// Who leads answers whoever asks. Without it the asker waits for a repeat.
func TestWhoMissedTheLeadIsTold(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Expires(timerWindow)
	does(t, "once voted", s.Hears(3, Elect{Round: 7}), "")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	does(t, "of a follower", s.Hears(3, Elect{Round: 7}), "")
	s = leading(t, 2, viewOf(3), Defaults(timing))
	does(t, "of the leader", s.Hears(3, Elect{Round: 7}), "n3 <- lead term=7 msg=1")

	goesWell(t, textbook(), 3, func(c *host.Cluster) string {
		c.Start(1, 2)
		c.Run(6 * T)
		c.Start(3)
		return c.AgreedAfter(2 * T)
	})
}

// "After voting a pause timer runs, random so that two candidates cannot tie for ever;
// its end starts the next round." The network here is slower than the window.
func TestAPauseIsRandom(t *testing.T) {
	goesWell(t, Defaults(timing), 2, func(c *host.Cluster) string {
		random := host.Seeded(1)
		c.Pick = func(least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64(most-least)))
		}
		c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) { return 3 * T, true }
		c.StartAll()
		return c.AgreedAfter(1000 * T)
	})
}

func TestTheEndOfAPauseStartsTheNextRound(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Hears(3, Elect{Round: 7})
	s.Hears(1, Elect{Round: 7})
	does(t, "the pause ends", s.Expires(timerPause),
		"window in 40ms; n1 n3 <- elect round=8 view={number=1} invain=1")
}

// "A leader's own Lead resets its watch timer only while its term is its saved round;
// otherwise it goes on to the next round." Without it a leader stays behind the round
// that it has adopted, and whoever has adopted it too cannot follow.
func TestALeaderGoesOnToTheNextRound(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	does(t, "its own Lead resets its timer", s.Expires(timerLead),
		"lead in 40ms; watch in 120ms; n1 n3 <- lead term=7 msg=2 again")
	s.Hears(3, Elect{Round: 9})
	does(t, "not in a newer round", s.Expires(timerLead), "lead in 40ms; n1 n3 <- lead term=7 msg=3 again")

	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		elected(c)
		c.Lose(func(from, to int, m algo.Message) bool {
			return m == Elect{Round: 2, Term: 1, Msg: 1, Leader: n(1), View: viewOf(3).Stamp()} && to == 2
		})
		c.Campaign(3)
		c.Run(T / 2)
		c.Crash(3)
		c.Run(30 * T)
		c.Start(3)
		return c.AgreedAfter(2 * hbt)
	})
}

// "A leader monitors all; without life from a majority for 3·HBT it announces vacancy
// and stops Lead." Without it a leader that is cut off leads beside the next one.
func TestALeaderWithoutAMajorityStops(t *testing.T) {
	s := leading(t, 3, viewOf(5), Defaults(timing))
	does(t, "life from three others", s.Suspects(1), "")
	does(t, "life from two others", s.Suspects(2), "")
	does(t, "life from one other", s.Suspects(4), "quorum in 120ms")
	does(t, "life from none", s.Suspects(5), "")
	does(t, "life from one", s.Trusts(4), "")
	does(t, "life from two", s.Trusts(5), "stop quorum")
	does(t, "life from one", s.Suspects(5), "quorum in 120ms")
	does(t, "for too long", s.Expires(timerQuorum), "stop lead; stop quorum; stop watch; window in 20ms; "+
		"n1 n2 n4 n5 <- elect round=8 term=7 msg=1 leader=n3 view={number=1}; announce nobody in 7")
	does(t, "late votes do not bring it back", s.Hears(1, Vote{7})+s.Hears(2, Vote{7})+s.Hears(4, Vote{7}), "")

	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		elected(c)
		c.Lose(func(from, to int, _ algo.Message) bool { return (from == 1) != (to == 1) })
		c.Suspect(1, 2, 3)
		c.Suspect(2, 1)
		c.Suspect(3, 1)
		c.Run(3 * hbt)
		if got := c.Leaders(); got != 1 {
			return fmt.Sprintf("%d leaders", got)
		}
		if got := c.Leader(1); got != (algo.Leader{Epoch: 1}) {
			return fmt.Sprintf("n1, alone, names %v", got)
		}
		c.Lose(func(_, _ int, _ algo.Message) bool { return false })
		c.Trust(2, 1)
		c.Trust(3, 1)
		return c.AgreedAfter(20 * T)
	})
}

// "The old leader is the one named by the highest term among the claims." Without it
// the votes split for ever between a leader and the one before it.
func TestTheHighestTermNamesTheOldLeader(t *testing.T) {
	goesWell(t, Defaults(timing), 5, func(c *host.Cluster) string {
		elected(c)
		// n1 and n4 are cut off, and the others elect n2.
		c.Lose(func(from, to int, _ algo.Message) bool {
			return (from == 1 || from == 4) != (to == 1 || to == 4)
		})
		c.Suspect(1, 2, 3, 5)
		c.Suspect(4, 2, 3, 5)
		c.Run(3 * T)
		if got := c.Leader(3); got != leadership(2, 2) {
			return fmt.Sprintf("n3 names %v", got)
		}
		c.Crash(5)
		// All is well again, before n1 and n4 have noticed anything.
		c.Lose(func(_, _ int, _ algo.Message) bool { return false })
		c.Detect = T / 10
		c.Campaign(3)
		return c.AgreedAfter(12 * T) // in the first round: after four the votes go round
	})
}

// Those whose claim is awaited are monitored, so that the window closes with the last of
// them that is suspected. Without it a failover waits for the window when another has
// died as well.
func TestTheLastAwaitedSuspectedClosesTheWindow(t *testing.T) {
	goesWell(t, Defaults(timing), 5, func(c *host.Cluster) string {
		c.Detect = T / 10
		elected(c)
		c.Crash(5)
		c.Run(20 * T)
		c.Crash(1)
		return c.AgreedAfter(3*T + T/2)
	})
}

// Who is suspected loses its claim. Without it the votes go to the dead.
func TestTheClaimOfTheDeadIsWithdrawn(t *testing.T) {
	goesWell(t, Defaults(timing), 4, func(c *host.Cluster) string {
		c.Detect = T / 10
		c.StartAll()
		c.Delay = func(from, _ int, m algo.Message) (time.Duration, bool) {
			if from == 4 && m.Kind() == "elect" {
				return 3 * T / 2, true // so that the windows are still open
			}
			return T, true
		}
		c.Campaign(1)
		c.At(T+1, func() { c.Crash(1) })
		return c.AgreedAfter(5 * T)
	})
}

// Who was voted for is monitored: its crash starts the next round at once. Without it
// the pause is waited for.
func TestTheCrashOfTheElectedStartsTheNextRound(t *testing.T) {
	goesWell(t, Defaults(timing), 3, func(c *host.Cluster) string {
		c.Detect = T / 10
		c.StartAll()
		for i := 1; i <= 3; i++ {
			c.Campaign(i)
		}
		c.At(T+T/2, func() { c.Crash(1) }) // the votes for it are under way
		return c.AgreedAfter(5 * T)
	})
}

// A member may come back with a much later epoch than the others have. Wherever its message arrives,
// they elect on.
func TestMessageOfMuchLaterEpoch(t *testing.T) {
	const size = 4
	for _, ahead := range []algo.Epoch{1 << 32, algo.MaxEpoch / 2} {
		for _, m := range []algo.Message{Elect{Round: ahead + 1}, Vote{ahead + 1}, Lead{Term: ahead + 1, Msg: 1}} {
			for to := 1; to < size; to++ {
				c := settledCluster(t, Defaults(timing), size)
				c.Deliver(size, to, m)
				if why := c.AgreedAfter(50 * hbt); why != "" {
					t.Errorf("n%d hears %v from n%d: %s\n%s", to, m, size, why, c.Story())
				}
			}
		}
	}
}

// round lets n2 of five take part in a round in which all but the silent servers claim, n1 best, and
// fails unless n2 votes for the wanted server.
func round(t *testing.T, s *host.Solo, round algo.Epoch, want int, silent ...int) {
	t.Helper()
	said := ""
	for _, from := range []int{1, 3, 4, 5} {
		if !slices.Contains(silent, from) {
			said += s.Hears(from, Elect{Round: round, Term: 1, Msg: 9, Leader: n(1)})
		}
	}
	if !strings.Contains(said, fmt.Sprintf("save %d for n%d; stop window", round, want)) {
		t.Errorf("in round %d it does %q, want a vote for n%d", round, said, want)
	}
}

// "After three such rounds they go round among those who claim."
func TestWhoNeverLeadsIsPassedOver(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	for i, want := range []int{1, 1, 1, 4, 5, 1, 2} { // the fourth is round 13, 13 mod 5 is 3
		round(t, s, algo.Epoch(10+i), want)
	}
	s.Hears(3, Lead{Term: 17, Msg: 1})
	does(t, "a leader there was: the best claim counts again", s.Expires(timerWatch),
		"window in 20ms; monitor n1 n3 n4 n5; n1 n3 n4 n5 <- elect round=18 term=17 msg=1 leader=n3 view={number=1}; announce nobody in 17")
}

// The number of the round says which member has its turn. A claim that only some servers have heard
// does not change the votes of the other servers.
func TestVotersTakeSameTurnWithoutOneClaim(t *testing.T) {
	for silent, want := range map[int][]int{
		3: {4, 5, 1, 2},
		4: {5, 5, 1, 2}, // the turn of n4 goes to the next server that claims
		5: {4, 1, 1, 2},
	} {
		s := alone(2, viewOf(5), Defaults(timing))
		s.Start(6)
		for i := range 3 {
			round(t, s, algo.Epoch(10+i), 1)
		}
		s.Suspects(silent)
		for i, want := range want {
			round(t, s, algo.Epoch(13+i), want, silent)
		}
	}
}

// Without a majority there is no round, and nobody to blame but those who are missing.
func TestWithoutAMajorityThereIsNoRound(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	for _, dead := range []int{3, 4, 5} {
		s.Suspects(dead)
	}
	s.Hears(1, Elect{Round: 7, Term: 1, Msg: 9, Leader: n(1)})
	does(t, "half a window more", s.Expires(timerWindow), "window in 10ms")
	windowEnds := driver.Event{Kind: driver.EventExpire, Timer: timerWindow}
	for range 3 {
		s.Hears(1, Elect{Round: 7, Term: 1, Msg: 9, Leader: n(1)}) // it asks still
		does(t, "the window", missed(s.Machine.Step(windowEnds)), "n3 asked for no election, and does not lead; "+
			"n4 asked for no election, and does not lead; n5 asked for no election, and does not lead")
	}
	if got := s.Machine.Stable(); got != (algo.Stable{Epoch: 6}) {
		t.Errorf("it saves %v", got)
	}
}

// missed is whom a step misses, and why.
func missed(effects *driver.Effects) string {
	var all []string
	for _, note := range effects.Notes {
		if !note.Missed.IsZero() {
			all = append(all, name(note.Missed)+" "+fmt.Sprint(note.Args[1]))
		}
	}
	return strings.Join(all, "; ")
}

// Who gets no Lead misses whom it voted for; who voted for itself, those who did not.
func TestWhomAVoterMisses(t *testing.T) {
	pauseEnds := driver.Event{Kind: driver.EventExpire, Timer: timerPause}
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	round(t, s, 10, 1)
	does(t, "having voted for n1", missed(s.Machine.Step(pauseEnds)), "n1 got the vote of this node and does not lead")
	s = alone(1, viewOf(5), Defaults(timing))
	s.Start(6)
	for _, from := range []int{2, 3, 4, 5} {
		s.Hears(from, Elect{Round: 10})
	}
	s.Hears(3, Vote{10})
	does(t, "having voted for itself", missed(s.Machine.Step(pauseEnds)), "n2 gave no vote; n4 gave no vote; n5 gave no vote")
}
