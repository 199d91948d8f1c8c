package bully

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// TestCounts checks the known message counts and turnaround times of bully. N
// includes the crashed process. Detection takes no time. The turnaround ends when every
// live process knows the leader. Periodic messages are not counted.
func TestCounts(t *testing.T) {
	type counts = map[string]int
	cases := []struct {
		name       string
		options    Options
		crashed    bool // the highest has crashed
		start      func(c *algosim.Cluster, N int)
		sent       func(N int) counts
		delivered  func(N int) counts
		turnaround time.Duration
	}{
		{
			name:    "one crashed, the highest live process detects it",
			options: Defaults(timing), crashed: true,
			start:      func(c *algosim.Cluster, N int) { c.Suspect(N, N-1) },
			sent:       func(N int) counts { return counts{"coordinator": N - 2} },
			delivered:  func(N int) counts { return counts{"coordinator": N - 2} },
			turnaround: T,
		},
		{
			name:    "one crashed, all live processes detect it",
			options: Defaults(timing), crashed: true,
			start: func(c *algosim.Cluster, N int) {
				for i := 1; i < N; i++ {
					c.Suspect(N, i)
				}
			},
			sent:       func(N int) counts { return counts{"coordinator": N - 2} },
			delivered:  func(N int) counts { return counts{"coordinator": N - 2} },
			turnaround: T,
		},
		{
			name:    "one crashed, the lowest starts, textbook",
			options: textbook(), crashed: true,
			start: func(c *algosim.Cluster, N int) { c.Suspect(N, 1) },
			sent: func(N int) counts {
				return counts{"election": N * (N - 1) / 2, "answer": (N - 1) * (N - 2) / 2, "coordinator": N - 2}
			},
			delivered: func(N int) counts {
				return counts{"election": N*(N-1)/2 - (N - 1), "answer": (N - 1) * (N - 2) / 2, "coordinator": N - 2}
			},
			turnaround: 4 * T,
		},
		{
			name:    "one crashed, all start, textbook",
			options: textbook(), crashed: true,
			start: func(c *algosim.Cluster, N int) {
				for i := 1; i < N; i++ {
					c.Suspect(N, i)
				}
			},
			sent: func(N int) counts {
				return counts{"election": N * (N - 1) / 2, "answer": (N - 1) * (N - 2) / 2, "coordinator": N - 2}
			},
			delivered: func(N int) counts {
				return counts{"election": N*(N-1)/2 - (N - 1), "answer": (N - 1) * (N - 2) / 2, "coordinator": N - 2}
			},
			turnaround: 3 * T,
		},
		{
			name:    "none crashed, the highest restarts",
			options: textbook(),
			start: func(c *algosim.Cluster, N int) {
				c.Crash(N)
				c.Start(N)
			},
			sent:       func(N int) counts { return counts{"inquiry": N - 1, "answer": N - 1, "coordinator": N - 1} },
			delivered:  func(N int) counts { return counts{"inquiry": N - 1, "answer": N - 1, "coordinator": N - 1} },
			turnaround: 3 * T,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for N := 3; N <= 20; N++ {
				c := agreedCluster(t, tc.options, N)
				if tc.crashed {
					c.Crash(N)
				}
				began := c.Now
				tc.start(c, N)
				c.Run(50 * T)
				c.RequireAgreement(t)
				if want := tc.sent(N); !maps.Equal(c.Sent, want) {
					t.Errorf("N=%d: sent %v, want %v", N, c.Sent, want)
				}
				if want := tc.delivered(N); !maps.Equal(c.Delivered, want) {
					t.Errorf("N=%d: delivered %v, want %v", N, c.Delivered, want)
				}
				if got := c.LastAnnounced - began; got != tc.turnaround {
					t.Errorf("N=%d: turnaround %v, want %v", N, got, tc.turnaround)
				}
				if sum := algosim.Total(c.Sent); tc.crashed && tc.turnaround > T && sum != N*N-N-1 {
					t.Errorf("N=%d: %d messages, want N²-N-1 = %d", N, sum, N*N-N-1)
				}
			}
		})
	}
}

// TestColdStartBudget checks that N nodes that start at once send at most 3·N² messages, however
// long each message takes up to T, and in whatever order they start. Two rules ensure this:
// a leader replies to the sender of an Election alone, and an Election of an older epoch changes
// nothing. Without both, the cost has no such bound.
func TestColdStartBudget(t *testing.T) {
	for _, N := range []int{1, 2, 3, 4, 5, 7, 10, 20, 50, 100} {
		worst := coldStart(t, N, 0)
		for seed := range uint64(max(3, 100/N)) {
			worst = max(worst, coldStart(t, N, seed+1))
		}
		t.Logf("N=%d: at most %d messages, %.2f N²", N, worst, float64(worst)/float64(N*N))
		if worst > 3*N*N {
			t.Fatalf("N=%d: a cold start costs %d messages, want at most 3·N² = %d", N, worst, 3*N*N)
		}
	}
}

// coldStart returns the number of messages that N nodes send when they start at once, until the
// cluster is quiet. With seed 0, each message takes T.
func coldStart(t testing.TB, N int, seed uint64) int {
	t.Helper()
	c := newCluster(Defaults(timing), viewOf(N))
	var order []int
	for i := range N {
		order = append(order, i+1)
	}
	if seed != 0 {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(N, func(i, j int) { order[i], order[j] = order[j], order[i] })
		c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) {
			return time.Duration(1 + random.Int64N(int64(T))), true
		}
	}
	c.Start(order...)
	c.Run(50 * T)
	c.RequireAgreement(t)
	return algosim.Total(c.Sent)
}
