package ring

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

type counts = map[string]int

// cost runs an election from now on. It returns the messages sent, and the time
// until every live process knows the leader. Detection takes no time.
func cost(t *testing.T, c *algosim.Cluster, N int, begin func()) (counts, time.Duration) {
	t.Helper()
	began := c.Now
	begin()
	c.Run(10 * time.Duration(N) * T)
	c.RequireAgreement(t)
	if !maps.Equal(c.Sent, c.Delivered) {
		t.Errorf("N=%d: sent %v, delivered %v", N, c.Sent, c.Delivered)
	}
	return c.Sent, c.LastAnnounced - began
}

func wantCost(t *testing.T, N int, sent, want counts, took, turnaround time.Duration) {
	t.Helper()
	if !maps.Equal(sent, want) {
		t.Errorf("N=%d: sent %v, want %v", N, sent, want)
	}
	if took != turnaround {
		t.Errorf("N=%d: turnaround %v, want %v", N, took, turnaround)
	}
}

// "Best case = 2N, worst case = 3N−1": one process starts, and the highest is d hops
// ahead of it.
func TestCountsWhenOneStarts(t *testing.T) {
	for N := 3; N <= 20; N++ {
		for d := range N {
			c := agreedCluster(t, viewOf(N))
			sent, took := cost(t, c, N, func() { c.Campaign(N - d) })
			wantCost(t, N, sent, counts{"election": N + d, "elected": N}, took, time.Duration(2*N+d-1)*T)
		}
	}
}

// The counts are the same in a ring in any order of priorities: the processes between the starter and the highest do
// not change them.
func TestCountsWhenOneStartsInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for N := 3; N <= 20; N++ {
		for range 10 {
			order := random.Perm(N)
			starter := random.IntN(N)
			d := (slices.Index(order, N-1) - starter + N) % N
			c := agreedCluster(t, ranked(order...))
			sent, took := cost(t, c, N, func() { c.Campaign(starter + 1) })
			wantCost(t, N, sent, counts{"election": N + d, "elected": N}, took, time.Duration(2*N+d-1)*T)
		}
	}
}

// "When each process initiates the algorithm": in the best case, priorities rise clockwise; in the worst, they fall.
func TestCountsWhenAllStart(t *testing.T) {
	for _, tc := range []struct {
		name     string
		priority func(i, N int) int
		election func(N int) int
	}{
		{"best", func(i, _ int) int { return i }, func(N int) int { return 2*N - 1 }},
		{"worst", func(i, N int) int { return N - i }, func(N int) int { return N * (N + 1) / 2 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for N := 3; N <= 20; N++ {
				var order []int
				for i := range N {
					order = append(order, tc.priority(i, N))
				}
				c := newCluster(ranked(order...))
				sent, took := cost(t, c, N, c.StartAll)
				wantCost(t, N, sent, counts{"election": tc.election(N), "elected": N}, took, time.Duration(2*N-1)*T)
			}
		})
	}
}

// In a random order, the mean is N·H(N)+N messages: the token of a candidate with k higher ones makes N/(k+1) hops on
// average before a higher one drops it.
func TestMeanCountsWhenAllStart(t *testing.T) {
	const runs = 200
	for N := 3; N <= 20; N++ {
		random := rand.New(rand.NewPCG(uint64(N), 0))
		sum := 0
		for range runs {
			c := newCluster(ranked(random.Perm(N)...))
			c.Tracing = false
			sent, took := cost(t, c, N, c.StartAll)
			sum += algosim.Total(sent)
			if took != time.Duration(2*N-1)*T {
				t.Errorf("N=%d: turnaround %v, want (2N-1)T", N, took)
			}
		}
		want := float64(N)
		for k := 1; k <= N; k++ {
			want += float64(N) / float64(k)
		}
		if got := float64(sum) / runs; got < 0.95*want || got > 1.05*want {
			t.Errorf("N=%d: %.1f messages on the mean of %d runs, want N·H(N)+N = %.1f", N, got, runs, want)
		}
	}
}

// A failover takes the fewest messages if the predecessor of the crashed leader is the next highest: 2m for m live
// processes, which all know the leader after 2m−1 hops.
func TestCountsWhenLeaderCrashes(t *testing.T) {
	for N := 3; N <= 20; N++ {
		c := agreedCluster(t, viewOf(N))
		c.Crash(N)
		m := N - 1
		sent, took := cost(t, c, N, func() { c.Suspect(N, N-1) })
		wantCost(t, N, sent, counts{"election": m, "elected": m}, took, time.Duration(2*m-1)*T)
	}
}

// A restarted follower and its successor exchange two messages. Its predecessor sends a question more if it has
// suspected the follower.
func TestCountsWhenFollowerRestarts(t *testing.T) {
	for N := 3; N <= 20; N++ {
		c := agreedCluster(t, viewOf(N))
		c.Crash(2)
		c.Start(2)
		c.Run(2 * T)
		c.RequireLeader(t, 2, leadership(1, N))
		if sent := algosim.Total(c.Sent); sent != 2 {
			t.Errorf("N=%d: %d messages, want 2", N, sent)
		}

		c.Crash(2)
		c.Suspect(2, 1)
		c.Run(3 * T)
		c.Reset()
		c.Start(2)
		c.Trust(2, 1)
		c.Run(3 * T)
		c.RequireLeader(t, 2, leadership(1, N))
		if sent := algosim.Total(c.Sent); sent != 4 {
			t.Errorf("N=%d: %d messages after a suspicion, want 4", N, sent)
		}
	}
}

// TestColdStartBudget checks that a cold start without FIFO links costs at most 3·N² messages. An Elected can overtake
// a slow Election, which then starts another election: less than one on average.
func TestColdStartBudget(t *testing.T) {
	const runs = 300
	for _, N := range []int{1, 2, 3, 5, 10, 20} {
		random := rand.New(rand.NewPCG(uint64(N), 1))
		sum, worst, again := 0, 0, 0
		for range runs {
			c := newCluster(ranked(random.Perm(N)...))
			c.Tracing = false
			c.Delay = func(_, _ int, _ algo.Message) (time.Duration, bool) {
				return time.Duration(1 + random.Int64N(int64(T))), true
			}
			c.StartAll()
			c.Run(50 * time.Duration(N) * T)
			c.RequireAgreement(t)
			sent := algosim.Total(c.Sent)
			sum += sent
			worst = max(worst, sent)
			if c.Leader(1).Epoch > 1 {
				again++
			}
		}
		t.Logf("N=%d: %.1f messages on the mean, at most %d; %.1f %% of the elections start again", N, float64(sum)/runs, worst, 100*float64(again)/runs)
		if budget := 3 * N * N; N > 2 && worst > budget {
			t.Errorf("N=%d: a cold start costs %d messages, want at most 3·N² = %d", N, worst, budget)
		}
	}
}
