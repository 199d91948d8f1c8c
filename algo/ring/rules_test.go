package ring

import (
	"fmt"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules that no source has. Each prevents a failure, and a test shows that failure when
// the rule is removed: internal/mutants removes each rule and checks that its test
// fails.

// checkRun runs a cluster of size nodes. It fails the test if run returns a problem, or if a
// property was violated.
func checkRun(t *testing.T, size int, run func(c *algosim.Cluster) string) {
	t.Helper()
	c := algosim.New(spec, algosim.View(size))
	c.Tracing = true
	problem := run(c)
	if problem == "" {
		problem = c.Violation
	}
	if problem != "" {
		t.Errorf("%s\n%s", problem, c.Transcript())
	}
}

// quietAfter waits for d, and returns a problem if messages are still sent after that.
func quietAfter(c *algosim.Cluster, d time.Duration) string {
	c.Run(d)
	c.Reset()
	c.Run(100 * T)
	if sum := algosim.Total(c.Sent); sum != 0 {
		return fmt.Sprintf("%.0fT later there are %d messages in 100T", float64(d)/float64(T), sum)
	}
	return ""
}

// A process restarts its election timer whenever it sends or forwards an Election, even if it is no
// candidate. Without this rule, a process never learns the outcome if its Elected is lost.
func TestForwardingProcessWaitsForOutcome(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(20 * T)
		c.DropIf(func(_, to int, m algo.Message) bool { return to == 2 && m == Elected{Epoch: 2, ID: n(3), Hops: 2} })
		c.Campaign(3)
		return c.DisagreementAfter(50 * T)
	})
}

// Each started election has a new epoch. Without this rule, the token of a second election is
// confused with that of the first, which all processes have seen already.
func TestEachElectionHasItsEpoch(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.DropIf(func(from, _ int, _ algo.Message) bool { return from == 2 && c.Now < 5*T })
		c.StartAll()
		return c.DisagreementAfter(100 * T)
	})
}

// A newer epoch clears the participation and the forwarded tokens. Without this rule, a process
// that participated in a failed election cannot participate in the next.
func TestNewerEpochClearsParticipation(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(20 * T)
		c.Campaign(3)
		c.Run(10 * T)
		if got := c.Leader(2); got != leadership(2, 3) {
			return fmt.Sprintf("n2 follows %s in epoch %d, want n3 in epoch 2", name(got.ID), got.Epoch)
		}
		return c.Disagreement()
	})
}

// A token of an older epoch is not forwarded. Without this rule, the token of a candidate that has
// entered another epoch never returns.
func TestOlderTokenIsNotForwarded(t *testing.T) {
	s := follower(t, 2)
	s.Campaign()
	expect(t, "of a higher candidate, in an election", s.Receive(1, token(7, 4, 2)), "")
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.DetectionTime = T
		c.StartAll()
		c.Run(20 * T)
		c.Crash(3)
		c.Run(20 * T)
		c.Deliver(2, 1, token(1, 3, 1)) // of the crashed n3
		return quietAfter(c, 50*T)
	})
}

// A token of an older epoch during a newer election shows that elections are given up too early. From the next token,
// the timeout is 7/4 of the shortest one, until there is an outcome or for maxExtendedElections. Without this limit,
// other processes would start new elections before this one has seen the end of any.
func TestLateTokenExtendsTimeout(t *testing.T) {
	s := follower(t, 2)
	expect(t, "its outcome is known", s.Campaign(), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1")
	expect(t, "a token of the previous election", s.Receive(1, token(7, 3, 2)), "")
	expect(t, "a token of this one", s.Receive(1, token(8, 4, 2)), "election in 210ms; n3 <- election epoch=8 eligible=true id=n4 hops=3")
	s.Receive(1, Elected{Epoch: 8, ID: n(4), Hops: 2})
	expect(t, "after an outcome", s.Campaign(), "save 9; election in 120ms to 180ms; stop save; n3 <- election epoch=9 eligible=true id=n2 hops=1")

	s = follower(t, 2)
	s.Campaign()
	s.Receive(1, token(7, 3, 2))
	for e := algo.Epoch(9); e < 8+maxExtendedElections; e++ {
		s.Receive(1, token(e, 4, 2))
	}
	expect(t, "the seventh election since", s.Receive(1, token(15, 3, 2)), "election in 210ms; n3 <- election epoch=15 eligible=true id=n3 hops=3")
	expect(t, "the eighth", s.Receive(1, token(16, 4, 2)), "save 16; election in 120ms to 180ms; n3 <- election epoch=16 eligible=true id=n4 hops=3")
}

// An Election of an older epoch starts an election at a process that does not participate. Without
// this rule, a process that returns with an old epoch raises its epoch one by one, with a timeout
// for each.
func TestOlderTokenStartsElection(t *testing.T) {
	s := follower(t, 2)
	expect(t, "an older token", s.Receive(1, token(6, 1, 1)), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1")
	checkRun(t, 3, func(c *algosim.Cluster) string {
		for i := range 3 {
			c.Node(i + 1).Saved.Epoch = 1000
		}
		c.StartAll()
		c.Run(20 * T)
		c.Crash(3)
		c.Node(3).Saved = algo.HardState{} // as if restored from a backup
		c.Start(3)                         // before any process notices
		return c.DisagreementAfter(50 * T)
	})
}

// followed is the saved state of a process that follows n4 in epoch 7.
var followed = algo.HardState{Epoch: 7, Vote: n(4)}

// A follower that restarts follows the leader in its epoch. Without this rule, each restart of a follower ends a
// leadership.
func TestRestartedFollowerFollowsLeader(t *testing.T) {
	for _, detected := range []bool{false, true} {
		c := agreedCluster(t, viewOf(5))
		if detected {
			c.DetectionTime = T
		}
		for i := range 4 {
			c.Crash(i + 1)
			if detected {
				c.Run(20 * T)
			}
			c.Start(i + 1)
			c.Run(40 * T)
			for j := range 5 {
				c.RequireLeader(t, j+1, leadership(1, 5))
			}
		}
		c.Reset()
		c.Run(100 * T)
		if sum := algosim.Total(c.Sent); sum != 0 {
			t.Errorf("detected %v: %d messages after that\n%s", detected, sum, c.Transcript())
		}
	}
}

// A restarted process announces its saved leader once another process confirms it, and asks the next process if its
// successor is dead.
func TestSavedLeaderIsAnnouncedAfterReply(t *testing.T) {
	restarted := func() *algosim.Single {
		s := alone(2, viewOf(4))
		expect(t, "restart", s.StartFrom(followed), "election in 120ms to 180ms; monitor n3; n3 <- elected epoch=7 id=n4")
		return s
	}
	reply := Elected{Epoch: 7, ID: n(4), Hops: 1}

	s := restarted()
	expect(t, "n3 confirms it", s.Receive(3, reply), "stop election; announce n4 in 7")
	expect(t, "again", s.Receive(3, reply), "")
	expect(t, "a question of n1", s.Receive(1, Elected{Epoch: 7, ID: n(4)}), "n1 <- elected epoch=7 id=n4 hops=1")

	s = restarted()
	expect(t, "n1 has restarted too, and asks", s.Receive(1, Elected{Epoch: 7, ID: n(4)}), "")
	expect(t, "n3 confirms the leader", s.Receive(3, reply), "stop election; n1 <- elected epoch=7 id=n4 hops=1; announce n4 in 7")

	s = restarted()
	expect(t, "n3 follows a later leader", s.Receive(3, Elected{Epoch: 9, ID: n(4), Hops: 1}),
		"save 9; save in 10ms to 20ms; n3 <- elected epoch=9 id=n4 hops=2; announce n4 in 9")

	s = restarted()
	expect(t, "no reply", s.Expire(timerElection), "election in 120ms to 180ms; n3 <- elected epoch=7 id=n4")
	expect(t, "n3 is dead", s.Suspect(3), "election in 120ms to 180ms; monitor n3 n4; n4 <- elected epoch=7 id=n4")
	expect(t, "the leader is dead", s.Suspect(4), "save 8; election in 120ms to 180ms; monitor n1 n3 n4; n1 <- election epoch=8 eligible=true id=n2 hops=1; announce none in 7")
}

// Processes that restart together do not confirm each other a leader that is down.
func TestDeadLeaderIsNotAnnouncedAfterPowerCut(t *testing.T) {
	c := agreedCluster(t, viewOf(4))
	c.Crash(1, 2, 3, 4)
	c.DetectionTime = 10 * T
	c.Start(1, 2, 3)
	c.Run(9 * T)
	for i := range 3 {
		c.RequireLeader(t, i+1, algo.Leader{})
	}
	if problem := c.DisagreementAfter(40 * T); problem != "" {
		t.Errorf("%s\n%s", problem, c.Transcript())
	}
	c.RequireLeader(t, 1, leadership(2, 3))
}

// If all followers restart together, the reply of the leader reaches each of them, from successor to predecessor.
func TestRestartedFollowersLearnLeaderInTurn(t *testing.T) {
	c := agreedCluster(t, viewOf(5))
	c.Crash(1, 2, 3, 4)
	c.Start(1, 2, 3, 4)
	c.Run(5 * T)
	for i := range 5 {
		c.RequireLeader(t, i+1, leadership(1, 5))
	}
	if sent := algosim.Total(c.Sent); sent != 8 {
		t.Errorf("%d messages, want a question and a reply of each\n%s", sent, c.Transcript())
	}
}

// A restarted process starts an election if it saved no leader that it could follow. Without a saved leader it may have
// crashed during an election.
func TestProcessResumesWithSavedLeaderOnly(t *testing.T) {
	electsIn := func(e algo.Epoch) string {
		return fmt.Sprintf("save %d; election in 120ms to 180ms; monitor n3; n3 <- election epoch=%[1]d eligible=true id=n2 hops=1", e)
	}
	for what, saved := range map[string]algo.HardState{
		"no leader":              {Epoch: 7},
		"a leader that has left": {Epoch: 7, Vote: n(5)},
		"a lower leader":         {Epoch: 7, Vote: n(1)},
		"itself":                 {Epoch: 7, Vote: n(2)},
	} {
		expect(t, what, alone(2, viewOf(4)).StartFrom(saved), electsIn(8))
	}
	s := alone(2, algo.NewView(0, members(4)...).WithTerm(9))
	expect(t, "a view of a later epoch", s.StartFrom(followed), electsIn(10))
}

// A process that has resumed follows no leader below the saved one, and lets no token of that epoch pass: it has
// forgotten which tokens it has forwarded.
func TestResumedProcessStartsNewEpoch(t *testing.T) {
	for what, m := range map[string]algo.Message{
		"the token of the leader":  token(7, 4, 1),
		"a lower token":            token(7, 1, 1),
		"the token of a candidate": Election{Epoch: 7, Eligible: true, Priority: 1, ID: n(1), Hops: 1},
	} {
		s := alone(2, viewOf(4))
		s.StartFrom(followed)
		got := s.Receive(1, m)
		if want := "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1"; got != want {
			t.Errorf("%s:\n got %q\nwant %q", what, got, want)
		}
	}
	s := alone(2, ranked(0, 0, 9, 1))
	s.StartFrom(algo.HardState{Epoch: 7, Vote: n(3)})
	expect(t, "a lower leader", s.Receive(1, Elected{Epoch: 7, ID: n(4), Hops: 1}),
		"save 8; election in 120ms to 180ms; n3 <- elected epoch=7 id=n4 hops=2; n3 <- election epoch=8 eligible=true id=n2 hops=1")
}

// An Election of an epoch that has an outcome starts a new election. Without this rule, it is handled as
// part of the election that has ended: the processes that it makes participate wait until a
// timer expires.
func TestTokenAfterOutcomeStartsElection(t *testing.T) {
	s := follower(t, 2)
	expect(t, "of a lower candidate", s.Receive(1, token(7, 1, 1)), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1")
	s = follower(t, 1)
	expect(t, "of a candidate above the leader", s.Receive(4, Election{Epoch: 7, Eligible: true, Priority: 1, ID: n(5), Hops: 1}),
		"save 8; election in 120ms to 180ms; n2 <- election epoch=8 eligible=true id=n1 hops=1")

	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.Delay = func(_, _ int, m algo.Message) (time.Duration, bool) {
			if m == token(1, 1, 1) {
				return 7 * T, true // the outcome overtakes it
			}
			return T, true
		}
		c.StartAll()
		return quietAfter(c, 15*T)
	})
}

// The predecessor of a crashed candidate removes its token and starts an election. Without this
// rule, that token keeps lower candidates out of the epoch, if
// the election that replaces it has the same epoch.
func TestTokenOfSuspectedCandidateIsRemoved(t *testing.T) {
	checkRun(t, 4, func(c *algosim.Cluster) string {
		c.View = ranked(0, 1, 0, 2)
		for i := range 4 {
			c.Node(i + 1).View = c.View
		}
		c.DetectionTime = 2 * T
		c.StartAll()
		c.Run(30 * T)
		c.Campaign(4)
		c.Crash(4) // n2 forwards its token, and will drop that of n3
		return c.DisagreementAfter(11 * T)
	})
}

// A process monitors its successor and all processes that it skipped. Without the second part, it
// skips them forever.
func TestSkippedProcessIsMonitored(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.DetectionTime = T
		c.StartAll()
		c.Run(20 * T)
		c.Crash(3)
		c.Run(20 * T)
		c.Start(3)
		return c.DisagreementAfter(50 * T)
	})
}

// Whenever its successor changes, a process sends it the outcome. Without
// this rule, two leaders do not detect each other after a partition heals.
func TestNewSuccessorIsInformed(t *testing.T) {
	t.Run("after a partition", func(t *testing.T) {
		checkRun(t, 4, func(c *algosim.Cluster) string {
			c.StartAll()
			c.Run(20 * T)
			c.DropIf(func(from, to int, _ algo.Message) bool { return (from <= 2) != (to <= 2) })
			c.Suspect(3, 2)
			c.Suspect(4, 2)
			c.Suspect(1, 4)
			c.Suspect(2, 4)
			c.Campaign(1)
			c.Run(30 * T)
			if got := c.Leaders(); got != 2 {
				return fmt.Sprintf("%d leaders under a partition, want one on each side", got)
			}
			c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
			c.Trust(1, 4)
			c.Trust(3, 2)
			return c.DisagreementAfter(20 * T)
		})
	})
	t.Run("after a pause", func(t *testing.T) {
		checkRun(t, 3, func(c *algosim.Cluster) string {
			c.DetectionTime = T
			c.StartAll()
			c.Run(20 * T)
			c.Pause(3)
			c.Run(5 * T)
			c.Campaign(2) // n2 may have started one already
			c.Run(30 * T)
			if got := c.Leaders(); got != 2 {
				return fmt.Sprintf("%d leaders, want two: n2, and n3, which is paused", got)
			}
			c.Resume(3)
			return c.DisagreementAfter(20 * T)
		})
	})
}

// A process with a new successor sends it the outcome without an election. If it started one, each link between two
// followers that breaks or recovers would end the work of the leader.
func TestBrokenLinkEndsNoLeadership(t *testing.T) {
	checkRun(t, 4, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(20 * T)
		for i := 1; i <= 4; i++ {
			if next := i%4 + 1; next != 4 { // a process that suspects the leader must elect another
				c.Suspect(next, i)
				c.Run(20 * T)
				c.Trust(next, i)
				c.Run(20 * T)
			}
		}
		for i := 1; i <= 4; i++ {
			if got := c.Leader(i); got != leadership(1, 4) {
				return fmt.Sprintf("n%d follows %s in epoch %d, want n4 in epoch 1", i, name(got.ID), got.Epoch)
			}
		}
		return quietAfter(c, 0)
	})
}

// A process sends the outcome to its successor until it gets a reply. The successor replies with the outcome
// that it knows.
func TestInformedSuccessorReplies(t *testing.T) {
	s := follower(t, 2)
	s.Suspect(3)
	expect(t, "n4 is silent", s.Expire(timerElection), "election in 120ms to 180ms; n4 <- elected epoch=7 id=n4")
	expect(t, "n4 knows", s.Receive(4, Elected{Epoch: 7, ID: n(4), Hops: 1}), "stop election")
	expect(t, "n1 knows", s.Receive(1, Elected{Epoch: 7, ID: n(4)}), "n1 <- elected epoch=7 id=n4 hops=1")
	expect(t, "n1 is behind", s.Receive(1, Elected{Epoch: 6, ID: n(3)}), "n1 <- elected epoch=7 id=n4 hops=1")
	expect(t, "n1 is ahead", s.Receive(1, Elected{Epoch: 9, ID: n(4)}),
		"save 9; election in 120ms to 180ms; save in 10ms to 20ms; n4 n1 <- elected epoch=9 id=n4 hops=1; announce n4 in 9")
}

// A process that receives an outcome that it did not wait for sends it to its successor until it gets a reply. Without
// this rule, the processes behind a lost message follow the previous leader forever.
func TestUnexpectedOutcomeArrives(t *testing.T) {
	checkRun(t, 4, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(20 * T)
		c.DropIf(func(from, to int, _ algo.Message) bool { return (from == 1 || from == 4) != (to == 1 || to == 4) })
		c.Suspect(2, 1)
		c.Suspect(3, 1)
		c.Campaign(4)
		c.Run(20 * T)
		healed := c.Now
		c.DropIf(func(from, to int, _ algo.Message) bool { return from == 2 && to == 3 && c.Now < healed+5*T })
		c.Trust(2, 1)
		return c.DisagreementAfter(50 * T)
	})
}

// A process that forwarded a token follows no process below that candidate in the same epoch. Two candidates can win in
// one epoch if the ring changes between their tokens. A process that followed the lower one would no longer wait. If
// the outcome of the other is lost, it would follow the lower one forever.
func TestProcessBelowForwardedCandidateIsNotFollowed(t *testing.T) {
	s := alone(1, viewOf(4))
	s.Start(6)
	s.Receive(4, token(7, 4, 1))
	expect(t, "a lower process", s.Receive(4, Elected{Epoch: 7, ID: n(3), Hops: 1}),
		"save 8; election in 120ms to 180ms; n2 <- elected epoch=7 id=n3 hops=2; n2 <- election epoch=8 eligible=true id=n1 hops=1")
}

// Each message of one epoch, candidate and kind is forwarded once, over at most 2N hops, and the
// token of a suspected candidate is removed. Without these three rules, a token circulates forever
// if its candidate has crashed or is bypassed. Each token restarts the timers, so no timer ends this.
func TestNoMessageCirculatesForever(t *testing.T) {
	orphan := func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(20 * T)
		c.Suspect(3, 2) // falsely: n2 leads in epoch 2, with n1
		c.Run(20 * T)
		c.Campaign(3)
		c.Crash(3) // its token goes n1, n2, n1, …
		return quietAfter(c, 100*T)
	}
	checkRun(t, 3, orphan)
	s := alone(1, viewOf(4))
	s.Start(6)
	expect(t, "a token that went round twice", s.Receive(4, token(7, 2, 8)), "")
	expect(t, "an Elected that did so is accepted", s.Receive(4, Elected{Epoch: 7, ID: n(2), Hops: 8}), "stop election; save in 10ms to 20ms; announce n2 in 7")
}

// An Elected for a lower or suspected process is forwarded, and starts an election.
func TestElectedIsContested(t *testing.T) {
	s := follower(t, 3)
	expect(t, "a lower process", s.Receive(2, Elected{Epoch: 9, ID: n(2), Hops: 1}),
		"save 10; election in 120ms to 180ms; n4 <- elected epoch=9 id=n2 hops=2; n4 <- election epoch=10 eligible=true id=n3 hops=1")
	s = follower(t, 3)
	s.Suspect(4)
	expect(t, "a suspected process", s.Receive(2, Elected{Epoch: 9, ID: n(4), Hops: 3}),
		"save 10; election in 120ms to 180ms; n1 <- elected epoch=9 id=n4 hops=4; n1 <- election epoch=10 eligible=true id=n3 hops=1")
}

// A process follows a candidate after it has forwarded its token, even if it is lower in an older view.
// Without this rule, every Elected is contested for as long as the views differ.
func TestTokenOverridesOlderView(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.Node(1).View = ranked(1, 0, 0) // n2 and n3 do not know the priority of n1
		c.StartAll()
		if problem := quietAfter(c, 50*T); problem != "" {
			return problem
		}
		for i := range 3 {
			if got := c.Leader(i + 1); got.ID != n(1) {
				return fmt.Sprintf("n%d follows %s", i+1, name(got.ID))
			}
		}
		c.View = algo.NewView(2, ranked(1, 0, 0).At(0), viewOf(3).At(1), viewOf(3).At(2))
		c.Reconfigure(c.View, 1, 2, 3)
		return c.DisagreementAfter(20 * T)
	})
}

// The failures of a naive ring, each with every initiator and at every moment. Once the crash is detected, the
// remaining processes must agree and be quiet as fast as after an election of their own.

// requireElectionAfterCrash runs an election in a ring of five, which node start starts. Node victim crashes after the
// given time, and the detector suspects it 2T later.
func requireElectionAfterCrash(t *testing.T, start, victim int, after time.Duration) {
	t.Helper()
	if _, problem := electWithCrash(start, victim, after, false); problem != "" {
		c, _ := electWithCrash(start, victim, after, true)
		t.Fatalf("n%d starts, n%d crashes after %v: %s\n%s", start, victim, after, problem, c.Transcript())
	}
}

func electWithCrash(start, victim int, after time.Duration, tracing bool) (c *algosim.Cluster, problem string) {
	const size, detect = 5, 2 * T
	c = newCluster(ranked(0, 3, 1, 4, 2))
	c.Tracing = tracing
	c.StartAll()
	c.Run(5 * size * T)
	c.DetectionTime = detect
	c.Campaign(start)
	c.At(c.Now+after, func() { c.Crash(victim) })
	if problem := c.DisagreementAfter(after + detect + 3*(size-1)*T); problem != "" {
		return c, problem
	}
	if problem := quietAfter(c, 0); problem != "" {
		return c, problem
	}
	return c, c.Violation
}

func eachMoment(f func(start int, after time.Duration)) {
	for start := 1; start <= 5; start++ {
		for after := time.Duration(0); after <= 16*T; after += T / 2 {
			f(start, after)
		}
	}
}

// The leader crashes before its Elected returns. A naive ring forwards this Elected forever.
func TestElectedProcessCrashes(t *testing.T) {
	eachMoment(func(start int, after time.Duration) { requireElectionAfterCrash(t, start, 4, after) })
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.DetectionTime = T / 2
		c.StartAll()
		c.At(7*T/2, func() { c.Crash(3) }) // it has sent Elected
		c.Run(20 * T)
		return c.DisagreementAfter(0) + quietAfter(c, 0)
	})
}

// The initiator crashes, and its token is never removed. In a naive ring, participating in its election
// keeps all processes out of the next.
func TestInitiatorCrashes(t *testing.T) {
	eachMoment(func(start int, after time.Duration) { requireElectionAfterCrash(t, start, start, after) })
}

// A token is lost with the process that holds it.
func TestTokenHolderCrashes(t *testing.T) {
	eachMoment(func(start int, after time.Duration) {
		for holder := 1; holder <= 5; holder++ {
			requireElectionAfterCrash(t, start, holder, after)
		}
	})
}

// If no suspicion ends an election that has lost its token, a timer does.
func TestLostTokenEndsWithTimer(t *testing.T) {
	for lost := 1; lost <= 10; lost++ { // the election takes 10 messages
		c := agreedCluster(t, viewOf(5))
		sent := 0
		c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) {
			sent++
			return T, sent != lost
		}
		c.Campaign(5)
		c.Run((2*5 + 15 + 3*5) * T)
		c.RequireAgreement(t)
	}
}

// Two concurrent elections with different epochs: the newer one wins, and the older one leaves
// no state behind.
func TestTwoConcurrentElections(t *testing.T) {
	for first := 1; first <= 5; first++ {
		for second := 1; second <= 5; second++ {
			for after := time.Duration(0); after <= 10*T; after += T / 2 {
				c := newCluster(viewOf(5))
				for i := range 5 {
					c.Node(i + 1).Saved.Epoch = algo.Epoch(10 * (i + 1) % 30)
				}
				c.Start(first)
				c.At(after, func() {
					for i := 1; i <= 5; i++ {
						if i != first {
							c.Start(i)
						}
					}
					c.Campaign(second)
				})
				c.Run(60 * T)
				c.RequireAgreement(t)
				c.Reset()
				c.Run(100 * T)
				if sum := algosim.Total(c.Sent); sum != 0 {
					t.Fatalf("n%d starts before n%d: %d messages after the election\n%s", first, second, sum, c.Transcript())
				}
			}
		}
	}
}

// A process that receives nothing from its successor, because of a one-way cut, skips it, and uses it again after the
// heal.
func TestOneWayCutHeals(t *testing.T) {
	for deaf := 1; deaf <= 4; deaf++ {
		for mute := 1; mute <= 4; mute++ {
			if deaf == mute {
				continue
			}
			c := agreedCluster(t, viewOf(4))
			c.DropIf(func(from, to int, _ algo.Message) bool { return from == mute && to == deaf })
			c.Suspect(mute, deaf)
			c.Run(40 * T)
			c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
			c.Trust(mute, deaf)
			c.Run(40 * T)
			c.RequireAgreement(t)
			c.Reset()
			c.Run(100 * T)
			if sum := algosim.Total(c.Sent); sum != 0 {
				t.Errorf("n%d did not hear n%d: %d messages after the heal\n%s", deaf, mute, sum, c.Transcript())
			}
		}
	}
}

// A member may return with a much higher epoch than the others have. Whichever process receives its message,
// later elections succeed.
func TestMessageOfMuchLaterEpoch(t *testing.T) {
	const size = 4
	for _, ahead := range []algo.Epoch{1 << 32, algo.MaxEpoch / 2} {
		e := ahead + 2 // all have saved epoch 2
		for _, m := range []algo.Message{
			token(e, 1, 1), token(e, 4, 1), token(e, 4, 99), Elected{Epoch: e, ID: n(1), Hops: 1}, Elected{Epoch: e, ID: n(1), Hops: 99},
		} {
			for to := 2; to <= size; to++ {
				c := agreedCluster(t, viewOf(size))
				c.Deliver(1, to, m)
				c.Run(200 * T)
				c.Crash(4)
				c.Suspect(4, 3)
				if problem := c.DisagreementAfter(200 * T); problem != "" {
					t.Errorf("n%d hears %v from n1: %s\n%s", to, m, problem, c.Transcript())
				}
			}
		}
	}
}

// A sender of forged candidates does not fill the memory, and does not prevent an election in
// the next epoch.
func TestForgedCandidatesAreForgotten(t *testing.T) {
	const size = 4
	for _, made := range []func(i int) algo.Message{
		func(i int) algo.Message {
			return Election{Epoch: 8, Eligible: true, Priority: 1, ID: algosim.ID(100 + i), Hops: 1}
		},
		func(i int) algo.Message { return Elected{Epoch: 8, ID: algosim.ID(100 + i), Hops: 1} },
	} {
		s := follower(t, 2)
		for i := range 1000 {
			s.Receive(1, made(i))
		}
		p := s.Machine.Algorithm().(*process)
		if most := 2 * size; len(p.seen) > most {
			t.Errorf("%T: %d candidates are recorded, want at most %d", made(0), len(p.seen), most)
		}
		s.Receive(1, token(9, 4, 1))
		expect(t, "the outcome", s.Receive(1, Elected{Epoch: 9, ID: n(4), Hops: 2}),
			"stop election; save in 10ms to 20ms; n3 <- elected epoch=9 id=n4 hops=3; announce n4 in 9")
	}
}

// A failed election reports the process that it probably waited for, here at n2 of four.
func TestFailedElectionReportsUnresponsivePeer(t *testing.T) {
	for what, test := range map[string]struct {
		happens func(s *algosim.Single)
		want    string
	}{
		"no token arrived":           {func(*algosim.Single) {}, "misses n1, which forwarded no token"},
		"the token of n1 arrived":    {func(s *algosim.Single) { s.Receive(1, token(7, 1, 1)) }, "misses n3, which has the token of this node, which did not return"},
		"those of n3 and n4 arrived": {func(s *algosim.Single) { s.Receive(1, token(7, 3, 1)); s.Receive(1, token(7, 4, 1)) }, "misses n4, which sent its token around but did not become leader"},
	} {
		s := alone(2, viewOf(4))
		s.Start(6)
		test.happens(s)
		notes := s.Machine.Step(driver.Event{Kind: driver.EventExpire, Timer: timerElection}).Notes
		expect(t, what, fmt.Sprintf(notes[0].Format, name(notes[0].Unresponsive), notes[0].Args[1]), test.want)
	}
}

// A leader with a lowered priority starts an election itself, even if it stays the highest. A follower that did not get
// the view with the raised priority sees no decrease, and starts none.
func TestLoweredLeaderStartsElection(t *testing.T) {
	raised := func(priority int) algo.View {
		all := members(4)
		all[3].Priority = priority
		return algo.NewView(uint64(10-priority), all...)
	}
	s := leading(t)
	expect(t, "n4, raised", s.Reconfigure(raised(2)), "monitor n1")
	expect(t, "n4, lowered", s.Reconfigure(raised(1)), "save 8; election in 120ms to 180ms; monitor n1; n1 <- election epoch=8 eligible=true priority=1 id=n4 hops=1")
	expect(t, "n2, which follows it", follower(t, 2).Reconfigure(raised(1)), "monitor n3")
}
