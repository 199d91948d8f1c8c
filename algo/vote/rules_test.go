package vote

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules that are not in the source. Each prevents a failure, and a test shows that failure when
// the rule is removed: internal/mutants removes each rule and checks that its test
// fails.

// checkRun runs a cluster of size nodes. It fails the test if run returns a problem, or if a
// property was violated.
func checkRun(t *testing.T, o Options, size int, run func(c *algosim.Cluster) string) {
	t.Helper()
	c := algosim.New(newSpec(o), algosim.View(size))
	c.Tracing = true
	problem := run(c)
	if problem == "" {
		problem = c.Violation
	}
	if problem != "" {
		t.Errorf("%s\n%s", problem, c.Transcript())
	}
}

// elected starts a cluster, which elects n1 in term 1.
func elected(c *algosim.Cluster) {
	c.StartAll()
	c.Run(5 * T)
}

// twoInATerm runs a cluster in which the source elects two servers in one term. n1 and n2 both claim, and n2 votes for
// n1, which leads. Messages from n1 are slow from then on. n3 starts the same round late, and n2 would vote again: for
// itself.
func twoInATerm(c *algosim.Cluster) {
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

// Rounds are numbered, and a server votes once per round. Without this rule, two servers are
// elected in a round.
func TestServerVotesOncePerRound(t *testing.T) {
	checkRun(t, textbook(), 3, func(c *algosim.Cluster) string {
		twoInATerm(c)
		if got := c.Leader(1); c.Violation == "" && got != leadership(1, 1) {
			return fmt.Sprintf("n1 names %v", got)
		}
		return c.Violation
	})
}

// A vote is saved before it is sent. Without this rule, a restarted server votes again.
func TestVoteIsSavedBeforeItIsSent(t *testing.T) {
	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.DropIf(func(from, to int, _ algo.Message) bool { return (from == 2) != (to == 2) })
		c.Campaign(1) // n3 votes for n1, and n2 does not know
		c.Run(5 * T)
		if got := c.Leader(1); got != leadership(1, 1) {
			return fmt.Sprintf("n1 names %v", got)
		}
		c.DropIf(func(from, to int, m algo.Message) bool { return from == 1 || to == 1 || m.Kind() == "elect" })
		c.Campaign(2) // it votes for itself, in the same round
		c.Run(3 * T)
		c.DropIf(func(from, to int, _ algo.Message) bool { return from == 1 || to == 1 })
		c.Crash(3)
		c.Start(3)
		c.Deliver(2, 3, Elect{Round: 1})
		c.Run(8 * T)
		return c.Violation
	})
}

// A server that crashes before the save of its vote has sent nothing. A server that crashes after the save does not
// vote again in that round.
func TestCrashAroundSaveOfVote(t *testing.T) {
	for moment, want := range map[string]struct {
		dieIn int
		saved algo.HardState
		again string // whether it votes in that round after the restart
	}{
		"before the save": {1, algo.HardState{}, "votes"},
		"after the save":  {2, algo.HardState{Epoch: 1, Vote: n(1)}, "abstains"},
		"after the vote":  {3, algo.HardState{Epoch: 1, Vote: n(1)}, "abstains"},
	} {
		t.Run(moment, func(t *testing.T) {
			c := newCluster(textbook(), viewOf(3))
			c.Tracing = true
			c.StartAll()
			c.Run(2*T - 1)
			c.Node(2).CrashAfter = want.dieIn
			c.Run(1)
			if c.Node(2).Machine != nil {
				t.Fatalf("n2 did not crash\n%s", c.Transcript())
			}
			if got := c.Node(2).Saved; got != want.saved {
				t.Errorf("n2 saved %v, want %v", got, want.saved)
			}
			c.Start(2)
			again := "abstains"
			c.OnSend = func(from, _ int, m algo.Message) {
				if vote, is := m.(Vote); from == 2 && is && vote.Round == 1 {
					again = "votes"
				}
			}
			c.DropIf(func(_, _ int, _ algo.Message) bool { return true })
			c.Deliver(1, 2, Elect{Round: 1})
			c.Deliver(3, 2, Elect{Round: 1})
			c.Run(2 * T)
			if again != want.again {
				t.Errorf("after the restart n2 %s, want that it %s\n%s", again, want.again, c.Transcript())
			}
		})
	}
}

// A server does not lead in a round in which it may have voted for another, or may have
// led, before a restart.
func TestRestartedServerDoesNotLeadInOldRound(t *testing.T) {
	for name, voted := range map[string]int{"for another": 1, "for itself": 2} {
		s := alone(2, viewOf(3), Defaults(timing))
		s.StartFrom(algo.HardState{Epoch: 7, Vote: n(voted)})
		expect(t, "a late vote, having voted "+name, s.Receive(1, Vote{7}), "")
		expect(t, "a majority of them", s.Receive(3, Vote{7}), "")
		expect(t, "it claims in the next round", s.Receive(3, Elect{Round: 7}), "n3 <- elect round=8 configid={version=1}")
		s.Receive(1, Elect{Round: 8})
		expect(t, "and votes in it", s.Receive(3, Elect{Round: 8}), "save 8 for n1; stop window; pause in 60ms to 120ms; n1 <- vote round=8")
	}
	// If the server is elected before its own window ends, it has not voted yet. It then saves a
	// vote for itself. Without this rule, it announces one leadership twice.
	checkRun(t, textbook(), 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Campaign(1)
		c.Deliver(2, 1, Vote{1})
		c.Deliver(3, 1, Vote{1})
		c.Crash(1)
		c.Start(1)
		c.Deliver(2, 1, Vote{1})
		c.Deliver(3, 1, Vote{1})
		return c.Violation
	})
}

// A restarted server does not lead again in the round that it led, even if it knew the round only from a request for
// the next one, and had not voted.
func TestRestartedLeaderWithoutVoteDoesNotLeadAgain(t *testing.T) {
	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(0)
	s.Receive(2, Elect{Round: 8}) // so this server may have taken part in round 7
	expect(t, "a vote for it", s.Receive(2, Vote{7}), "")
	expect(t, "another vote", s.Receive(3, Vote{7}), "save 7 for n1; lead in 40ms; stop window; watch in 120ms; n2 n3 <- lead term=7 msg=1; announce n1 in 7")
	s = alone(1, viewOf(3), Defaults(timing))
	s.StartFrom(algo.HardState{Epoch: 7, Vote: n(1)})
	expect(t, "the votes arrive again", s.Receive(2, Vote{7})+s.Receive(3, Vote{7}), "")
}

// Only votes of the saved round count. Without this rule, a late vote of one round and a vote of
// the next elect a second leader in that round.
func TestVotesOfOtherRoundsAreIgnored(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "an older vote", s.Receive(1, Vote{5}), "")
	expect(t, "one from another server", s.Receive(3, Vote{5}), "")

	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
			if m == (Vote{1}) {
				return 10 * T, true // the votes of n2 and n3 for n1
			}
			return T, !(from == 1 && c.Now > T || to == 1 && c.Now > 2*T)
		}
		c.StartAll()
		c.Campaign(1)
		c.Campaign(3)
		c.Run(5 * T)
		c.Suspect(1, 2, 3) // n1 is disconnected
		c.Run(10 * T)
		if got := c.Leader(2); got != leadership(2, 2) {
			return fmt.Sprintf("n2 names %v", got)
		}
		c.Run(10 * T)
		return c.Violation
	})
}

// A Lead is obsolete if its term is below the saved round. Without this rule, a late Lead restores
// a crashed leader, and the election of another fails.
func TestObsoleteLeadIsIgnored(t *testing.T) {
	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		elected(c)
		c.DetectionTime = T / 10
		c.Crash(1)
		c.Run(T / 2)
		c.Deliver(1, 2, algo.Periodic{Message: Lead{Term: 1, Msg: 2}})
		if got := c.Leader(2); !got.IsVacant() {
			return fmt.Sprintf("n2 follows the crashed %s", name(got.ID))
		}
		return c.DisagreementAfter(3 * T)
	})
}

// A timeout takes the round after the saved one. Without this rule, no server has a vote left when
// the leader of a round has crashed.
func TestTimeoutTakesNextRound(t *testing.T) {
	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		elected(c)
		c.DetectionTime = T / 10
		c.Crash(1)
		return c.DisagreementAfter(1000 * T)
	})
}

// A server adopts the newer round of an Elect: it clears its vote and the claims, saves, broadcasts
// its own Elect, and opens a window. Without this rule, a server that is ahead never elects
// together with the others.
func TestServerAdoptsNewerRound(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.StartFrom(algo.HardState{Epoch: 6, Vote: n(3)})
	s.Receive(1, Elect{Round: 7, Term: 5, Msg: 9, Leader: n(1)})
	expect(t, "while voting in another", s.Receive(3, Elect{Round: 9}),
		"save 8; window in 20ms; n1 n3 <- elect round=9 configid={version=1}")
	s.Expire(timerWindow)
	expect(t, "the claim of the other round does not count", s.Expire(timerWindow), "save 9 for n2; pause in 60ms to 120ms")

	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		c.Node(3).Saved.Epoch = 5
		c.StartAll()
		return c.DisagreementAfter(1000 * T)
	})
}

// A leader of the saved round replies to an older Elect with Lead, and another server with the
// Elect of its round. Without this rule, a server that is behind advances round by round, with a
// pause between.
func TestServerBehindGetsReply(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	expect(t, "the leader replies", s.Receive(3, Elect{Round: 3}), "n3 <- lead term=7 msg=1")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	expect(t, "a follower does not", s.Receive(3, Elect{Round: 3}), "")
	s = leading(t, 2, viewOf(3), textbook())
	s.Receive(1, Elect{Round: 9})
	expect(t, "a leader of an earlier term replies", s.Receive(3, Elect{Round: 8}), "n3 <- elect round=9 term=7 msg=1 leader=n2 configid={version=1}")
	s.Expire(timerWindow)
	expect(t, "after a vote", s.Receive(3, Elect{Round: 8}), "n3 <- elect round=9 term=7 msg=1 leader=n2 configid={version=1}")

	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		c.Node(1).Saved.Epoch = 50
		c.Start(1, 2) // n3 is not running: n1 and n2 need each other
		c.DetectionTime = T / 10
		c.Campaign(2)
		return c.DisagreementAfter(8 * T)
	})
}

// A leader replies to every Elect. Without this rule, the sender waits for a periodic Lead.
func TestLeaderRepliesToEveryElect(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Expire(timerWindow)
	expect(t, "a server that has voted", s.Receive(3, Elect{Round: 7}), "")
	s = following(t, 2, 1, viewOf(3), Defaults(timing))
	expect(t, "a follower", s.Receive(3, Elect{Round: 7}), "")
	s = leading(t, 2, viewOf(3), Defaults(timing))
	expect(t, "the leader", s.Receive(3, Elect{Round: 7}), "n3 <- lead term=7 msg=1")

	checkRun(t, textbook(), 3, func(c *algosim.Cluster) string {
		c.Start(1, 2)
		c.Run(6 * T)
		c.Start(3)
		return c.DisagreementAfter(2 * T)
	})
}

// After its vote, a server pauses for a random time before it starts the next round, so that two candidates do not tie
// forever. In this test, the network is slower than the window.
func TestPauseIsRandom(t *testing.T) {
	checkRun(t, Defaults(timing), 2, func(c *algosim.Cluster) string {
		random := algosim.Seeded(1)
		c.Pick = func(least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64(most-least)))
		}
		c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) { return 3 * T, true }
		c.StartAll()
		return c.DisagreementAfter(1000 * T)
	})
}

func TestEndOfPauseStartsNextRound(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Receive(3, Elect{Round: 7})
	s.Receive(1, Elect{Round: 7})
	expect(t, "the pause ends", s.Expire(timerPause),
		"window in 40ms; n1 n3 <- elect round=8 configid={version=1} failedrounds=1")
}

// A leader's own Lead resets its watch timer only while its term is its saved round. Otherwise the
// leader enters the next round. Without this rule, a leader stays behind the round
// that it has adopted, and another server that has adopted it cannot follow.
func TestLeaderEntersNextRound(t *testing.T) {
	s := leading(t, 2, viewOf(3), Defaults(timing))
	expect(t, "its own Lead resets its timer", s.Expire(timerLead),
		"lead in 40ms; watch in 120ms; n1 n3 <- lead term=7 msg=2 again")
	s.Receive(3, Elect{Round: 9})
	expect(t, "not in a newer round", s.Expire(timerLead), "lead in 40ms; n1 n3 <- lead term=7 msg=3 again")

	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		elected(c)
		c.DropIf(func(from, to int, m algo.Message) bool {
			return m == Elect{Round: 2, Term: 1, Msg: 1, Leader: n(1), ConfigID: viewOf(3).ConfigID()} && to == 2
		})
		c.Campaign(3)
		c.Run(T / 2)
		c.Crash(3)
		c.Run(30 * T)
		c.Start(3)
		return c.DisagreementAfter(2 * hbt)
	})
}

// A leader monitors all servers. It stops leading and announces a vacancy if it has heard from no majority for 3·HBT.
// Without this rule, a disconnected leader leads beside the next one.
func TestLeaderWithoutMajorityStops(t *testing.T) {
	s := leading(t, 3, viewOf(5), Defaults(timing))
	expect(t, "it hears from three others", s.Suspect(1), "")
	expect(t, "it hears from two others", s.Suspect(2), "")
	expect(t, "it hears from one other", s.Suspect(4), "quorum in 120ms")
	expect(t, "it hears from none", s.Suspect(5), "")
	expect(t, "it hears from one", s.Trust(4), "")
	expect(t, "it hears from two", s.Trust(5), "stop quorum")
	expect(t, "it hears from one", s.Suspect(5), "quorum in 120ms")
	expect(t, "the time is over", s.Expire(timerQuorum), "stop lead; stop quorum; stop watch; window in 20ms; "+
		"n1 n2 n4 n5 <- elect round=8 term=7 msg=1 leader=n3 configid={version=1}; announce none in 7")
	expect(t, "late votes do not restore its leadership", s.Receive(1, Vote{7})+s.Receive(2, Vote{7})+s.Receive(4, Vote{7}), "")

	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		elected(c)
		c.DropIf(func(from, to int, _ algo.Message) bool { return (from == 1) != (to == 1) })
		c.Suspect(1, 2, 3)
		c.Suspect(2, 1)
		c.Suspect(3, 1)
		c.Run(3 * hbt)
		if got := c.Leaders(); got != 1 {
			return fmt.Sprintf("%d leaders", got)
		}
		if got := c.Leader(1); got != (algo.Leader{Epoch: 1}) {
			return fmt.Sprintf("n1, disconnected, names %v", got)
		}
		c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
		c.Trust(2, 1)
		c.Trust(3, 1)
		return c.DisagreementAfter(20 * T)
	})
}

// The old leader is the one that the highest term among the claims names. Without this rule, the
// votes split forever between a leader and its predecessor.
func TestHighestTermNamesOldLeader(t *testing.T) {
	checkRun(t, Defaults(timing), 5, func(c *algosim.Cluster) string {
		elected(c)
		// n1 and n4 are disconnected, and the others elect n2.
		c.DropIf(func(from, to int, _ algo.Message) bool {
			return (from == 1 || from == 4) != (to == 1 || to == 4)
		})
		c.Suspect(1, 2, 3, 5)
		c.Suspect(4, 2, 3, 5)
		c.Run(3 * T)
		if got := c.Leader(3); got != leadership(2, 2) {
			return fmt.Sprintf("n3 names %v", got)
		}
		c.Crash(5)
		// The network recovers before n1 and n4 have noticed the fault.
		c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
		c.DetectionTime = T / 10
		c.Campaign(3)
		return c.DisagreementAfter(12 * T) // in the first round: after three, the votes rotate
	})
}

// A server monitors the servers from which it expects claims, so that the window closes when the last of
// them is suspected. Without this rule, a failover waits for the window if another server has
// crashed as well.
func TestSuspectingLastAwaitedClosesWindow(t *testing.T) {
	checkRun(t, Defaults(timing), 5, func(c *algosim.Cluster) string {
		c.DetectionTime = T / 10
		elected(c)
		c.Crash(5)
		c.Run(20 * T)
		c.Crash(1)
		return c.DisagreementAfter(3*T + T/2)
	})
}

// The claim of a suspected server is dropped. Without this rule, crashed servers get votes.
func TestClaimOfSuspectedServerIsDropped(t *testing.T) {
	checkRun(t, Defaults(timing), 4, func(c *algosim.Cluster) string {
		c.DetectionTime = T / 10
		c.StartAll()
		c.Delay = func(from, _ int, m algo.Message) (time.Duration, bool) {
			if from == 4 && m.Kind() == "elect" {
				return 3 * T / 2, true // so that the windows are still open
			}
			return T, true
		}
		c.Campaign(1)
		c.At(T+1, func() { c.Crash(1) })
		return c.DisagreementAfter(5 * T)
	})
}

// The server that got the vote is monitored: its crash starts the next round immediately. Without this rule,
// the voters wait for the end of the pause.
func TestCrashOfElectedServerStartsNextRound(t *testing.T) {
	checkRun(t, Defaults(timing), 3, func(c *algosim.Cluster) string {
		c.DetectionTime = T / 10
		c.StartAll()
		for i := 1; i <= 3; i++ {
			c.Campaign(i)
		}
		c.At(T+T/2, func() { c.Crash(1) }) // the votes for it are in flight
		return c.DisagreementAfter(5 * T)
	})
}

// A member may return with a much higher epoch than the others have. Whichever server receives its message,
// later elections succeed.
func TestMessageOfMuchLaterEpoch(t *testing.T) {
	const size = 4
	for _, ahead := range []algo.Epoch{1 << 32, algo.MaxEpoch / 2} {
		for _, m := range []algo.Message{Elect{Round: ahead + 1}, Vote{ahead + 1}, Lead{Term: ahead + 1, Msg: 1}} {
			for to := 1; to < size; to++ {
				c := agreedCluster(t, Defaults(timing), size)
				c.Deliver(size, to, m)
				if problem := c.DisagreementAfter(50 * hbt); problem != "" {
					t.Errorf("n%d hears %v from n%d: %s\n%s", to, m, size, problem, c.Transcript())
				}
			}
		}
	}
}

// round delivers to s, n2 of five, the claims of a round from all but the silent servers; that of n1 is the best. It
// fails the test unless n2 votes for server want.
func round(t *testing.T, s *algosim.Single, round algo.Epoch, want int, silent ...int) {
	t.Helper()
	effects := ""
	for _, from := range []int{1, 3, 4, 5} {
		if !slices.Contains(silent, from) {
			effects += s.Receive(from, Elect{Round: round, Term: 1, Msg: 9, Leader: n(1)})
		}
	}
	if !strings.Contains(effects, fmt.Sprintf("save %d for n%d; stop window", round, want)) {
		t.Errorf("in round %d the effects are %q, want a vote for n%d", round, effects, want)
	}
}

// After three rounds without a leader, the votes rotate among the servers with a claim.
func TestCandidateThatNeverLeadsIsPassedOver(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	for i, want := range []int{1, 1, 1, 4, 5, 1, 2} { // the fourth is round 13, 13 mod 5 is 3
		round(t, s, algo.Epoch(10+i), want)
	}
	s.Receive(3, Lead{Term: 17, Msg: 1})
	expect(t, "after a leader, the best claim counts again", s.Expire(timerWatch),
		"window in 20ms; monitor n1 n3 n4 n5; n1 n3 n4 n5 <- elect round=18 term=17 msg=1 leader=n3 configid={version=1}; announce none in 17")
}

// The number of the round selects the member. A claim that only some servers have received
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
		s.Suspect(silent)
		for i, want := range want {
			round(t, s, algo.Epoch(13+i), want, silent)
		}
	}
}

// Without a majority there is no round, and only the missing servers are reported.
func TestNoRoundWithoutMajority(t *testing.T) {
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	for _, dead := range []int{3, 4, 5} {
		s.Suspect(dead)
	}
	s.Receive(1, Elect{Round: 7, Term: 1, Msg: 9, Leader: n(1)})
	expect(t, "half a window more", s.Expire(timerWindow), "window in 10ms")
	windowEnds := driver.Event{Kind: driver.EventExpire, Timer: timerWindow}
	for range 3 {
		s.Receive(1, Elect{Round: 7, Term: 1, Msg: 9, Leader: n(1)}) // it still requests the round
		expect(t, "the window", unresponsive(s.Machine.Step(windowEnds)), "n3 requested no election and does not lead; "+
			"n4 requested no election and does not lead; n5 requested no election and does not lead")
	}
	if got := s.Machine.HardState(); got != (algo.HardState{Epoch: 6}) {
		t.Errorf("it saves %v", got)
	}
}

// unresponsive returns the servers that a step reports as unresponsive, and the reasons.
func unresponsive(effects *driver.Effects) string {
	var all []string
	for _, note := range effects.Notes {
		if !note.Unresponsive.IsZero() {
			all = append(all, name(note.Unresponsive)+" "+fmt.Sprint(note.Args[1]))
		}
	}
	return strings.Join(all, "; ")
}

// A voter that receives no Lead reports the server that it voted for. If it voted for itself, it
// reports the servers that did not vote for it.
func TestVoterReportsUnresponsivePeers(t *testing.T) {
	pauseEnds := driver.Event{Kind: driver.EventExpire, Timer: timerPause}
	s := alone(2, viewOf(5), Defaults(timing))
	s.Start(6)
	round(t, s, 10, 1)
	expect(t, "having voted for n1", unresponsive(s.Machine.Step(pauseEnds)), "n1 got the vote of this node but did not become leader")
	s = alone(1, viewOf(5), Defaults(timing))
	s.Start(6)
	for _, from := range []int{2, 3, 4, 5} {
		s.Receive(from, Elect{Round: 10})
	}
	s.Receive(3, Vote{10})
	expect(t, "having voted for itself", unresponsive(s.Machine.Step(pauseEnds)), "n2 did not vote; n4 did not vote; n5 did not vote")
}
