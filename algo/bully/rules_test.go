package bully

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
	c := algosim.New(newSpec(Defaults(timing)), algosim.View(size))
	c.Tracing = true
	problem := run(c)
	if problem == "" {
		problem = c.Violation
	}
	if problem != "" {
		t.Errorf("%s\n%s", problem, c.Transcript())
	}
}

// During an election, a process monitors all peers from which it expects a reply. A suspicion of the
// last one ends the wait. Without this rule, a crash costs a whole timeout.
func TestSuspectingLastPendingEndsWait(t *testing.T) {
	t.Run("for answers", func(t *testing.T) {
		checkRun(t, 3, func(c *algosim.Cluster) string {
			c.DetectionTime = T / 10
			c.Start(1, 2) // n3 never ran: no process followed or monitored it
			return c.DisagreementAfter(7 * T / 2)
		})
	})
	t.Run("for the coordinator", func(t *testing.T) {
		checkRun(t, 3, func(c *algosim.Cluster) string {
			c.DetectionTime = T / 10
			c.Start(1)
			c.Start(2)
			c.DropIf(func(_, to int, m algo.Message) bool { return m.Kind() == "coordinator" })
			c.At(3*T, func() { c.Crash(2) }) // n2 answered n1 and led
			return c.DisagreementAfter(5 * T)
		})
	})
}

// A process that has had no leader since its start inquires before it leads. Without this rule, the highest
// process returns, leads in an epoch in which another process has led, and then leads again in a newer one.
func TestStartingNodeInquiresBeforeLeading(t *testing.T) {
	t.Run("it leads once, above the epoch of its peers", func(t *testing.T) {
		checkRun(t, 3, func(c *algosim.Cluster) string {
			c.DetectionTime = T / 10
			c.StartAll()
			c.Run(3 * T)
			c.Crash(3)
			c.Run(3 * T)
			c.Start(3)
			c.Run(20 * T)
			if got := c.Leader(3); got != leadership(3, 3) {
				return fmt.Sprintf("n3 leads in epoch %d, want once, above that of n2", got.Epoch)
			}
			return c.Disagreement()
		})
	})
	t.Run("it does not wait for crashed peers", func(t *testing.T) {
		checkRun(t, 3, func(c *algosim.Cluster) string {
			c.DetectionTime = T / 10
			c.Start(3)
			return c.DisagreementAfter(T / 2)
		})
	})
	t.Run("it inquires when higher processes are suspected", func(t *testing.T) {
		s := alone(2, viewOf(3), Defaults(timing))
		s.Start(6)
		expect(t, "n2", s.Suspect(3), "stop answer; answer in 20ms; monitor n1 n3; n1 <- inquiry")
		expect(t, "n1 knows a newer epoch", s.Receive(1, Answer{8}),
			"save 9; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=9 leader=n2; announce n2 in 9")
	})
	t.Run("a process that has followed does not inquire", func(t *testing.T) {
		s := follower(t, 2, 3, viewOf(3))
		expect(t, "n2", s.Suspect(3), "save 8; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce none in 7; announce n2 in 8")
	})
	t.Run("it waits for a higher process that answers late", func(t *testing.T) {
		s := alone(2, viewOf(4), Defaults(timing))
		s.Start(6)
		s.Expire("answer")
		expect(t, "n3 answers late", s.Receive(3, Answer{6}), "stop answer; coordinator in 40ms")
		expect(t, "n1 answers", s.Receive(1, Answer{7}), "save 7")
	})
	t.Run("it starts again when the members change", func(t *testing.T) {
		s := alone(2, viewOf(2), Defaults(timing))
		s.Start(6)
		expect(t, "n3 joins", s.Reconfigure(viewOf(3)), "stop answer; answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
}

// An Inquiry from a higher process ends the election of its receiver, because it shows that its sender is about to
// lead. Without this rule, the receiver would lead as well if its Election was lost.
func TestInquiryFromHigherEndsElection(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	expect(t, "n3 is about to lead", s.Receive(3, Inquiry{}), "stop answer; coordinator in 40ms; n3 <- answer epoch=6")
	s = follower(t, 1, 2, viewOf(3))
	expect(t, "to a follower", s.Receive(3, Inquiry{}), "n3 <- answer epoch=7")
	s = leading(t, 2, viewOf(3))
	expect(t, "to a leader", s.Receive(3, Inquiry{}), "n3 <- answer epoch=7")
	expect(t, "from below, with a different view", s.Receive(1, Inquiry{}), "n1 <- answer epoch=7")
}

// A process that receives no message although several processes are pending sends Election again. Without this
// rule, a process that is disconnected briefly leads alone, and the leader has to take a newer epoch.
func TestElectionWithoutRepliesIsRetriedOnce(t *testing.T) {
	const leads = "stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce n2 in 8"
	electing := func(i, size int) *algosim.Single {
		s := follower(t, i, size, viewOf(size))
		s.Suspect(size)
		expect(t, "the head start ends", s.Expire("head-start"), map[int]string{
			4: "answer in 20ms; monitor n3 n4; n3 <- election epoch=7", 5: "answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7"}[size])
		return s
	}
	s := electing(2, 5)
	expect(t, "two are silent", s.Expire("answer"), "answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7")
	expect(t, "and again", s.Expire("answer"), leads)
	s = electing(2, 5)
	expect(t, "an election of n1", s.Receive(1, Election{7}), "n1 <- answer epoch=7")
	expect(t, "two are silent, n1 is not", s.Expire("answer"), leads)
	expect(t, "one is silent", electing(2, 4).Expire("answer"), leads)
	s = electing(2, 5)
	s.Expire("answer")
	expect(t, "a late answer still counts", s.Receive(3, Answer{7}), "stop answer; coordinator in 40ms")
}

// A process sends Election to a process that it trusts again. Without this rule, a process that was
// disconnected briefly hears its leader again and still leads beside it.
func TestElectionIsSentToTrustedProcess(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		lost := true
		c.DropIf(func(from, to int, _ algo.Message) bool { return lost && (from == 1 || to == 1) })
		c.Suspect(3, 1)
		c.Run(2 * T) // the Election of n1 to n2 is lost
		lost = false
		c.Trust(3, 1)
		c.Run(20 * T)
		if got := c.Leader(3); got != leadership(1, 3) {
			return fmt.Sprintf("n3 leads in epoch %d, want its previous one", got.Epoch)
		}
		return c.Disagreement()
	})
}

// A leader sends its Coordinator to a higher process that sends a heartbeat. Without this rule, a higher leader that
// was stopped and continues leads beside it until one of the two repeats its Coordinator.
func TestLeaderInformsHigherAtItsHeartbeat(t *testing.T) {
	s := leading(t, 2, viewOf(3))
	expect(t, "a heartbeat of n3", s.Trust(3), "n3 <- coordinator epoch=7 leader=n2")
	expect(t, "a heartbeat of n1", s.Trust(1), "")
	s = follower(t, 1, 2, viewOf(3))
	expect(t, "n3 sends a heartbeat to a follower", s.Trust(3), "")
}

// A process adopts and saves the epoch of every message, if it is higher. Without this rule, a
// process that was absent leads in an epoch below that of its peers, and they reject it forever.
func TestProcessAdoptsEveryHigherEpoch(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.Node(1).Saved.Epoch, c.Node(2).Saved.Epoch = 5, 5
		c.StartAll() // n3 was absent and knows no epoch
		return c.DisagreementAfter(100 * T)
	})
}

// A process never follows a Coordinator with an epoch below the saved one, even if it knows of no
// leader after a restart. Without this rule, a late message restores a leadership that has ended.
func TestRestartedProcessIgnoresOldCoordinator(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		late := Coordinator{Epoch: 1, Leader: n(3)}
		c.Crash(3)
		c.Suspect(3, 1, 2)
		c.Run(2 * T)
		if got := c.Leader(1); got != leadership(2, 2) {
			return fmt.Sprintf("n1 follows %s", name(got.ID))
		}
		c.Crash(1)
		c.Start(1)
		c.Deliver(3, 1, late)
		if got := c.Leader(1); got.ID == n(3) {
			return fmt.Sprintf("n1 knew epoch 2, and follows the crashed n3 in epoch %d", got.Epoch)
		}
		return c.DisagreementAfter(2 * T)
	})
}

// strayEpoch runs a cluster of four in which only n1 knows epoch 5, from n2, which has crashed since. n1 follows n3,
// which leads in epoch 2. Then n4, which knows epoch 1, recovers and takes over. strayEpoch returns the problem, if
// any.
func strayEpoch(c *algosim.Cluster) string {
	c.StartAll()
	c.Run(3 * T)
	c.Crash(4)
	c.Suspect(4, 1, 2, 3) // n3 leads in epoch 2
	c.Run(2 * T)

	// n2 is disconnected: it elects itself until it is in epoch 5.
	c.DropIf(func(from, to int, _ algo.Message) bool { return from == 2 || to == 2 })
	c.Suspect(3, 2)
	c.Run(2 * T)
	for c.Leader(2) != leadership(5, 2) {
		c.Campaign(2)
		c.Run(2 * T)
	}

	// n2 restarts, and its Answer to n1 is slow. When it arrives, n1 follows n3 again.
	c.Crash(2)
	c.Start(2)
	c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
		if from == 2 {
			return 3 * T / 2, to == 1
		}
		return T, true
	}
	c.Campaign(1)
	c.Run(T)
	c.Crash(2)
	c.Run(3 * T / 2)
	if p := c.Node(1).Machine.Algorithm().(*process); p.epoch != 5 || c.Leader(1) != leadership(2, 3) || p.phase != idle {
		return fmt.Sprintf("n1 knows epoch %d and follows %s", p.epoch, name(c.Leader(1).ID))
	}

	// n4 hears of epoch 5 only when n1 rejects its Coordinator: the Answer to its Inquiry is lost.
	c.DropIf(func(from, to int, _ algo.Message) bool { return from == 1 && to == 4 || from == 2 || to == 2 })
	c.Start(4)
	c.Run(3 * T)
	if c.Leader(4) != leadership(3, 4) {
		return fmt.Sprintf("n4 follows %s in epoch %d", name(c.Leader(4).ID), c.Leader(4).Epoch)
	}
	c.DropIf(func(from, to int, _ algo.Message) bool { return from == 2 || to == 2 })
	return c.DisagreementAfter(100 * T)
}

// A process that rejects a Coordinator and follows no newer leader sends Answer with its epoch.
// Without this rule, the leader never learns of the epoch because of which others reject it.
//
// A leader that has adopted an epoch above that of its leadership takes a newer epoch and
// sends Coordinator to all. Without this rule, it learns of the epoch and is still rejected.
func TestLeaderRaisesEpochAfterRejection(t *testing.T) {
	checkRun(t, 4, strayEpoch)
}

// A leader takes at most maxBumps epochs in one AnnounceInterval. Without this limit, two leaders that may not follow
// each other, because their views differ, answer each bump with the next one.
func TestLeaderBumpsAreLimited(t *testing.T) {
	checkRun(t, 2, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T) // n2 leads, but is ineligible in the new view of n1
		second := members(2)
		second[1].Eligible = false
		c.Reconfigure(algo.NewView(2, second...), 1)
		c.Run(3 * T)
		if c.Leaders() != 2 {
			return fmt.Sprintf("%d lead, want both", c.Leaders())
		}
		const intervals = 5
		before := c.Leader(2).Epoch
		c.Run(intervals * Defaults(timing).AnnounceInterval)
		if taken := c.Leader(2).Epoch - before; taken > 2*maxBumps*(intervals+1) {
			return fmt.Sprintf("%d epochs were taken in %d intervals", taken, intervals)
		}
		c.Reconfigure(algo.NewView(3, members(2)...), 1, 2)
		return c.DisagreementAfter(3 * Defaults(timing).AnnounceInterval)
	})
}

// In this walk, the views of n3 and n4 differ, both lead, and messages are duplicated. Replies to replies once filled
// the memory.
func TestSeed37317(t *testing.T) {
	if c := walk.Run(algosim.Seeded(37317), false); c.Violation != "" {
		t.Error(c.Violation)
	}
}

// A leader takes a newer epoch after each kind of message that carries one. The announce timer keeps running.
func TestLeaderBumpsItsEpoch(t *testing.T) {
	const bumped = "save 10; monitor; "
	const toAll = "n1 n2 <- coordinator epoch=10 leader=n3"
	lower := func() *algosim.Single { return leading(t, 3, viewOf(3)) }
	expect(t, "an Answer", lower().Receive(1, Answer{9}), bumped+toAll+"; announce n3 in 10")
	expect(t, "an Election, which is answered first", lower().Receive(1, Election{9}), bumped+"n1 <- answer epoch=9; "+toAll+"; announce n3 in 10")
	expect(t, "a Coordinator for a lower process", lower().Receive(1, Coordinator{Epoch: 9, Leader: n(2)}), bumped+toAll+"; announce n3 in 10")
	expect(t, "a Coordinator for a non-member", lower().Receive(1, Coordinator{Epoch: 9, Leader: n(9)}), bumped+toAll+"; announce n3 in 10")
	expect(t, "an older epoch", lower().Receive(1, Answer{6}), "")
}

// A process does not follow a lower one. Without this rule, a process that took over while the highest
// was suspected keeps leading, and the highest follows it.
func TestLowerProcessIsNotFollowed(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.Suspect(3, 1, 2) // falsely; n2 leads, and repeats its Coordinator
		return c.DisagreementAfter(100 * T)
	})
}

// A process does not follow a Coordinator that names it for a leadership that it does not have.
// Without this rule, a process considers itself the leader in an epoch in which it led before its
// crash: it announces the leadership again, although others may have taken over.
func TestProcessDoesNotFollowItself(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.Start(1, 2)
		c.Run(6 * T)
		if got := c.Leader(1); got != leadership(1, 2) {
			return fmt.Sprintf("n1 follows %s in epoch %d", name(got.ID), got.Epoch)
		}
		c.Crash(2)
		c.Start(2) // before n1 notices; n1 sends n2 the leadership of n2
		c.Deliver(1, 2, Coordinator{Epoch: 1, Leader: n(2)})
		c.Run(6 * T)
		if got := c.Leader(1); got != leadership(2, 2) {
			return fmt.Sprintf("n1 follows %s in epoch %d", name(got.ID), got.Epoch)
		}
		return ""
	})
}

// A Coordinator that names a suspected process is not followed. Without this rule, a process receives a Coordinator for
// its crashed leader from a process that has not noticed, and follows it. The detector has reported that crash already,
// so the process follows the crashed leader for good.
func TestSuspectedProcessIsNotFollowed(t *testing.T) {
	checkRun(t, 3, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.Crash(3)
		c.Suspect(3, 1)                                      // n1 sends Election to n2,
		c.Deliver(2, 1, Coordinator{Epoch: 1, Leader: n(3)}) // which has not noticed,
		c.Crash(2)                                           // and crashes
		c.DetectionTime = T / 10
		c.Report(2)
		return c.DisagreementAfter(100 * T)
	})
}

// A process contests the leadership of a lower process, and one of its own that it does not hold.
func TestCoordinatorIsContested(t *testing.T) {
	const sendsElections = "answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=9"
	s := follower(t, 2, 4, viewOf(4))
	expect(t, "a lower process", s.Receive(1, Coordinator{Epoch: 9, Leader: n(1)}), "save 9; "+sendsElections)
	expect(t, "a lower process, during the election", s.Receive(1, Coordinator{Epoch: 10, Leader: n(1)}), "save 10")

	s = follower(t, 2, 4, viewOf(4))
	expect(t, "this process", s.Receive(1, Coordinator{Epoch: 9, Leader: n(2)}), "save 9; "+sendsElections)

	all := members(2)
	all[0].Priority = 1 // n1 is above n2, and has the lower ID
	s = leading(t, 1, algo.NewView(1, all...))
	expect(t, "a lower process in the same epoch, with a higher ID", s.Receive(2, Coordinator{Epoch: 7, Leader: n(2)}),
		"save 8; monitor; n2 <- coordinator epoch=8 leader=n1; announce n1 in 8")
}

// A leader repeats its Coordinator to all other processes, including higher ones. Without this rule, two leaders
// do not detect each other after a partition heals.
func TestLeaderRepeatsCoordinator(t *testing.T) {
	checkRun(t, 4, func(c *algosim.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.DropIf(func(from, to int, _ algo.Message) bool { return (from <= 2) != (to <= 2) })
		c.Suspect(4, 1, 2) // by silence
		c.Run(10 * T)
		c.Suspect(3, 2, 1)
		c.Run(10 * T)
		if got := c.Leaders(); got != 2 {
			return fmt.Sprintf("%d leaders under a partition, want one on each side", got)
		}
		c.DropIf(func(_, _ int, _ algo.Message) bool { return false })
		return c.DisagreementAfter(20 * T)
	})
}

func TestRepeatGoesToAllAndIsNotCounted(t *testing.T) {
	s := leading(t, 2, viewOf(3))
	expect(t, "its timer ends", s.Expire("announce"),
		"announce in 100ms; n1 n3 <- coordinator epoch=7 leader=n2 again")
}

// A member may return with a much higher epoch than the others have. Whichever process receives its message, all agree
// again.
func TestMessageOfMuchLaterEpoch(t *testing.T) {
	const size = 4
	for _, ahead := range []algo.Epoch{1 << 32, algo.MaxEpoch / 2} {
		for _, m := range []algo.Message{
			Election{ahead + 1}, Answer{ahead + 1},
			Coordinator{Epoch: ahead + 1, Leader: n(1)}, Coordinator{Epoch: ahead + 1, Leader: n(4)},
		} {
			for to := 2; to <= size; to++ {
				c := agreedCluster(t, Defaults(timing), size)
				c.Deliver(1, to, m)
				if problem := c.DisagreementAfter(5 * Defaults(timing).AnnounceInterval); problem != "" {
					t.Errorf("n%d hears %v from n1: %s\n%s", to, m, problem, c.Transcript())
				}
			}
		}
	}
}

// A process that received Answers and no Coordinator reports the highest sender as unresponsive.
func TestUnresponsiveHighestIsReported(t *testing.T) {
	s := alone(1, viewOf(4), Defaults(timing))
	s.Start(6)
	for _, from := range []int{2, 4, 3} {
		s.Receive(from, Answer{6})
	}
	notes := s.Machine.Step(driver.Event{Kind: driver.EventExpire, Timer: timerCoordinator}).Notes
	if len(notes) != 1 || notes[0].Unresponsive != n(4) || fmt.Sprintf(notes[0].Format, "n4", notes[0].Args[1]) != "misses n4, which answered but did not become leader" {
		t.Errorf("notes %v", notes)
	}
}
