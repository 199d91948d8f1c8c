package vote

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules for large clusters: a step of N² messages can take longer than a window, and must not be repeated.

// In TestLargeClusterElectsWithSlowMessages, all messages wait for one processor, as if all nodes were
// processes on one machine: each takes 70 µs, and an Elect from every node to every other 1.4 s.
func TestLargeClusterElectsWithSlowMessages(t *testing.T) {
	for what, happens := range map[string]func(c *algosim.Cluster){
		"all start": func(*algosim.Cluster) {},
		"the leader crashes": func(c *algosim.Cluster) {
			c.Run(10 * time.Second)
			c.Crash(algosim.Number(c.Leader(2).ID))
		},
	} {
		c := newCluster(Defaults(algo.LAN()), viewOf(140))
		random := algosim.Seeded(1)
		c.Pick = func(least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64(most-least)+1))
		}
		c.DetectionTime = time.Millisecond
		var free time.Duration // time at which the processor is free
		c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) {
			free = max(free, c.Now) + 70*time.Microsecond
			return free - c.Now, true
		}
		c.StartAll()
		happens(c)
		c.Reset()
		if problem := c.DisagreementAfter(10 * time.Second); problem != "" || c.Violation != "" {
			t.Errorf("%s: %s%s; sent since: %v and %d periodic messages", what, problem, c.Violation, c.Sent, c.Periodic)
		}
	}
}

// While less than a majority has claimed, a large cluster waits, each time for longer.
func TestLargeClusterWaitsBeforeRequestingAgain(t *testing.T) {
	s := alone(2, viewOf(40), Defaults(timing))
	s.Start(6)
	expect(t, "one window", s.Expire(timerWindow), "window in 20ms")
	expect(t, "and another", s.Expire(timerWindow), "window in 40ms")
	for from := 3; from <= 22; from++ {
		s.Receive(from, Elect{Round: 7})
	}
	s.Expire(timerWindow)
	expect(t, "a majority claims; the pause is scaled as well", s.Expire(timerWindow), "save 7 for n2; pause in 240ms to 480ms; monitor")
}

// Each server of a large cluster monitors a few others until they have claimed, to avoid N² heartbeats in each
// interval.
func TestLargeClusterMonitorsSubset(t *testing.T) {
	s := alone(2, viewOf(20), Defaults(timing))
	s.Start(6)
	for from := 3; from <= 5; from++ {
		s.Receive(from, Elect{Round: 7})
	}
	expect(t, "n1 has not claimed", s.Suspect(1), "monitor n1 n6 n7 n8 n9")
	for from := 10; from <= 20; from++ {
		s.Receive(from, Elect{Round: 7})
	}
	for from := 6; from <= 8; from++ {
		s.Receive(from, Elect{Round: 7})
	}
	expect(t, "the last except n1, which is suspected", s.Receive(9, Elect{Round: 7}), "save 7 for n2; stop window; pause in 60ms to 120ms; monitor n1")
}
