package bully

import (
	"fmt"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/host"
)

// The rules that are in none of the sources. Each mends a failure, and has a test in which
// it would show. That it does is what internal/mutants sees to, where each rule is taken
// out.

// goesWell fails the test unless what happens goes well: happens says what went wrong, or
// nothing.
func goesWell(t *testing.T, size int, happens func(c *host.Cluster) string) {
	t.Helper()
	c := host.New(newSpec(Defaults(timing)), host.View(size))
	c.Tracing = true
	why := happens(c)
	if why == "" {
		why = c.Broken
	}
	if why != "" {
		t.Errorf("%s\n%s", why, c.Story())
	}
}

// "While electing, monitor everyone whose answer is awaited; a Suspect of the last one
// awaited ends the wait at once." Without it a crash costs a whole timeout.
func TestTheLastAwaitedSuspectedEndsTheWait(t *testing.T) {
	t.Run("for answers", func(t *testing.T) {
		goesWell(t, 3, func(c *host.Cluster) string {
			c.Detect = T / 10
			c.Start(1, 2) // n3 never ran: nobody followed it, nobody monitored it
			return c.AgreedAfter(7 * T / 2)
		})
	})
	t.Run("for the coordinator", func(t *testing.T) {
		goesWell(t, 3, func(c *host.Cluster) string {
			c.Detect = T / 10
			c.Start(1)
			c.Start(2)
			c.Lose(func(_, to int, m algo.Message) bool { return m.Kind() == "coordinator" })
			c.At(3*T, func() { c.Crash(2) }) // it answered n1, and led
			return c.AgreedAfter(5 * T)
		})
	})
}

// Who has followed and led nobody since its start asks those below before it leads. Without it the highest
// that comes back leads in an epoch in which another led since, and once more, above, when it is told.
func TestWhoStartsAsksBeforeItLeads(t *testing.T) {
	t.Run("and leads once, above what they know", func(t *testing.T) {
		goesWell(t, 3, func(c *host.Cluster) string {
			c.Detect = T / 10
			c.StartAll()
			c.Run(3 * T)
			c.Crash(3)
			c.Run(3 * T)
			c.Start(3)
			c.Run(20 * T)
			if got := c.Leader(3); got != leadership(3, 3) {
				return fmt.Sprintf("n3 leads in epoch %d, want once, above that of n2", got.Epoch)
			}
			return c.Agreed()
		})
	})
	t.Run("and waits for none of the dead", func(t *testing.T) {
		goesWell(t, 3, func(c *host.Cluster) string {
			c.Detect = T / 10
			c.Start(3)
			return c.AgreedAfter(T / 2)
		})
	})
	t.Run("as it does when those above are dead", func(t *testing.T) {
		s := alone(2, viewOf(3), Defaults(timing))
		s.Start(6)
		does(t, "n2", s.Suspects(3), "stop answer; answer in 20ms; monitor n1 n3; n1 <- inquiry")
		does(t, "n1 knows more", s.Hears(1, Answer{8}),
			"save 9; stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=9 leader=n2; announce n2 in 9")
	})
	t.Run("and not who has followed somebody", func(t *testing.T) {
		s := follower(t, 2, 3, viewOf(3))
		does(t, "n2", s.Suspects(3), "save 8; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce nobody in 7; announce n2 in 8")
	})
	t.Run("but goes behind who is above after all", func(t *testing.T) {
		s := alone(2, viewOf(4), Defaults(timing))
		s.Start(6)
		s.Expires("answer")
		does(t, "n3 answers late", s.Hears(3, Answer{6}), "stop answer; coordinator in 40ms")
		does(t, "n1 answers", s.Hears(1, Answer{7}), "save 7")
	})
	t.Run("and asks anew when the members change", func(t *testing.T) {
		s := alone(2, viewOf(2), Defaults(timing))
		s.Start(6)
		does(t, "n3 comes", s.Gets(viewOf(3)), "stop answer; answer in 20ms; monitor n3; n3 <- election epoch=6")
	})
}

// An election goes on as long as nobody above is known to live: without this rule who did not reach n3 with
// its question, and hears that n3 is about to lead, would lead beside it.
func TestAnInquiryFromAboveEndsAnElection(t *testing.T) {
	s := alone(2, viewOf(3), Defaults(timing))
	s.Start(6)
	does(t, "n3 is about to lead", s.Hears(3, Inquiry{}), "stop answer; coordinator in 40ms; n3 <- answer epoch=6")
	s = follower(t, 1, 2, viewOf(3))
	does(t, "to who follows somebody", s.Hears(3, Inquiry{}), "n3 <- answer epoch=7")
	s = leading(t, 2, viewOf(3))
	does(t, "to who leads", s.Hears(3, Inquiry{}), "n3 <- answer epoch=7")
	does(t, "from below, by another view", s.Hears(1, Inquiry{}), "n1 <- answer epoch=7")
}

// Who hears nothing at all of several others asks once more before it leads. Without it who is cut off for a
// moment leads alone, and the leader has to take a newer epoch.
func TestWhoHearsNobodyAsksAgain(t *testing.T) {
	const leads = "stop answer; announce in 100ms; monitor; n1 <- coordinator epoch=8 leader=n2; announce n2 in 8"
	asks := func(i, size int) *host.Solo {
		s := follower(t, i, size, viewOf(size))
		s.Suspects(size)
		does(t, "the head start ends", s.Expires("head-start"), map[int]string{
			4: "answer in 20ms; monitor n3 n4; n3 <- election epoch=7", 5: "answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7"}[size])
		return s
	}
	s := asks(2, 5)
	does(t, "two are silent", s.Expires("answer"), "answer in 20ms; monitor n3 n4 n5; n3 n4 <- election epoch=7")
	does(t, "and again", s.Expires("answer"), leads)
	s = asks(2, 5)
	does(t, "n1 asks", s.Hears(1, Election{7}), "n1 <- answer epoch=7")
	does(t, "two are silent, and one is not", s.Expires("answer"), leads)
	does(t, "one is silent", asks(2, 4).Expires("answer"), leads)
	s = asks(2, 5)
	s.Expires("answer")
	does(t, "who answers then is waited for", s.Hears(3, Answer{7}), "stop answer; coordinator in 40ms")
}

// Who is suspected no more is asked. Without it who was cut off for a moment hears its leader again, and leads
// beside it.
func TestWhoIsTrustedIsAsked(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		lost := true
		c.Lose(func(from, to int, _ algo.Message) bool { return lost && (from == 1 || to == 1) })
		c.Suspect(3, 1)
		c.Run(2 * T) // n1 asks n2, in vain
		lost = false
		c.Trust(3, 1)
		c.Run(20 * T)
		if got := c.Leader(3); got != leadership(1, 3) {
			return fmt.Sprintf("n3 leads in epoch %d, want in that of before", got.Epoch)
		}
		return c.Agreed()
	})
}

// Who leads tells one above it who beats: without that a leader that was stopped and goes on leads beside
// it until one of the two says so again.
func TestTheStaleAreTold(t *testing.T) {
	s := leading(t, 2, viewOf(3))
	does(t, "n3 beats", s.Trusts(3), "n3 <- coordinator epoch=7 leader=n2")
	does(t, "n1 beats", s.Trusts(1), "")
	s = follower(t, 1, 2, viewOf(3))
	does(t, "n3 beats at who follows", s.Trusts(3), "")
}

// "Every message's epoch is adopted (saved) if higher." Without it a process that
// was away numbers its leadership below what the others have seen, and they refuse it
// for ever.
func TestEveryEpochIsAdopted(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
		c.Node(1).Saved.Epoch, c.Node(2).Saved.Epoch = 5, 5
		c.StartAll() // n3 was away, it knows of no epoch
		return c.AgreedAfter(100 * T)
	})
}

// "A Coordinator older than my saved epoch is never followed, also after a restart
// when I follow nobody." Without it a late message brings back a leadership that has
// ended, and the dead that led.
func TestAnOldCoordinatorIsNotFollowedAfterARestart(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
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
			return fmt.Sprintf("n1 knew epoch 2, and follows the dead n3 in epoch %d", got.Epoch)
		}
		return c.AgreedAfter(2 * T)
	})
}

// strayEpoch makes a cluster of four in which n1 knows epoch 5 from a process that
// has died since, and nobody else does; n1 follows n3, which leads in epoch 2. Then n4
// recovers, and leads in epoch 2 as well, with the higher ID.
func strayEpoch(c *host.Cluster) string {
	c.StartAll()
	c.Run(3 * T)
	c.Crash(4)
	c.Suspect(4, 1, 2, 3) // n3 leads in epoch 2
	c.Run(2 * T)

	// n2 hears nobody and nobody hears n2: it elects itself until it is in epoch 5.
	c.Lose(func(from, to int, _ algo.Message) bool { return from == 2 || to == 2 })
	c.Suspect(3, 2)
	c.Run(2 * T)
	for c.Leader(2) != leadership(5, 2) {
		c.Campaign(2)
		c.Run(2 * T)
	}

	// It restarts, and answers n1, slowly. When that arrives n1 follows n3 again.
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
	if p := c.Node(1).Machine.Algorithm().(*process); p.epoch != 5 || c.Leader(1) != leadership(2, 3) || p.phase != settled {
		return fmt.Sprintf("n1 knows epoch %d and follows %s", p.epoch, name(c.Leader(1).ID))
	}

	c.Start(4)
	return c.AgreedAfter(100 * T)
}

// "Who refuses a Coordinator and follows nobody newer sends Answer with its epoch."
// Without it the leader never hears of the epoch that keeps it from being followed.
//
// "A settled leader that has adopted an epoch above its own leadership's bumps and
// announces to all." Without it, it hears of the epoch and is refused all the same.
func TestAStrayEpochIsOvercome(t *testing.T) {
	goesWell(t, 4, strayEpoch)
}

// "At most so often in an announce_interval." Without it, two leaders whose views say of each
// other that it may not lead answer each bump with the next one.
func TestALeaderBumpsItsEpochOnlySoOften(t *testing.T) {
	goesWell(t, 2, func(c *host.Cluster) string {
		c.StartAll()
		c.Run(3 * T) // n2 leads, and n1 hears that it may not
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
		return c.AgreedAfter(3 * Defaults(timing).AnnounceInterval)
	})
}

// The views of n3 and n4 differ, both lead, and messages are doubled: the answers to the
// answers filled the memory.
func TestSeed37317(t *testing.T) {
	if c := walk.Take(host.Seeded(37317), false); c.Broken != "" {
		t.Error(c.Broken)
	}
}

// The same rule, for each message that a leader may hear a newer epoch in. Its interval goes on.
func TestALeaderBumpsItsEpoch(t *testing.T) {
	const bumped = "save 10; monitor; "
	const toAll = "n1 n2 <- coordinator epoch=10 leader=n3"
	lower := func() *host.Solo { return leading(t, 3, viewOf(3)) }
	does(t, "an Answer", lower().Hears(1, Answer{9}), bumped+toAll+"; announce n3 in 10")
	does(t, "an Election, which is answered first", lower().Hears(1, Election{9}), bumped+"n1 <- answer epoch=9; "+toAll+"; announce n3 in 10")
	does(t, "a Coordinator of somebody below", lower().Hears(1, Coordinator{Epoch: 9, Leader: n(2)}), bumped+toAll+"; announce n3 in 10")
	does(t, "a Coordinator of a stranger", lower().Hears(1, Coordinator{Epoch: 9, Leader: n(9)}), bumped+toAll+"; announce n3 in 10")
	does(t, "an older epoch", lower().Hears(1, Answer{6}), "")
}

// "A Coordinator naming someone below me is not followed." Without it the highest
// follows who took over while it was thought dead, for good.
func TestSomebodyBelowIsNotFollowed(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.Suspect(3, 1, 2) // wrongly; n2 leads, and repeats it
		return c.AgreedAfter(100 * T)
	})
}

// "… or naming me for a leadership I do not hold, is not followed." Without it a
// process takes itself for the leader of an epoch in which it led before it crashed:
// the leadership is announced twice, once more after others may have taken over.
func TestALeadershipThatIsNotHeldIsNotTaken(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
		c.Start(1, 2)
		c.Run(6 * T)
		if got := c.Leader(1); got != leadership(1, 2) {
			return fmt.Sprintf("n1 follows %s in epoch %d", name(got.ID), got.Epoch)
		}
		c.Crash(2)
		c.Start(2) // so fast that n1 does not notice, and n1 tells it of its own leadership
		c.Deliver(1, 2, Coordinator{Epoch: 1, Leader: n(2)})
		c.Run(6 * T)
		if got := c.Leader(1); got != leadership(2, 2) {
			return fmt.Sprintf("n1 follows %s in epoch %d", name(got.ID), got.Epoch)
		}
		return ""
	})
}

// "The same for one naming somebody I suspect." Without it a process is told of its
// dead leader by somebody who has not noticed, follows it, and since the detector has
// reported that death already it follows the dead for good.
func TestTheSuspectedIsNotFollowed(t *testing.T) {
	goesWell(t, 3, func(c *host.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.Crash(3)
		c.Suspect(3, 1)                                      // n1 asks n2,
		c.Deliver(2, 1, Coordinator{Epoch: 1, Leader: n(3)}) // which has not noticed,
		c.Crash(2)                                           // and crashes
		c.Detect = T / 10
		c.Report(2)
		return c.AgreedAfter(100 * T)
	})
}

// The same rule, where it is met by a leadership that is contested.
func TestACoordinatorIsContested(t *testing.T) {
	const asks = "answer in 20ms; monitor n3 n4; n3 n4 <- election epoch=9"
	s := follower(t, 2, 4, viewOf(4))
	does(t, "somebody below", s.Hears(1, Coordinator{Epoch: 9, Leader: n(1)}), "save 9; "+asks)
	does(t, "somebody below, during the election", s.Hears(1, Coordinator{Epoch: 10, Leader: n(1)}), "save 10")

	s = follower(t, 2, 4, viewOf(4))
	does(t, "this process", s.Hears(1, Coordinator{Epoch: 9, Leader: n(2)}), "save 9; "+asks)

	all := members(2)
	all[0].Priority = 1 // n1 is above n2, and has the lower ID
	s = leading(t, 1, algo.NewView(1, all...))
	does(t, "somebody below in the same epoch, with a higher ID", s.Hears(2, Coordinator{Epoch: 7, Leader: n(2)}),
		"save 8; monitor; n2 <- coordinator epoch=8 leader=n1; announce n1 in 8")
}

// "A leader repeats Coordinator to everybody else, above too." Without it two leaders
// never find each other after a heal: each believes that all is well.
func TestALeaderRepeatsItself(t *testing.T) {
	goesWell(t, 4, func(c *host.Cluster) string {
		c.StartAll()
		c.Run(3 * T)
		c.Lose(func(from, to int, _ algo.Message) bool { return (from <= 2) != (to <= 2) })
		c.Suspect(4, 1, 2) // by silence
		c.Run(10 * T)
		c.Suspect(3, 2, 1)
		c.Run(10 * T)
		if got := c.Leaders(); got != 2 {
			return fmt.Sprintf("%d leaders under a partition, want one on each side", got)
		}
		c.Lose(func(_, _ int, _ algo.Message) bool { return false })
		return c.AgreedAfter(20 * T)
	})
}

func TestARepeatGoesToEverybodyAndIsNotCounted(t *testing.T) {
	s := leading(t, 2, viewOf(3))
	does(t, "its timer ends", s.Expires("announce"),
		"announce in 100ms; n1 n3 <- coordinator epoch=7 leader=n2 again")
}

// A member may come back with a much later epoch than the others have. Wherever its message arrives,
// they follow.
func TestMessageOfMuchLaterEpoch(t *testing.T) {
	const size = 4
	for _, ahead := range []algo.Epoch{1 << 32, algo.MaxEpoch / 2} {
		for _, m := range []algo.Message{
			Election{ahead + 1}, Answer{ahead + 1},
			Coordinator{Epoch: ahead + 1, Leader: n(1)}, Coordinator{Epoch: ahead + 1, Leader: n(4)},
		} {
			for to := 2; to <= size; to++ {
				c := settledCluster(t, Defaults(timing), size)
				c.Deliver(1, to, m)
				if why := c.AgreedAfter(5 * Defaults(timing).AnnounceInterval); why != "" {
					t.Errorf("n%d hears %v from n1: %s\n%s", to, m, why, c.Story())
				}
			}
		}
	}
}

// Who was answered and hears of no leader misses the highest of those who answered.
func TestTheHeirIsMissed(t *testing.T) {
	s := alone(1, viewOf(4), Defaults(timing))
	s.Start(6)
	for _, from := range []int{2, 4, 3} {
		s.Hears(from, Answer{6})
	}
	notes := s.Machine.Step(driver.Event{Kind: driver.EventExpire, Timer: timerCoordinator}).Notes
	if len(notes) != 1 || notes[0].Missed != n(4) || fmt.Sprintf(notes[0].Format, "n4", notes[0].Args[1]) != "misses n4, which answered and does not lead" {
		t.Errorf("notes %v", notes)
	}
}
