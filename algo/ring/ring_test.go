package ring

import (
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The protocol of the notes, step by step.

// "When P_i starts election: send election message with P_i's ⟨attr, i⟩ to ring
// successor. Set state to participating."
func TestStartingProcessSendsOwnToken(t *testing.T) {
	s := alone(2, viewOf(4))
	expect(t, "n2 starts", s.Start(0),
		"save 1; election in 120ms to 180ms; monitor n3; n3 <- election epoch=1 eligible=true id=n2 hops=1")
	s = alone(4, viewOf(4))
	expect(t, "n4 recovers", s.Start(6),
		"save 7; election in 120ms to 180ms; monitor n1; n1 <- election epoch=7 eligible=true id=n4 hops=1")
	s = follower(t, 2)
	expect(t, "n2 campaigns", s.Campaign(), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1")
}

// "If (attr_x, x) > (attr_j, j): forward message to successor, set state to
// participating."
func TestProcessForwardsHigherToken(t *testing.T) {
	s := follower(t, 2)
	expect(t, "a larger token", s.Receive(1, token(8, 4, 2)), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n4 hops=3")
	expect(t, "now n2 participates: a smaller one", s.Receive(1, token(8, 1, 1)), "")
	expect(t, "another larger one", s.Receive(1, token(8, 3, 3)), "election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n3 hops=4")
}

// "If (attr_x, x) < (attr_j, j): if not participating, send (election, ⟨attr_j, j⟩) to successor, set state to
// participating." Otherwise the token is dropped. The new token has the epoch of the received one.
func TestProcessReplacesOrDropsLowerToken(t *testing.T) {
	s := follower(t, 2)
	expect(t, "while n2 does not participate", s.Receive(1, token(8, 1, 1)), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n2 hops=1")
	s = alone(2, viewOf(4))
	s.Start(7)
	expect(t, "while n2 participates", s.Receive(1, token(8, 1, 1)), "")
}

// "If (attr_x, x) = (attr_j, j): P_j is the elected leader; send elected message
// containing P_j's id."
func TestProcessLeadsWhenOwnTokenReturns(t *testing.T) {
	s := alone(3, ranked(0, 0, 1, 0))
	s.Start(6)
	mine := Election{Epoch: 7, Eligible: true, Priority: 1, ID: n(3), Hops: 4}
	expect(t, "its own token", s.Receive(2, mine), "stop election; save in 10ms to 20ms; n4 <- elected epoch=7 id=n3 hops=1; announce n3 in 7")
	expect(t, "the same again", s.Receive(2, mine), "")
}

// "Elected message forwarded along the ring until it reaches the leader. Set state to
// not participating when an elected message is received."
func TestProcessFollowsAndForwardsElected(t *testing.T) {
	s := alone(2, viewOf(4))
	s.Start(6)
	s.Receive(1, token(7, 4, 1))
	expect(t, "elected", s.Receive(1, Elected{Epoch: 7, ID: n(4), Hops: 2}), "stop election; save in 10ms to 20ms; n3 <- elected epoch=7 id=n4 hops=3; announce n4 in 7")
	expect(t, "n2 no longer participates: the next token", s.Receive(1, token(8, 1, 1)),
		"save 8; election in 120ms to 180ms; stop save; n3 <- election epoch=8 eligible=true id=n2 hops=1")
	expect(t, "elected, of an unknown epoch", s.Receive(1, Elected{Epoch: 11, ID: n(4), Hops: 2}),
		"save 11; save in 10ms to 20ms; n3 <- elected epoch=11 id=n4 hops=3; announce n4 in 11")

	s = alone(4, viewOf(4))
	s.Start(6)
	s.Receive(3, token(7, 4, 4))
	expect(t, "it returns to the leader", s.Receive(3, Elected{Epoch: 7, ID: n(4), Hops: 4}), "")
}

// "Repair the ring. Stop forwarding message on failed process. Start a new run of
// leader election": if one was running, or the leader has failed. See handleRingChange.
func TestProcessSkipsFailedSuccessor(t *testing.T) {
	s := follower(t, 2)
	expect(t, "n3 fails", s.Suspect(3), "election in 120ms to 180ms; monitor n3 n4; n4 <- elected epoch=7 id=n4")
	expect(t, "a token", s.Receive(1, token(8, 4, 2)), "save 8; election in 120ms to 180ms; n4 <- election epoch=8 eligible=true id=n4 hops=3")
	expect(t, "n4, the leader, fails", s.Suspect(4),
		"save 9; election in 120ms to 180ms; monitor n1 n3 n4; n1 <- election epoch=9 eligible=true id=n2 hops=1; announce none in 7")
	expect(t, "n1 fails too", s.Suspect(1), "save 10; stop election; save in 10ms to 20ms; monitor n1 n3 n4; announce n2 in 10")
}

// "Multiple processes are allowed to call an election simultaneously. All of them
// together must yield only a single leader"; "the result of an election should not
// depend on which process calls for it".
func TestHighestLeadsWhicheverNodesCampaign(t *testing.T) {
	const size = 5
	for callers := 1; callers < 1<<size; callers++ {
		c := agreedCluster(t, ranked(2, 0, 4, 1, 3))
		for i := range size {
			if callers>>i&1 != 0 {
				c.Campaign(i + 1)
			}
		}
		c.Run(2 * size * T * 2)
		c.RequireAgreement(t)
		for i := range size {
			c.RequireLeader(t, i+1, leadership(2, 3))
		}
		c.Reset()
		c.Run(50 * T)
		if sum := algosim.Total(c.Sent); sum != 0 || c.Announcements != 0 {
			t.Errorf("callers %05b: %d messages after the election\n%s", callers, sum, c.Transcript())
		}
	}
}

// "A process can call for at most one election at a time."
func TestProcessRunsElectionsOneByOne(t *testing.T) {
	s := alone(2, viewOf(3))
	s.Start(6)
	expect(t, "it campaigns in an election", s.Campaign(), "")
}

// Rules that the sources leave open, where no failure occurs without
// them.

func TestProcessAloneLeads(t *testing.T) {
	s := alone(1, viewOf(1))
	expect(t, "the only member", s.Start(0), "save 1; save in 10ms to 20ms; monitor; announce n1 in 1")
	expect(t, "an unknown timer", s.Expire("another"), "")
	expect(t, "its timer", s.Expire(timerSave), "save 1 for n1")
	expect(t, "it campaigns", s.Campaign(), "save 2; save in 10ms to 20ms; announce n1 in 2")

	s = alone(1, viewOf(2))
	s.Start(0)
	expect(t, "the only one alive", s.Suspect(2), "save 2; stop election; save in 10ms to 20ms; monitor n2; announce n1 in 2")
	expect(t, "a token of a suspected candidate", s.Receive(2, token(2, 2, 1)), "save 3; announce n1 in 3")
	expect(t, "its Elected", s.Receive(2, Elected{Epoch: 3, ID: n(2), Hops: 1}), "save 4; announce n1 in 4")
}

func TestCandidatesAreOrderedByPriorityThenID(t *testing.T) {
	c := agreedCluster(t, ranked(1, 0, 1, 0))
	for i := range 4 {
		c.RequireLeader(t, i+1, leadership(1, 3))
	}
	c.DetectionTime = T
	c.Crash(3)
	c.Run(10 * T)
	c.RequireLeader(t, 2, leadership(2, 1))
	c.RequireAgreement(t)
}

func TestEligibleCandidateIsAboveWitness(t *testing.T) {
	view := witnessing(3, 3)
	s := alone(3, view)
	expect(t, "a witness starts", s.Start(6), "save 7; election in 90ms to 135ms; monitor n1; n1 <- election epoch=7 id=n3 hops=1")
	expect(t, "an eligible candidate is above it", s.Receive(2, token(7, 1, 2)), "election in 90ms to 135ms; n1 <- election epoch=7 eligible=true id=n1 hops=3")
	s = alone(1, view)
	s.Start(6)
	expect(t, "a witness is below an eligible candidate", s.Receive(3, Election{Epoch: 7, ID: n(3), Hops: 1}), "")

	c := agreedCluster(t, view)
	for i := range 3 {
		c.RequireLeader(t, i+1, leadership(1, 2))
	}
}

// If no process is eligible, a witness detects this, and its outcome ends the leadership at
// the others. Then the cluster is quiet.
func TestNoProcessLeadsIfNoneIsEligible(t *testing.T) {
	c := agreedCluster(t, witnessing(4, 1, 2, 4))
	c.RequireLeader(t, 1, leadership(1, 3))
	c.DetectionTime = T
	c.Crash(3)
	c.Run(20 * T)
	for _, i := range []int{1, 2, 4} {
		c.RequireLeader(t, i, algo.Leader{Epoch: 2})
	}
	c.Reset()
	c.Run(100 * T)
	if sum := algosim.Total(c.Sent); sum != 0 {
		t.Errorf("%d messages while no process is eligible\n%s", sum, c.Transcript())
	}
	c.Start(3)
	c.Run(20 * T)
	c.RequireAgreement(t)

	s := follower(t, 2)
	expect(t, "an eligible process contests it", s.Receive(1, Elected{Epoch: 8, Hops: 1}),
		"save 9; election in 120ms to 180ms; n3 <- elected epoch=8 hops=2; n3 <- election epoch=9 eligible=true id=n2 hops=1")
	s = alone(1, witnessing(1, 1))
	expect(t, "a witness alone", s.Start(0), "save 1; monitor; announce none in 1")
}

func TestIneligibleProcessIsNotFollowed(t *testing.T) {
	s := alone(1, witnessing(4, 3))
	s.Start(6)
	expect(t, "a witness", s.Receive(4, Elected{Epoch: 8, ID: n(3), Hops: 2}), "save 8; n2 <- elected epoch=8 id=n3 hops=3")
	expect(t, "a non-member", s.Receive(4, Elected{Epoch: 9, ID: n(9), Hops: 2}), "save 9; n2 <- elected epoch=9 id=n9 hops=3")
	expect(t, "it waits for another outcome", s.Expire(timerElection),
		"save 10; election in 120ms to 180ms; n2 <- election epoch=10 eligible=true id=n1 hops=1")
}

func TestProcessDropsOlderElected(t *testing.T) {
	s := follower(t, 2)
	expect(t, "of an older epoch", s.Receive(1, Elected{Epoch: 6, ID: n(4), Hops: 1}), "")
	expect(t, "of the same epoch and a lower ID", s.Receive(1, Elected{Epoch: 7, ID: n(3), Hops: 1}), "")
	expect(t, "the same again", s.Receive(1, Elected{Epoch: 7, ID: n(4), Hops: 1}), "")
}

// Each process monitors one other: N heartbeats in each interval.
func TestProcessMonitorsOnlyItsSuccessor(t *testing.T) {
	c := agreedCluster(t, viewOf(5))
	for i := 1; i <= 5; i++ {
		if got := c.Node(i).Monitored; len(got) != 1 || got[n(i%5+1)] {
			t.Errorf("n%d monitors %v, want its successor alone", i, got)
		}
	}
	c.Crash(5)
	c.Suspect(5, 4)
	if got := c.Node(4).Monitored; len(got) != 2 || !got[n(5)] || got[n(1)] {
		t.Errorf("n4 monitors %v, want n5, which it skips, and n1", got)
	}
}

func TestViewDefinesRing(t *testing.T) {
	three := algo.NewView(2, members(3)...)
	t.Run("the leader leaves", func(t *testing.T) {
		expect(t, "n2", follower(t, 2).Reconfigure(three),
			"save 8; election in 90ms to 135ms; monitor n3; n3 <- election epoch=8 eligible=true id=n2 hops=1; announce none in 7")
	})
	t.Run("the leader resigns", func(t *testing.T) {
		expect(t, "n2", follower(t, 2).Reconfigure(witnessing(4, 4)),
			"save 8; election in 120ms to 180ms; monitor n3; n3 <- election epoch=8 eligible=true id=n2 hops=1; announce none in 7")
		expect(t, "n4 itself", leading(t).Reconfigure(witnessing(4, 4)),
			"save 8; election in 120ms to 180ms; monitor n1; n1 <- election epoch=8 id=n4 hops=1; announce none in 7")
	})
	t.Run("the successor leaves", func(t *testing.T) {
		all := members(4)
		expect(t, "n2", follower(t, 2).Reconfigure(algo.NewView(2, all[0], all[1], all[3])),
			"save 8; election in 90ms to 135ms; monitor n4; n4 <- election epoch=8 eligible=true id=n2 hops=1")
	})
	t.Run("a higher member joins", func(t *testing.T) {
		s := leading(t)
		expect(t, "n4", s.Reconfigure(algo.NewView(2, members(5)...)),
			"save 8; election in 150ms to 225ms; monitor n5; n5 <- election epoch=8 eligible=true id=n4 hops=1")
	})
	t.Run("a follower is above its leader now", func(t *testing.T) {
		all := members(4)
		all[1].Priority = 1
		expect(t, "n2", follower(t, 2).Reconfigure(algo.NewView(2, all...)),
			"save 8; election in 120ms to 180ms; monitor n3; n3 <- election epoch=8 eligible=true priority=1 id=n2 hops=1")
	})
	t.Run("during an election", func(t *testing.T) {
		s := follower(t, 2)
		s.Campaign()
		expect(t, "n2", s.Reconfigure(witnessing(4, 1)), "save 9; election in 120ms to 180ms; monitor n3; n3 <- election epoch=9 eligible=true id=n2 hops=1")
	})
	t.Run("a change without effect", func(t *testing.T) {
		expect(t, "n2", follower(t, 2).Reconfigure(witnessing(4, 1)), "monitor n3")
	})
	t.Run("the whole cluster grows", func(t *testing.T) {
		c := newCluster(viewOf(4))
		for _, i := range []int{1, 2, 3} {
			c.Node(i).View = algo.NewView(0, members(3)...)
			c.Start(i)
		}
		c.Run(20 * T)
		c.Reconfigure(c.View, 2, 3, 1)
		c.Start(4)
		c.Run(20 * T)
		c.RequireAgreement(t)
	})
}

// The leader is saved some time after the outcome, and forgotten before the first message of the next epoch.
func TestLeaderIsSavedAfterElection(t *testing.T) {
	s := alone(2, viewOf(4))
	s.Start(6)
	s.Receive(1, token(7, 4, 2))
	expect(t, "the outcome", s.Receive(1, Elected{Epoch: 7, ID: n(4), Hops: 2}), "stop election; save in 10ms to 20ms; n3 <- elected epoch=7 id=n4 hops=3; announce n4 in 7")
	expect(t, "some time later", s.Expire(timerSave), "save 7 for n4")
	expect(t, "the next election", s.Receive(1, token(8, 4, 2)), "save 8; election in 120ms to 180ms; n3 <- election epoch=8 eligible=true id=n4 hops=3")

	s = alone(2, viewOf(5))
	s.Start(6)
	s.Receive(1, Elected{Epoch: 7, ID: n(4), Hops: 2})
	s.Expire(timerSave)
	expect(t, "a higher leader of the same epoch", s.Receive(1, Elected{Epoch: 7, ID: n(5), Hops: 1}),
		"save 7; save in 10ms to 20ms; n3 <- elected epoch=7 id=n5 hops=2; announce n5 in 7")
}

// "From leader election to leader death, the cluster's epoch does not change", and
// no message is sent.
func TestClusterIsQuietWhileLeaderLives(t *testing.T) {
	c := agreedCluster(t, viewOf(5))
	c.DetectionTime = T
	c.Run(1000 * T)
	for i := range 5 {
		c.RequireLeader(t, i+1, leadership(1, 5))
	}
	if sum := algosim.Total(c.Sent); sum != 0 || c.Announcements != 0 {
		t.Errorf("%d messages and %d announcements while no event occurs", sum, c.Announcements)
	}
}

func TestEpochIsSavedBeforeItIsSent(t *testing.T) {
	for moment, want := range map[string]struct {
		dieIn int
		saved algo.Epoch
		hears bool
	}{
		"before the save":         {1, 0, false},
		"after the save":          {2, 1, false},
		"after the first message": {3, 1, true},
	} {
		t.Run(moment, func(t *testing.T) {
			c := newCluster(viewOf(3))
			c.Node(3).CrashAfter = want.dieIn
			c.Start(3)
			if c.Node(3).Machine != nil || c.Node(3).Saved.Epoch != want.saved || (algosim.Total(c.Sent) > 0) != want.hears {
				t.Errorf("runs: %v, saved epoch %d, sent %d messages", c.Node(3).Machine != nil, c.Node(3).Saved.Epoch, algosim.Total(c.Sent))
			}
		})
	}
}

// A restarted process never sends a token in an epoch in which it has sent one before:
// the earlier token would make it leader.
func TestRestartStartsNewEpoch(t *testing.T) {
	s := alone(3, viewOf(3))
	expect(t, "n3 restarts", s.Start(6), "save 7; election in 90ms to 135ms; monitor n1; n1 <- election epoch=7 eligible=true id=n3 hops=1")
	expect(t, "its earlier token returns", s.Receive(2, token(6, 3, 3)), "")
}

// The highest process takes over when it recovers: its token informs the others, and their
// tokens inform it of the epoch.
func TestHighestTakesOverWhenItRecovers(t *testing.T) {
	c := agreedCluster(t, viewOf(4))
	c.DetectionTime = T
	c.Crash(4)
	c.Run(40 * T)
	c.RequireLeader(t, 1, leadership(2, 3))
	c.Start(4)
	c.Run(20 * T)
	c.RequireAgreement(t)
	c.Reset()
	c.Run(100 * T)
	if sum := algosim.Total(c.Sent); sum != 0 {
		t.Errorf("%d messages after that\n%s", sum, c.Transcript())
	}
}

// A clone shares no state that changes: an event of one has no effect on the
// other.
func TestCloneSharesNothing(t *testing.T) {
	s := alone(1, viewOf(5))
	s.Start(6)
	s.Suspect(2)
	for _, i := range []int{3, 4, 5} {
		s.Receive(5, token(8, i, 1))
		s.Receive(5, Elected{Epoch: 8, ID: n(i), Hops: 1})
	}
	before := s.Machine.Algorithm().Clone().(*process)
	clone := s.Clone()
	clone.Receive(5, token(8, 2, 1))
	clone.Trust(2)
	clone.Suspect(3)
	after := s.Machine.Algorithm().(*process)
	if !slices.Equal(after.seen, before.seen) ||
		!slices.Equal(after.suspected, before.suspected) {
		t.Errorf("an event of the clone changed the original: %+v, was %+v", after, before)
	}
}
