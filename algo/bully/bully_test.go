package bully

import (
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules of the algorithm as the readme states them, by number.

// Rule 1: "If P has the highest process id, it sends a Victory message to all other
// processes and becomes the new Coordinator. Otherwise, P broadcasts an Election
// message to all other processes with higher process IDs than itself."
func TestRule1HighestProcessLeads(t *testing.T) {
	s := alone(3, viewOf(3), Defaults(timing))
	expect(t, "the highest starts, and inquires first", s.Start(0), "answer in 20ms; monitor n1 n2; n1 n2 <- inquiry")
	expect(t, "no peer knows a newer epoch", replyToInquiry(s, 3, viewOf(3)),
		"save 1; stop answer; announce in 100ms; monitor; n1 n2 <- coordinator epoch=1 leader=n3; announce n3 in 1")
	expect(t, "it campaigns", s.Campaign(), "save 2; monitor; n1 n2 <- coordinator epoch=2 leader=n3; announce n3 in 2")
}

func TestRule1OthersSendElectionToHigher(t *testing.T) {
	const sendsElections = "answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=6"
	s := alone(2, viewOf(4), Defaults(timing))
	expect(t, "n2 recovers", s.Start(6), sendsElections)

	s = follower(t, 2, 4, viewOf(4))
	expect(t, "n2 suspects its leader", s.Suspect(4), "save 8; head-start in 10ms; monitor n3 n4; announce none in 7")
	expect(t, "n3 does not become leader", s.Expire("head-start"), "answer in 20ms; monitor n3 n4; n3 <- election epoch=7")
}

// Rule 2: "If P receives no Answer after sending an Election message, then it
// broadcasts a Victory message to all other processes and becomes the Coordinator."
func TestRule2ProcessWithoutAnswerLeads(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "no answer", s.Expire("answer"), "stop answer; answer in 20ms; monitor n1 n3; n1 <- inquiry")
	expect(t, "no reply from below either", s.Expire("answer"),
		"save 7; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=7 leader=n2; announce n2 in 7")
}

// Rule 3: "If P receives an Answer from a process with a higher ID, it sends no
// further messages for this election and waits for a Victory message. (If there is
// no Victory message after a period of time, it restarts the process at the
// beginning.)"
func TestRule3ProcessWithAnswerWaits(t *testing.T) {
	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "an answer", s.Receive(2, Answer{6}), "stop answer; coordinator in 40ms")
	expect(t, "another answer", s.Receive(3, Answer{6}), "")
	expect(t, "no victory", s.Expire("coordinator"),
		"stop coordinator; answer in 20ms; monitor n2 n3; n2 n3 <- election epoch=6")
}

func TestRule3OnlyAnswersFromHigherCount(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "an answer from below", s.Receive(1, Answer{6}), "")
	s.Expire("answer")
	expect(t, "no answer from above", replyToInquiry(s, 2, viewOf(3)),
		"save 7; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=7 leader=n2; announce n2 in 7")
}

// Rule 4: "If P receives an Election message from another process with a lower ID it
// sends an Answer message back and starts the election process at the beginning, by
// sending an Election message to higher-numbered processes."
func TestRule4ElectionFromLowerGetsAnswer(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	expect(t, "an election from below", s.Receive(1, Election{7}),
		"answer in 20ms; monitor n3 n4; n1 <- answer epoch=7; n3 n4 <- election epoch=7")
	expect(t, "the leader stays announced until there is another", s.Receive(4, Coordinator{Epoch: 8, Leader: n(4)}),
		"save 8; stop answer; monitor n4; announce n4 in 8")
}

func TestRule4ElectionFromHigherGetsNoAnswer(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	expect(t, "an election from above", s.Receive(3, Election{9}), "save 9")
}

// Rule 5: "If P receives a Coordinator message, it treats the sender as the
// coordinator."
func TestRule5ProcessFollowsCoordinator(t *testing.T) {
	follows := func(stop string) string { return "save 7; " + stop + "monitor n3; announce n3 in 7" }
	news := Coordinator{Epoch: 7, Leader: n(3)}

	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "while it waits for answers", s.Receive(3, news), follows("stop answer; "))

	s = alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Receive(2, Answer{6})
	expect(t, "while it waits for a coordinator", s.Receive(3, news), follows("stop coordinator; "))
	expect(t, "when it already follows that leader", s.Receive(3, news), "")
	expect(t, "a periodic one", s.Receive(3, algo.Periodic{Message: Coordinator{Epoch: 7, Leader: n(3)}}), "")
	expect(t, "of a newer epoch", s.Receive(3, Coordinator{Epoch: 8, Leader: n(3)}), "save 8; monitor n3; announce n3 in 8")

	s = leading(t, 2, viewOf(3))
	expect(t, "a leader that is replaced", s.Receive(3, Coordinator{Epoch: 8, Leader: n(3)}),
		"save 8; stop announce; monitor n3; announce n3 in 8")
	expect(t, "it no longer announces itself", s.Expire("announce"), "")
}

// The implementation notes of the readme, by number. (1 has its test in cluster, where IDs
// are drawn; 6 and 10 have theirs in transport.)

// Note 2: "As an invariant, the process ID does not change during the lifetime of a
// process."
func TestNote2IDSurvivesRestart(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.Start(3)
	c.Run(4 * T)
	c.RequireLeader(t, 1, leadership(2, 3))
}

// Note 3: "The lifetime of a process will be denoted by an epoch stamped on all the members
// in a cluster." The epoch is that of the leader; each member follows and saves it.
func TestNote3AllMembersKeepEpoch(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 5)
	c.DetectionTime = T
	for incarnation, survivors := range []int{5, 4, 3} {
		epoch := algo.Epoch(incarnation + 1)
		for i := 1; i <= survivors; i++ {
			c.RequireLeader(t, i, leadership(epoch, survivors))
			if got := c.Node(i).Saved.Epoch; got != epoch {
				t.Errorf("n%d keeps epoch %d while n%d leads in %d", i, got, survivors, epoch)
			}
		}
		c.Crash(survivors)
		c.Run(4 * T)
	}
}

// Note 4: "From leader election to leader death, the cluster's epoch does not
// change. A new round bumps the cluster's epoch."
func TestNote4EpochLastsAsLongAsLeader(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 5)
	c.DetectionTime = T
	c.Run(1000 * T)
	for i := range 5 {
		c.RequireLeader(t, i+1, leadership(1, 5))
	}
	if sum := algosim.Total(c.Sent); sum != 0 || c.Periodic == 0 {
		t.Errorf("%d other and %d periodic messages while no event occurs, want only periodic ones", sum, c.Periodic)
	}
	c.Crash(5)
	c.Run(4 * T)
	for i := range 4 {
		c.RequireLeader(t, i+1, leadership(2, 4))
	}
}

// Note 5: epochs "are/can be saved in persistent storage". A process saves an epoch before it sends anything that
// depends on it: a process that crashes right after the save has sent nothing, and a process that crashes after its
// first message has saved.
func TestNote5EpochIsSavedBeforeItIsSent(t *testing.T) {
	for moment, want := range map[string]struct {
		dieIn int
		saved algo.Epoch
		n1    algo.Leader // leader of n1 after the crash
		after algo.Leader // leader of n1 once n3 is back
	}{
		"before the save":         {1, 1, leadership(1, 3), leadership(2, 3)},
		"after the save":          {2, 2, leadership(1, 3), leadership(3, 3)},
		"after the first message": {3, 2, leadership(2, 3), leadership(3, 3)},
	} {
		t.Run(moment, func(t *testing.T) {
			c := agreedCluster(t, Defaults(timing), 3)
			c.Node(3).CrashAfter = want.dieIn
			c.Campaign(3)
			if c.Node(3).Machine != nil {
				t.Fatal("n3 did not crash")
			}
			if got := c.Node(3).Saved.Epoch; got != want.saved {
				t.Errorf("n3 saved epoch %d, want %d", got, want.saved)
			}
			c.Run(2 * T)
			c.RequireLeader(t, 1, want.n1)
			c.Start(3)
			c.Run(4 * T)
			c.RequireLeader(t, 1, want.after)
			c.RequireAgreement(t)
		})
	}
}

// Note 7: "addition/removal of cluster members will be broadcasted to all processes
// participating in leader election."
func TestNote7MembersJoinAndLeave(t *testing.T) {
	three := members(3)
	witness := func(i int) algo.View {
		all := members(4)
		all[i-1].Eligible = false
		return algo.NewView(2, all...)
	}
	t.Run("the leader leaves", func(t *testing.T) {
		s := follower(t, 1, 4, viewOf(4))
		expect(t, "n1", s.Reconfigure(algo.NewView(2, three...)),
			"head-start in 10ms; monitor n3; announce none in 7")
	})
	t.Run("the leader resigns", func(t *testing.T) {
		s := follower(t, 3, 4, viewOf(4))
		expect(t, "n3", s.Reconfigure(witness(4)),
			"save 8; announce in 100ms; monitor; n1 n2 n4 <- coordinator epoch=8 leader=n3; "+
				"announce none in 7; announce n3 in 8")
		s = leading(t, 4, viewOf(4))
		expect(t, "n4", s.Reconfigure(witness(4)),
			"stop announce; head-start in 10ms; monitor n3; announce none in 7")
	})
	t.Run("a resigned member returns", func(t *testing.T) {
		s := alone(4, witness(4), Defaults(timing))
		s.Start(6)
		s.Receive(3, Coordinator{Epoch: 7, Leader: n(3)})
		expect(t, "n4", s.Reconfigure(algo.NewView(3, members(4)...)),
			"save 8; announce in 100ms; monitor; n1 n2 n3 <- coordinator epoch=8 leader=n4; announce n4 in 8")
	})
	t.Run("the last pending member leaves", func(t *testing.T) {
		s := alone(3, viewOf(4), Defaults(timing))
		s.Start(6)
		expect(t, "n3", s.Reconfigure(algo.NewView(2, three...)), "stop answer; answer in 20ms; monitor n1 n2; n1 n2 <- inquiry")
		expect(t, "n3 receives a reply", replyToInquiry(s, 3, algo.NewView(2, three...)),
			"save 7; stop answer; announce in 100ms; monitor; n1 n2 <- coordinator epoch=7 leader=n3; announce n3 in 7")
	})
	t.Run("the last member that answered leaves", func(t *testing.T) {
		s := alone(2, viewOf(4), Defaults(timing))
		s.Start(6)
		s.Receive(4, Answer{6})
		expect(t, "n2", s.Reconfigure(algo.NewView(2, three...)),
			"stop coordinator; answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
	t.Run("a lower member joins", func(t *testing.T) {
		s := leading(t, 3, algo.NewView(1, three[1:]...))
		expect(t, "n3", s.Reconfigure(algo.NewView(2, three...)), "monitor")
		expect(t, "n3 receives an election", s.Receive(1, Election{0}), "n1 <- coordinator epoch=7 leader=n3")
	})
	t.Run("a change without effect", func(t *testing.T) {
		s := follower(t, 1, 4, viewOf(4))
		expect(t, "n1", s.Reconfigure(witness(2)), "monitor n4")
	})
	t.Run("the whole cluster grows", func(t *testing.T) {
		c := newCluster(Defaults(timing), viewOf(4))
		old := algo.NewView(0, three...)
		for _, i := range []int{1, 2, 3} {
			c.Node(i).View = old
			c.Start(i)
		}
		c.Run(5 * T)
		c.Reconfigure(c.View, 2, 3, 1)
		c.Start(4)
		c.Run(3 * T)
		c.RequireAgreement(t)
	})
}

// Note 8: "a heartbeat-based failure detector is provided". The algorithm decides what it
// monitors: a follower its leader, a leader no process.
func TestNote8FollowerMonitorsOnlyItsLeader(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 5)
	for i := 1; i <= 4; i++ {
		if got := c.Node(i).Monitored; len(got) != 1 || got[n(5)] {
			t.Errorf("n%d monitors %d peers, want its leader alone", i, len(got))
		}
	}
	if got := c.Node(5).Monitored; len(got) != 0 {
		t.Errorf("the leader monitors %d peers, want none", len(got))
	}
}

// Note 9: "processes obey fail-stop maxim": unsaved state is lost.
func TestNote9RestartKeepsOnlyEpoch(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.Crash(1)
	c.Start(1)
	c.RequireLeader(t, 1, algo.Leader{})
	if got := c.Node(1).Machine.Algorithm().(*process).epoch; got != 1 {
		t.Errorf("n1 starts with epoch %d, want 1", got)
	}
}

// The election problem, as the notes state it.

// "Any process can call for an election"; "multiple processes are allowed to call an
// election simultaneously. All of them together must yield only a single leader";
// "the result of an election should not depend on which process calls for it".
func TestHighestLeadsWhicheverNodesCampaign(t *testing.T) {
	const size = 5
	for callers := 1; callers < 1<<size; callers++ {
		c := agreedCluster(t, Defaults(timing), size)
		for i := range size {
			if callers>>i&1 != 0 {
				c.Campaign(i + 1)
			}
		}
		c.Run(10 * T)
		c.RequireAgreement(t)
		c.Reset()
		c.Run(50 * T)
		if sum := algosim.Total(c.Sent); sum != 0 {
			t.Errorf("callers %05b: %d messages after the election\n%s", callers, sum, c.Transcript())
		}
	}
}

// "A process can call for at most one election at a time."
func TestProcessRunsElectionsOneByOne(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "a campaign while it waits for answers", s.Campaign(), "")
	expect(t, "an election while it waits for answers", s.Receive(1, Election{6}), "n1 <- answer epoch=6")
	s.Receive(3, Answer{6})
	expect(t, "a campaign while it waits for the coordinator", s.Campaign(), "")
	expect(t, "an election while it waits for the coordinator", s.Receive(1, Election{6}), "n1 <- answer epoch=6")
}

// Rules for what the sources leave open.

func TestCandidatesAreOrderedByPriorityThenID(t *testing.T) {
	all := members(3)
	all[0].Priority = 1
	c := newCluster(Defaults(timing), algo.NewView(1, all...))
	c.StartAll()
	c.Run(5 * T)
	for i := range 3 {
		c.RequireLeader(t, i+1, leadership(1, 1))
	}
	c.DetectionTime = 0
	c.Crash(1)
	c.Run(5 * T)
	c.RequireLeader(t, 2, leadership(2, 3))
}

func TestProcessLeadsIfAllHigherAreSuspected(t *testing.T) {
	s := follower(t, 3, 4, viewOf(4))
	expect(t, "n3 suspects the only higher process", s.Suspect(4),
		"save 8; announce in 100ms; monitor; n1 n2 <- coordinator epoch=8 leader=n3; announce none in 7; announce n3 in 8")
}

func TestTextbookDoesNotSkipSuspected(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	expect(t, "n2 suspects the last pending process", s.Suspect(3), "")
	s.Expire("answer")
	replyToInquiry(s, 2, viewOf(3))
	s.Receive(3, Coordinator{Epoch: 8, Leader: n(3)})
	expect(t, "n2 suspects its leader", s.Suspect(3),
		"save 9; answer in 20ms; monitor n3; n3 <- election epoch=8; announce none in 8")
}

func TestTrustedProcessIsAskedAgain(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Suspect(4)
	s.Receive(3, Answer{6})
	expect(t, "n4 is suspected", s.Expire("coordinator"),
		"stop coordinator; answer in 20ms; monitor n3 n4; n3 <- election epoch=6")
	s.Trust(4)
	s.Receive(3, Answer{6})
	expect(t, "n4 is trusted", s.Expire("coordinator"),
		"stop coordinator; answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=6")
}

func TestLeaderRepliesToElectionSenderOnly(t *testing.T) {
	s := leading(t, 3, viewOf(3))
	expect(t, "an election of n1", s.Receive(1, Election{7}), "n1 <- answer epoch=7; n1 <- coordinator epoch=7 leader=n3")
}

func TestElectionOfOlderEpochChangesNothing(t *testing.T) {
	s := follower(t, 2, 3, viewOf(3))
	expect(t, "the reply names the newer leader", s.Receive(1, Election{6}), "n1 <- coordinator epoch=7 leader=n3")
	s.Suspect(3)
	s = alone(2, viewOf(3), Defaults(timing))
	s.Start(7)
	expect(t, "or the newer epoch", s.Receive(1, Election{6}), "n1 <- answer epoch=7")
	s = leading(t, 3, viewOf(3))
	expect(t, "the leader replies the same", s.Receive(1, Election{6}), "n1 <- coordinator epoch=7 leader=n3")
}

func TestOlderCoordinatorGetsNewerOne(t *testing.T) {
	s := follower(t, 1, 4, viewOf(4))
	expect(t, "of an older epoch", s.Receive(3, Coordinator{Epoch: 6, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	expect(t, "of the same epoch and a lower ID", s.Receive(3, Coordinator{Epoch: 7, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	s.Receive(2, Answer{9})
	expect(t, "the reply has the epoch of the leader, not a newer one", s.Receive(3, Coordinator{Epoch: 6, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	s = leading(t, 4, viewOf(4))
	expect(t, "to a leader", s.Receive(3, algo.Periodic{Message: Coordinator{Epoch: 6, Leader: n(3)}}), "n3 <- coordinator epoch=7 leader=n4")
	expect(t, "its own leadership", s.Receive(3, Coordinator{Epoch: 7, Leader: n(4)}), "")
	s = follower(t, 2, 4, viewOf(4))
	s.Suspect(4)
	s.Receive(1, Election{9})
	expect(t, "a process without a leader, in an older epoch", s.Receive(3, Coordinator{Epoch: 7, Leader: n(3)}), "n3 <- answer epoch=9")
}

// A rejected Coordinator is no Answer, but it shows that its sender is alive. Without this
// rule, a lower process would lead.
func TestRejectedCoordinatorProvesItsSenderAlive(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Suspect(4)
	expect(t, "n3, pending, still follows the crashed n4", s.Receive(3, Coordinator{Epoch: 7, Leader: n(4)}),
		"save 7; stop answer; coordinator in 40ms")
}

func TestIneligibleProcessIsNotFollowed(t *testing.T) {
	all := members(4)
	all[3].Eligible = false
	s := follower(t, 1, 3, algo.NewView(1, all...))
	expect(t, "a witness", s.Receive(4, Coordinator{Epoch: 8, Leader: n(4)}), "save 8")
	expect(t, "a non-member", s.Receive(3, Coordinator{Epoch: 9, Leader: n(9)}), "save 9")
	expect(t, "no leader", s.Receive(3, Coordinator{Epoch: 10}), "save 10")
}

func TestIneligibleProcessWaits(t *testing.T) {
	all := members(2)
	all[0].Eligible = false
	s := alone(1, algo.NewView(1, all...), Defaults(timing))
	s.Start(6)
	expect(t, "no answer", s.Expire("answer"), "stop answer; coordinator in 40ms; monitor n2")
	expect(t, "it retries", s.Expire("coordinator"), "stop coordinator; answer in 20ms; monitor n2; n2 <- election epoch=6")

	all[1].Eligible = false
	s = alone(1, algo.NewView(1, all...), Defaults(timing))
	expect(t, "no process to ask", s.Start(6), "coordinator in 40ms; monitor")
}

func TestHighestTakesOverWhenItRecovers(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.DetectionTime = T
	c.Crash(3)
	c.Run(10 * T)
	c.RequireLeader(t, 1, leadership(2, 2))
	c.Start(3)
	c.Run(3 * T)
	c.RequireLeader(t, 1, leadership(3, 3))
	c.Run(100 * T)
	c.RequireAgreement(t)
}

// The known cases in which two processes lead for a while. Example_twoLeaders is the case of a slow leader that is
// falsely suspected.

func TestTwoLeadersAfterRecoveryWithoutAnswers(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.DropIf(func(_, _ int, m algo.Message) bool { return m.Kind() == "answer" })
	c.Suspect(3, 2) // n2 leads in epoch 2, and its messages are on their way
	c.Start(3)      // n3 has epoch 1 on its disk, and leads in epoch 2 as well
	c.Run(2 * T)    // n3 waits for answers
	if got := c.Leaders(); got != 2 || c.Leader(2).Epoch != c.Leader(3).Epoch {
		t.Errorf("%d leaders, want two in one epoch\n%s", got, c.Transcript())
	}
	c.Run(T)
	c.RequireAgreement(t)
}

func TestTwoLeadersWhenCoordinatorsOvertakeEachOther(t *testing.T) {
	c := agreedCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.Delay = func(from, to int, _ algo.Message) (delay time.Duration, arrives bool) {
		if from == 2 && to == 1 {
			return 5 * T, true
		}
		return T, true
	}
	c.Suspect(3, 1, 2) // n2 leads in epoch 2; n1 sends Election to n2
	c.Run(T)
	c.Start(3)    // n3 leads in epoch 3; n2 follows it at once
	c.Trust(3, 1) // n2 is still pending at n1
	c.Run(3 * T)
	c.RequireAgreement(t) // the Coordinator of n3 overtook the one of n2
	c.Run(4 * T)
	c.RequireLeader(t, 1, leadership(3, 3)) // the Coordinator of n2 came late, and was rejected
	c.Run(100 * T)
	c.RequireAgreement(t)
}

// A clone shares no state that changes: an event of one has no effect on the
// other.
func TestCloneSharesNothing(t *testing.T) {
	s := alone(1, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Suspect(4)
	clone := s.Clone()
	for _, i := range []int{2, 3, 5} {
		s.Suspect(i)
	}
	expect(t, "three are still pending at the clone", clone.Suspect(2)+clone.Suspect(3), "")
	got := clone.Suspect(5)
	if !strings.HasPrefix(got, "save 7") || s.Machine.Leader() != clone.Machine.Leader() {
		t.Errorf("the clone does %q, want what the first did", got)
	}
}

// A failover waits for the save of the new leader only: a follower has saved the next epoch already.
func TestFollowerSavesNextEpochEarly(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	expect(t, "n2 suspects its leader", s.Suspect(4), "save 8; head-start in 10ms; monitor n3 n4; announce none in 7")
	expect(t, "n3 leads", s.Receive(3, Coordinator{Epoch: 8, Leader: n(3)}), "stop head-start; monitor n3; announce n3 in 8")

	s = follower(t, 2, 4, viewOf(4))
	s.Suspect(4)
	expect(t, "the leader was falsely suspected", s.Receive(4, Coordinator{Epoch: 7, Leader: n(4)}), "")
	s.Trust(4)
	expect(t, "it keeps its epoch", s.Receive(4, Coordinator{Epoch: 7, Leader: n(4)}), "stop head-start; monitor n4; announce n4 in 7")
}

// Higher processes have a head start when a leadership ends.
func TestHeadStart(t *testing.T) {
	suspects := func() *algosim.Single {
		s := follower(t, 2, 5, viewOf(5))
		expect(t, "n2 suspects its leader", s.Suspect(5), "save 8; head-start in 10ms; monitor n4 n5; announce none in 7")
		return s
	}
	t.Run("goes from the highest to the next, and ends with the last", func(t *testing.T) {
		s := suspects()
		expect(t, "n4 is suspected too", s.Suspect(4), "monitor n3 n4 n5")
		expect(t, "and n3", s.Suspect(3), "stop head-start; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce n2 in 8")
	})
	t.Run("ends with a campaign", func(t *testing.T) {
		s := suspects()
		expect(t, "n2", s.Campaign(), "stop head-start; answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7")
		expect(t, "n2, again", s.Campaign(), "")
	})
	t.Run("does not prevent an answer", func(t *testing.T) {
		expect(t, "an election of n1", suspects().Receive(1, Election{Epoch: 7}), "n1 <- answer epoch=7")
	})
	t.Run("does not apply at a start", func(t *testing.T) {
		s := alone(2, viewOf(3), Defaults(timing))
		expect(t, "n2", s.Start(6), "answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
	t.Run("can be zero", func(t *testing.T) {
		o := Defaults(timing)
		o.HeadStart = 0
		s := alone(2, viewOf(4), o)
		s.Start(6)
		s.Receive(4, Coordinator{Epoch: 7, Leader: n(4)})
		expect(t, "n2", s.Suspect(4), "save 8; answer in 20ms; monitor n3 n4; n3 <- election epoch=7; announce none in 7")
	})
}
