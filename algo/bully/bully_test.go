package bully

import (
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// The rules of the algorithm as the readme has them, by number.

// Rule 1: "If P has the highest process id, it sends a Victory message to all other
// processes and becomes the new Coordinator. Otherwise, P broadcasts an Election
// message to all other processes with higher process IDs than itself."
func TestRule1WhoIsTheHighestLeads(t *testing.T) {
	s := alone(3, viewOf(3), Defaults(timing))
	does(t, "the highest starts, and asks first where the others are", s.Start(0), "answer in 20ms; monitor n1 n2; n1 n2 <- inquiry")
	does(t, "they know of nobody", informed(s, 3, viewOf(3)),
		"save 1; stop answer; announce in 100ms; monitor; n1 n2 <- coordinator epoch=1 leader=n3; announce n3 in 1")
	does(t, "it campaigns", s.Campaigns(), "save 2; monitor; n1 n2 <- coordinator epoch=2 leader=n3; announce n3 in 2")
}

func TestRule1OthersAskThoseAbove(t *testing.T) {
	const asks = "answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=6"
	s := alone(2, viewOf(4), Defaults(timing))
	does(t, "n2 recovers", s.Start(6), asks)

	s = follower(t, 2, 4, viewOf(4))
	does(t, "n2 finds its leader dead", s.Suspects(4), "save 8; head-start in 10ms; monitor n3 n4; announce nobody in 7")
	does(t, "and n3 does not take the lead", s.Expires("head-start"), "answer in 20ms; monitor n3 n4; n3 <- election epoch=7")
}

// Rule 2: "If P receives no Answer after sending an Election message, then it
// broadcasts a Victory message to all other processes and becomes the Coordinator."
func TestRule2WithoutAnAnswerItLeads(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "no answer", s.Expires("answer"), "stop answer; answer in 20ms; monitor n1 n3; n1 <- inquiry")
	does(t, "nor one from below", s.Expires("answer"),
		"save 7; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=7 leader=n2; announce n2 in 7")
}

// Rule 3: "If P receives an Answer from a process with a higher ID, it sends no
// further messages for this election and waits for a Victory message. (If there is
// no Victory message after a period of time, it restarts the process at the
// beginning.)"
func TestRule3AnAnswerAndItWaits(t *testing.T) {
	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "an answer", s.Hears(2, Answer{6}), "stop answer; coordinator in 40ms")
	does(t, "another answer", s.Hears(3, Answer{6}), "")
	does(t, "no victory", s.Expires("coordinator"),
		"stop coordinator; answer in 20ms; monitor n2 n3; n2 n3 <- election epoch=6")
}

func TestRule3OnlyAnAnswerFromAboveCounts(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "an answer from below", s.Hears(1, Answer{6}), "")
	s.Expires("answer")
	does(t, "no answer from above", informed(s, 2, viewOf(3)),
		"save 7; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=7 leader=n2; announce n2 in 7")
}

// Rule 4: "If P receives an Election message from another process with a lower ID it
// sends an Answer message back and starts the election process at the beginning, by
// sending an Election message to higher-numbered processes."
func TestRule4AnElectionFromBelowIsAnsweredAndStartsAnother(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	does(t, "an election from below", s.Hears(1, Election{7}),
		"answer in 20ms; monitor n3 n4; n1 <- answer epoch=7; n3 n4 <- election epoch=7")
	does(t, "the leader stays announced until there is another", s.Hears(4, Coordinator{Epoch: 8, Leader: n(4)}),
		"save 8; stop answer; monitor n4; announce n4 in 8")
}

func TestRule4AnElectionFromAboveIsNotAnswered(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	does(t, "an election from above", s.Hears(3, Election{9}), "save 9")
}

// Rule 5: "If P receives a Coordinator message, it treats the sender as the
// coordinator."
func TestRule5ACoordinatorIsFollowed(t *testing.T) {
	follows := func(stop string) string { return "save 7; " + stop + "monitor n3; announce n3 in 7" }
	news := Coordinator{Epoch: 7, Leader: n(3)}

	s := alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "while it awaits answers", s.Hears(3, news), follows("stop answer; "))

	s = alone(1, viewOf(3), Defaults(timing))
	s.Start(6)
	s.Hears(2, Answer{6})
	does(t, "while it waits for it", s.Hears(3, news), follows("stop coordinator; "))
	does(t, "when it follows it already", s.Hears(3, news), "")
	does(t, "when it is repeated", s.Hears(3, algo.Repeat{Message: Coordinator{Epoch: 7, Leader: n(3)}}), "")
	does(t, "of a newer epoch", s.Hears(3, Coordinator{Epoch: 8, Leader: n(3)}), "save 8; monitor n3; announce n3 in 8")

	s = leading(t, 2, viewOf(3))
	does(t, "when it leads itself, it steps down", s.Hears(3, Coordinator{Epoch: 8, Leader: n(3)}),
		"save 8; stop announce; monitor n3; announce n3 in 8")
	does(t, "and repeats its own no more", s.Expires("announce"), "")
}

// The implementation notes of the readme, by number. (1 has its test in cluster, where IDs
// are drawn; 6 and 10 have theirs in transport.)

// Note 2: "As an invariant, the process ID does not change during the lifetime of a
// process."
func TestNote2TheIDDoesNotChangeOverARestart(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.Start(3)
	c.Run(4 * T)
	c.WantLeader(t, 1, leadership(2, 3))
}

// Note 3: "The lifetime of a process will be denoted by an epoch stamped on all the members
// in a cluster." It is the leader's: whom a member follows, and what it keeps.
func TestNote3TheEpochIsStampedOnAllMembers(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 5)
	c.Detect = T
	for life, survivors := range []int{5, 4, 3} {
		epoch := algo.Epoch(life + 1)
		for i := 1; i <= survivors; i++ {
			c.WantLeader(t, i, leadership(epoch, survivors))
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
func TestNote4TheEpochLastsAsLongAsTheLeader(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 5)
	c.Detect = T
	c.Run(1000 * T)
	for i := range 5 {
		c.WantLeader(t, i+1, leadership(1, 5))
	}
	if sum := host.Total(c.Sent); sum != 0 || c.Repeats == 0 {
		t.Errorf("%d messages and %d repeats while nothing happens, want only repeats", sum, c.Repeats)
	}
	c.Crash(5)
	c.Run(4 * T)
	for i := range 4 {
		c.WantLeader(t, i+1, leadership(2, 4))
	}
}

// Note 5: epochs "are/can be saved in persistent storage". Before anything that
// promises them is sent: whoever crashes after the save has told nobody, whoever
// crashes after a message has saved.
func TestNote5TheEpochIsSavedBeforeItIsTold(t *testing.T) {
	for moment, want := range map[string]struct {
		dieIn int
		saved algo.Epoch
		told  algo.Leader // by n1, after the crash
		after algo.Leader // once n3 is back
	}{
		"before the save":         {1, 1, leadership(1, 3), leadership(2, 3)},
		"after the save":          {2, 2, leadership(1, 3), leadership(3, 3)},
		"after the first message": {3, 2, leadership(2, 3), leadership(3, 3)},
	} {
		t.Run(moment, func(t *testing.T) {
			c := settledCluster(t, Defaults(timing), 3)
			c.Node(3).DieIn = want.dieIn
			c.Campaign(3)
			if c.Node(3).Machine != nil {
				t.Fatal("n3 did not crash")
			}
			if got := c.Node(3).Saved.Epoch; got != want.saved {
				t.Errorf("n3 saved epoch %d, want %d", got, want.saved)
			}
			c.Run(2 * T)
			c.WantLeader(t, 1, want.told)
			c.Start(3)
			c.Run(4 * T)
			c.WantLeader(t, 1, want.after)
			c.WantAgreed(t)
		})
	}
}

// Note 7: "addition/removal of cluster members will be broadcasted to all processes
// participating in leader election."
func TestNote7MembersComeAndGo(t *testing.T) {
	three := members(3)
	witness := func(i int) algo.View {
		all := members(4)
		all[i-1].Eligible = false
		return algo.NewView(2, all...)
	}
	t.Run("the leader leaves", func(t *testing.T) {
		s := follower(t, 1, 4, viewOf(4))
		does(t, "n1", s.Gets(algo.NewView(2, three...)),
			"head-start in 10ms; monitor n3; announce nobody in 7")
	})
	t.Run("the leader resigns", func(t *testing.T) {
		s := follower(t, 3, 4, viewOf(4))
		does(t, "n3", s.Gets(witness(4)),
			"save 8; announce in 100ms; monitor; n1 n2 n4 <- coordinator epoch=8 leader=n3; "+
				"announce nobody in 7; announce n3 in 8")
		s = leading(t, 4, viewOf(4))
		does(t, "n4", s.Gets(witness(4)),
			"stop announce; head-start in 10ms; monitor n3; announce nobody in 7")
	})
	t.Run("the resigned comes back", func(t *testing.T) {
		s := alone(4, witness(4), Defaults(timing))
		s.Start(6)
		s.Hears(3, Coordinator{Epoch: 7, Leader: n(3)})
		does(t, "n4", s.Gets(algo.NewView(3, members(4)...)),
			"save 8; announce in 100ms; monitor; n1 n2 n3 <- coordinator epoch=8 leader=n4; announce n4 in 8")
	})
	t.Run("the last one awaited leaves", func(t *testing.T) {
		s := alone(3, viewOf(4), Defaults(timing))
		s.Start(6)
		does(t, "n3", s.Gets(algo.NewView(2, three...)), "stop answer; answer in 20ms; monitor n1 n2; n1 n2 <- inquiry")
		does(t, "n3 is told", informed(s, 3, algo.NewView(2, three...)),
			"save 7; stop answer; announce in 100ms; monitor; n1 n2 <- coordinator epoch=7 leader=n3; announce n3 in 7")
	})
	t.Run("the last one who answered leaves", func(t *testing.T) {
		s := alone(2, viewOf(4), Defaults(timing))
		s.Start(6)
		s.Hears(4, Answer{6})
		does(t, "n2", s.Gets(algo.NewView(2, three...)),
			"stop coordinator; answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
	t.Run("somebody below comes", func(t *testing.T) {
		s := leading(t, 3, algo.NewView(1, three[1:]...))
		does(t, "n3", s.Gets(algo.NewView(2, three...)), "monitor")
		does(t, "n3 is asked", s.Hears(1, Election{0}), "n1 <- coordinator epoch=7 leader=n3")
	})
	t.Run("nothing that matters", func(t *testing.T) {
		s := follower(t, 1, 4, viewOf(4))
		does(t, "n1", s.Gets(witness(2)), "monitor n4")
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
		c.WantAgreed(t)
	})
}

// Note 8: "a heartbeat-based failure detector is provided". What it watches is asked
// for here: a follower needs its leader, a leader nobody.
func TestNote8WhoIsMonitored(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 5)
	for i := 1; i <= 4; i++ {
		if got := c.Node(i).Monitored; len(got) != 1 || got[n(5)] {
			t.Errorf("n%d monitors %d peers, want its leader alone", i, len(got))
		}
	}
	if got := c.Node(5).Monitored; len(got) != 0 {
		t.Errorf("the leader monitors %d peers, want none", len(got))
	}
}

// Note 9: "processes obey fail-stop maxim": what is not saved is gone.
func TestNote9ARestartKeepsTheEpochAlone(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 3)
	c.Crash(1)
	c.Start(1)
	c.WantLeader(t, 1, algo.Leader{})
	if got := c.Node(1).Machine.Algorithm().(*process).epoch; got != 1 {
		t.Errorf("n1 starts with epoch %d, want 1", got)
	}
}

// The election problem, as the notes state it.

// "Any process can call for an election"; "multiple processes are allowed to call an
// election simultaneously. All of them together must yield only a single leader";
// "the result of an election should not depend on which process calls for it".
func TestWhoeverCallsTheHighestLeads(t *testing.T) {
	const size = 5
	for callers := 1; callers < 1<<size; callers++ {
		c := settledCluster(t, Defaults(timing), size)
		for i := range size {
			if callers>>i&1 != 0 {
				c.Campaign(i + 1)
			}
		}
		c.Run(10 * T)
		c.WantAgreed(t)
		c.Reset()
		c.Run(50 * T)
		if sum := host.Total(c.Sent); sum != 0 {
			t.Errorf("callers %05b: %d messages after the election\n%s", callers, sum, c.Story())
		}
	}
}

// "A process can call for at most one election at a time."
func TestAtMostOneElectionAtATime(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "it campaigns while it awaits answers", s.Campaigns(), "")
	does(t, "it is asked while it awaits answers", s.Hears(1, Election{6}), "n1 <- answer epoch=6")
	s.Hears(3, Answer{6})
	does(t, "it campaigns while it waits for the coordinator", s.Campaigns(), "")
	does(t, "it is asked while it waits for the coordinator", s.Hears(1, Election{6}), "n1 <- answer epoch=6")
}

// The rules that close what the sources leave open.

func TestCandidatesAreOrderedByPriorityThenID(t *testing.T) {
	all := members(3)
	all[0].Priority = 1
	c := newCluster(Defaults(timing), algo.NewView(1, all...))
	c.StartAll()
	c.Run(5 * T)
	for i := range 3 {
		c.WantLeader(t, i+1, leadership(1, 1))
	}
	c.Detect = 0
	c.Crash(1)
	c.Run(5 * T)
	c.WantLeader(t, 2, leadership(2, 3))
}

func TestWithEverybodyAboveSuspectedItLeads(t *testing.T) {
	s := follower(t, 3, 4, viewOf(4))
	does(t, "n3 suspects the only one above", s.Suspects(4),
		"save 8; announce in 100ms; monitor; n1 n2 <- coordinator epoch=8 leader=n3; announce nobody in 7; announce n3 in 8")
}

func TestTheTextbookAsksAndAwaitsTheSuspected(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	does(t, "n2 suspects the last it awaits", s.Suspects(3), "")
	s.Expires("answer")
	informed(s, 2, viewOf(3))
	s.Hears(3, Coordinator{Epoch: 8, Leader: n(3)})
	does(t, "n2 suspects its leader", s.Suspects(3),
		"save 9; answer in 20ms; monitor n3; n3 <- election epoch=8; announce nobody in 8")
}

func TestWhoIsTrustedAgainIsAskedAgain(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Suspects(4)
	s.Hears(3, Answer{6})
	does(t, "n4 is suspected", s.Expires("coordinator"),
		"stop coordinator; answer in 20ms; monitor n3 n4; n3 <- election epoch=6")
	s.Trusts(4)
	s.Hears(3, Answer{6})
	does(t, "n4 is trusted", s.Expires("coordinator"),
		"stop coordinator; answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=6")
}

func TestASettledLeaderTellsTheAskerAlone(t *testing.T) {
	s := leading(t, 3, viewOf(3))
	does(t, "n1 asks", s.Hears(1, Election{7}), "n1 <- answer epoch=7; n1 <- coordinator epoch=7 leader=n3")
}

func TestAnElectionOfAnOlderEpochChangesNothing(t *testing.T) {
	s := follower(t, 2, 3, viewOf(3))
	does(t, "it is told of the newer leader", s.Hears(1, Election{6}), "n1 <- coordinator epoch=7 leader=n3")
	s.Suspects(3)
	s = alone(2, viewOf(3), Defaults(timing))
	s.Start(7)
	does(t, "or of the newer epoch", s.Hears(1, Election{6}), "n1 <- answer epoch=7")
	s = leading(t, 3, viewOf(3))
	does(t, "also by the leader", s.Hears(1, Election{6}), "n1 <- coordinator epoch=7 leader=n3")
}

func TestAnOlderCoordinatorIsAnsweredWithWhomItFollows(t *testing.T) {
	s := follower(t, 1, 4, viewOf(4))
	does(t, "of an older epoch", s.Hears(3, Coordinator{Epoch: 6, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	does(t, "of the same epoch and a lower ID", s.Hears(3, Coordinator{Epoch: 7, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	s.Hears(2, Answer{9})
	does(t, "in the epoch of its leader, and not in a newer one that it has heard of", s.Hears(3, Coordinator{Epoch: 6, Leader: n(3)}), "n3 <- coordinator epoch=7 leader=n4")
	s = leading(t, 4, viewOf(4))
	does(t, "to a leader", s.Hears(3, algo.Repeat{Message: Coordinator{Epoch: 6, Leader: n(3)}}), "n3 <- coordinator epoch=7 leader=n4")
	does(t, "its own leadership, come back", s.Hears(3, Coordinator{Epoch: 7, Leader: n(4)}), "")
	s = follower(t, 2, 4, viewOf(4))
	s.Suspects(4)
	s.Hears(1, Election{9})
	does(t, "to nobody, in an older epoch", s.Hears(3, Coordinator{Epoch: 7, Leader: n(3)}), "n3 <- answer epoch=9")
}

// A Coordinator that is refused is no Answer, but its sender lives: if that were
// forgotten, somebody below it would lead.
func TestARefusedCoordinatorShowsThatItsSenderLives(t *testing.T) {
	s := alone(2, viewOf(4), Defaults(timing))
	s.Start(6)
	s.Suspects(4)
	does(t, "n3, awaited, still follows the dead n4", s.Hears(3, Coordinator{Epoch: 7, Leader: n(4)}),
		"save 7; stop answer; coordinator in 40ms")
}

func TestWhoMayNotLeadIsNotFollowed(t *testing.T) {
	all := members(4)
	all[3].Eligible = false
	s := follower(t, 1, 3, algo.NewView(1, all...))
	does(t, "a witness", s.Hears(4, Coordinator{Epoch: 8, Leader: n(4)}), "save 8")
	does(t, "a stranger", s.Hears(3, Coordinator{Epoch: 9, Leader: n(9)}), "save 9")
	does(t, "nobody", s.Hears(3, Coordinator{Epoch: 10}), "save 10")
}

func TestWhoMayNotLeadHoldsOut(t *testing.T) {
	all := members(2)
	all[0].Eligible = false
	s := alone(1, algo.NewView(1, all...), Defaults(timing))
	s.Start(6)
	does(t, "nobody answers", s.Expires("answer"), "stop answer; coordinator in 40ms; monitor n2")
	does(t, "it asks again", s.Expires("coordinator"), "stop coordinator; answer in 20ms; monitor n2; n2 <- election epoch=6")

	all[1].Eligible = false
	s = alone(1, algo.NewView(1, all...), Defaults(timing))
	does(t, "there is nobody to ask", s.Start(6), "coordinator in 40ms; monitor")
}

func TestTheHighestTakesOverWhenItRecovers(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 3)
	c.Detect = T
	c.Crash(3)
	c.Run(10 * T)
	c.WantLeader(t, 1, leadership(2, 2))
	c.Start(3)
	c.Run(3 * T)
	c.WantLeader(t, 1, leadership(3, 3))
	c.Run(100 * T)
	c.WantAgreed(t)
}

// Two leaders for a while, the known ways. A slow leader that is wrongly suspected is
// Example_twoLeaders.

func TestTwoLeadersWhenTheHighestRecoversAndIsNotTold(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.Lose(func(_, _ int, m algo.Message) bool { return m.Kind() == "answer" })
	c.Suspect(3, 2) // n2 leads in epoch 2, and its messages are on their way
	c.Start(3)      // n3 has epoch 1 on its disk, and leads in epoch 2 as well
	c.Run(2 * T)    // for the answers
	if got := c.Leaders(); got != 2 || c.Leader(2).Epoch != c.Leader(3).Epoch {
		t.Errorf("%d leaders, want two in one epoch\n%s", got, c.Story())
	}
	c.Run(T)
	c.WantAgreed(t)
}

func TestTwoLeadersWhenCoordinatorsOvertakeEachOther(t *testing.T) {
	c := settledCluster(t, Defaults(timing), 3)
	c.Crash(3)
	c.Delay = func(from, to int, _ algo.Message) (delay time.Duration, arrives bool) {
		if from == 2 && to == 1 {
			return 5 * T, true
		}
		return T, true
	}
	c.Suspect(3, 1, 2) // n2 leads in epoch 2; n1 asks n2
	c.Run(T)
	c.Start(3)    // n3 leads in epoch 3; n2 follows it at once
	c.Trust(3, 1) // n1 awaits n2 still
	c.Run(3 * T)
	c.WantAgreed(t) // the Coordinator of n3 overtook the one of n2
	c.Run(4 * T)
	c.WantLeader(t, 1, leadership(3, 3)) // which came late, and was refused
	c.Run(100 * T)
	c.WantAgreed(t)
}

// A clone shares nothing that changes: what happens to one does not show in the
// other.
func TestACloneSharesNothing(t *testing.T) {
	s := alone(1, viewOf(5), Defaults(timing))
	s.Start(6)
	s.Suspects(4)
	clone := s.Clone()
	for _, i := range []int{2, 3, 5} {
		s.Suspects(i)
	}
	does(t, "the clone still awaits three", clone.Suspects(2)+clone.Suspects(3), "")
	got := clone.Suspects(5)
	if !strings.HasPrefix(got, "save 7") || s.Machine.Leader() != clone.Machine.Leader() {
		t.Errorf("the clone does %q, want what the first did", got)
	}
}

// A failover waits for one save and not for two in a row: that of the new leader.
func TestAFollowerSavesTheNextEpochBeforeItHearsOfIt(t *testing.T) {
	s := follower(t, 2, 4, viewOf(4))
	does(t, "n2 finds its leader dead", s.Suspects(4), "save 8; head-start in 10ms; monitor n3 n4; announce nobody in 7")
	does(t, "n3 leads", s.Hears(3, Coordinator{Epoch: 8, Leader: n(3)}), "stop head-start; monitor n3; announce n3 in 8")

	s = follower(t, 2, 4, viewOf(4))
	s.Suspects(4)
	does(t, "the leader was suspected wrongly", s.Hears(4, Coordinator{Epoch: 7, Leader: n(4)}), "")
	s.Trusts(4)
	does(t, "it keeps its epoch", s.Hears(4, Coordinator{Epoch: 7, Leader: n(4)}), "stop head-start; monitor n4; announce n4 in 7")
}

// Those above have a head start when a leader is gone.
func TestTheHeadStart(t *testing.T) {
	suspects := func() *host.Solo {
		s := follower(t, 2, 5, viewOf(5))
		does(t, "n2 finds its leader dead", s.Suspects(5), "save 8; head-start in 10ms; monitor n4 n5; announce nobody in 7")
		return s
	}
	t.Run("goes from heir to heir, and ends with the last one", func(t *testing.T) {
		s := suspects()
		does(t, "n4 is dead too", s.Suspects(4), "monitor n3 n4 n5")
		does(t, "and n3", s.Suspects(3), "stop head-start; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce n2 in 8")
	})
	t.Run("is over when the application calls for an election", func(t *testing.T) {
		s := suspects()
		does(t, "n2", s.Campaigns(), "stop head-start; answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7")
		does(t, "n2, again", s.Campaigns(), "")
	})
	t.Run("keeps nobody from answering", func(t *testing.T) {
		does(t, "n1 asks", suspects().Hears(1, Election{Epoch: 7}), "n1 <- answer epoch=7")
	})
	t.Run("is not for those who only start", func(t *testing.T) {
		s := alone(2, viewOf(3), Defaults(timing))
		does(t, "n2", s.Start(6), "answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
	t.Run("can be zero", func(t *testing.T) {
		o := Defaults(timing)
		o.HeadStart = 0
		s := alone(2, viewOf(4), o)
		s.Start(6)
		s.Hears(4, Coordinator{Epoch: 7, Leader: n(4)})
		does(t, "n2", s.Suspects(4), "save 8; answer in 20ms; monitor n3 n4; n3 <- election epoch=7; announce nobody in 7")
	})
}
