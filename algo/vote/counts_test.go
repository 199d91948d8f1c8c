package vote

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// TestCounts checks the known message counts and turnaround times of vote. N includes
// crashed servers. Detection takes no time. An election is decided when a server leads, and
// the turnaround ends when every live server knows the leader. Periodic messages are not counted.
func TestCounts(t *testing.T) {
	type counts = map[string]int
	full := func(N int) counts { return counts{"elect": N * (N - 1), "vote": N - 1, "lead": N - 1} }
	startAll := func(c *algosim.Cluster, _ int) { c.StartAll() }
	one := func(i func(N int) int) func(c *algosim.Cluster, N int) {
		return func(c *algosim.Cluster, N int) {
			c.StartAll()
			c.Run(6 * T)
			c.Reset()
			c.Campaign(i(N))
		}
	}
	first := func(int) int { return 1 }
	middle := func(N int) int { return (N + 1) / 2 }
	last := func(N int) int { return N }
	for _, tc := range []struct {
		name             string
		options          Options
		start            func(c *algosim.Cluster, N int)
		sent             func(N int) counts
		decided, allKnow time.Duration // since the start of the election
		spread           time.Duration // how much earlier both may be
	}{
		{"all start at once, textbook", textbook(), startAll, full, rtt + T, rtt + 2*T, 0},
		{"all start at once, early close", Defaults(timing), startAll, full, 2 * T, 3 * T, 0},
		{"the first campaigns, the rest join, textbook", textbook(), one(first), full, rtt + 2*T, rtt + 3*T, T},
		{"one campaigns, the rest join, textbook", textbook(), one(middle), full, rtt + 2*T, rtt + 3*T, T},
		{"the last campaigns, the rest join, textbook", textbook(), one(last), full, rtt + 2*T, rtt + 3*T, T},
		{"the first campaigns, the rest join, early close", Defaults(timing), one(first), full, 3 * T, 4 * T, 0},
		{"one campaigns, the rest join, early close", Defaults(timing), one(middle), full, 3 * T, 4 * T, 0},
		{"the last campaigns, the rest join, early close", Defaults(timing), one(last), full, 3 * T, 4 * T, 0},
		{
			name: "the leader crashed, all detect it at once", options: Defaults(timing),
			start: func(c *algosim.Cluster, N int) {
				c.StartAll()
				c.Run(6 * T)
				c.Reset()
				c.Crash(1)
				for i := 2; i <= N; i++ {
					c.Suspect(1, i)
				}
			},
			sent:    func(N int) counts { return counts{"elect": (N - 1) * (N - 1), "vote": N - 2, "lead": N - 1} },
			decided: 2 * T, allKnow: 3 * T,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for N := 3; N <= 20; N++ {
				tc.options.HeartbeatInterval = 1000 * T // no Lead of the old leader is in flight
				c := algosim.New(newSpec(tc.options), algosim.View(N))
				tc.start(c, N)
				began := c.Now
				decided := -time.Nanosecond
				before := c.Node(N).Machine.Leader().Epoch
				for !leads(c, before) && c.Now < began+100*T {
					c.Run(T / 10)
					decided = c.Now - began
				}
				c.Run(50 * T)
				c.RequireAgreement(t)
				if want := tc.sent(N); !maps.Equal(c.Sent, want) {
					t.Errorf("N=%d: sent %v, want %v", N, c.Sent, want)
				}
				if problem := within(decided, tc.decided, tc.spread); problem != "" {
					t.Errorf("N=%d: decided after %s", N, problem)
				}
				if problem := within(c.LastAnnounced-began, tc.allKnow, tc.spread); problem != "" {
					t.Errorf("N=%d: all know after %s", N, problem)
				}
			}
		})
	}
}

// leads reports whether a live server leads in an epoch above than.
func leads(c *algosim.Cluster, than algo.Epoch) bool {
	for _, i := range c.Live() {
		if l := c.Leader(i); l.ID == n(i) && l.Epoch > than {
			return true
		}
	}
	return false
}

func within(got, want, spread time.Duration) string {
	if got < want-spread || got > want {
		return fmt.Sprintf("%v, want %v to %v", got, want-spread, want)
	}
	return ""
}

// A cold start of N servers at once costs one election.
func TestColdStart(t *testing.T) {
	for _, N := range []int{1, 2, 3, 5, 10, 30} {
		c := algosim.New(newSpec(Defaults(timing)), algosim.View(N))
		c.StartAll()
		c.Run(3 * T)
		c.RequireAgreement(t)
		if got, want := algosim.Total(c.Sent), N*(N-1)+2*(N-1); got != want {
			t.Errorf("N=%d: %d messages, want %d", N, got, want)
		}
	}
}
