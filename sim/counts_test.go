package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/internal/testkit"
)

const T = 10 * time.Millisecond

var tight = algo.Timing{RoundTrip: 2 * T, Heartbeat: 12 * T}

// patient makes bully and vote wait for their timers, whatever the detector reports.
func patient(options any) {
	switch o := options.(type) {
	case *bully.Options:
		o.SkipSuspected = false
	case *vote.Options:
		o.EarlyClose = false
	}
}

// known returns an algorithm with timeouts for messages that take T.
func known(t testing.TB, name string, changes ...func(options any)) algo.Spec {
	t.Helper()
	return made(t, name, Fixed(T).Algo(), changes...)
}

// lan returns an algorithm with timeouts for a local network.
func lan(t testing.TB, name string) algo.Spec {
	t.Helper()
	return made(t, name, algo.LAN())
}

// spec returns bully with timeouts for messages that take T, and for a slower detector.
func spec(t testing.TB) algo.Spec {
	t.Helper()
	return made(t, "bully", tight)
}

func made(t testing.TB, name string, timing algo.Timing, changes ...func(options any)) algo.Spec {
	t.Helper()
	spec, err := builtin.Registry()[name](timing, func(options any) error {
		for _, change := range changes {
			change(options)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// cost is the expected cost of an election.
type cost struct {
	kinds               map[string]uint64 // sent
	lost                uint64            // sent to crashed nodes
	decided, turnaround float64           // in T
}

// which describes an election.
func which(o Options) string {
	return fmt.Sprintf("%s %v, %d nodes of priorities %v, %d crash, %v start, delay %v, %+v, seed %d",
		o.Spec.Name, o.Spec.Settings, o.Nodes, o.Priorities, o.Crashed, o.Initiators, o.Delay, o.Faults, o.Seed)
}

// costs runs an election and compares all parts of its result with want.
func costs(t *testing.T, o Options, want cost) {
	t.Helper()
	o.Delay = Fixed(T)
	got, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var sent uint64
	for _, n := range want.kinds {
		sent += n
	}
	if !maps.Equal(got.Kinds, want.kinds) || got.Sent != sent {
		t.Errorf("%s: sent %d: %v, want %d: %v", which(o), got.Sent, got.Kinds, sent, want.kinds)
	}
	if got.Delivered != sent-want.lost {
		t.Errorf("%s: delivered %d, want %d", which(o), got.Delivered, sent-want.lost)
	}
	if got.Decided != want.decided || got.Turnaround != want.turnaround {
		t.Errorf("%s: decided after %v T and known after %v T, want %v and %v", which(o), got.Decided, got.Turnaround, want.decided, want.turnaround)
	}
	if got.Leader != o.Nodes-o.Crashed || !got.Agreed || len(got.Violations) > 0 {
		t.Errorf("%s: leader %d, agreed %v, violations %v; want leader %d", which(o), got.Leader, got.Agreed, got.Violations, o.Nodes-o.Crashed)
	}
}

// TestCounts has the table of messages and turnaround that is known for the three algorithms, and runs whole nodes. N
// includes the crashed nodes.
func TestCounts(t *testing.T) {
	type kinds = map[string]uint64
	bullyWorst := func(n int) cost {
		m := uint64(n)
		return cost{kinds: kinds{"election": m * (m - 1) / 2, "answer": (m - 1) * (m - 2) / 2, "coordinator": m - 2}, lost: m - 1}
	}
	voteAll := func(n int) kinds {
		m := uint64(n)
		return kinds{"elect": m * (m - 1), "vote": m - 1, "lead": m - 1}
	}
	for _, row := range []struct {
		name string
		run  func(t *testing.T, n int)
	}{
		{"bully, one crashed, the highest live starts and knows it", func(t *testing.T, n int) {
			costs(t, Options{Spec: known(t, "bully"), Nodes: n, Crashed: 1, Initiators: []int{n - 1}},
				cost{kinds: kinds{"coordinator": uint64(n) - 2}, turnaround: 1})
		}},
		{"bully, one crashed, the lowest starts, to the letter", func(t *testing.T, n int) {
			want := bullyWorst(n)
			want.decided, want.turnaround = 3, 4
			costs(t, Options{Spec: known(t, "textbook-bully"), Nodes: n, Crashed: 1, Initiators: []int{1}}, want)
			costs(t, Options{Spec: known(t, "bully", patient), Nodes: n, Crashed: 1, Initiators: []int{1}}, want)
		}},
		{"bully, one crashed, everyone starts, to the letter", func(t *testing.T, n int) {
			want := bullyWorst(n)
			want.decided, want.turnaround = 2, 3
			costs(t, Options{Spec: known(t, "textbook-bully"), Nodes: n, Crashed: 1}, want)
			costs(t, Options{Spec: known(t, "bully", patient), Nodes: n, Crashed: 1}, want)
		}},
		{"bully, no crash, the highest starts", func(t *testing.T, n int) {
			for _, spec := range []algo.Spec{known(t, "bully"), known(t, "bully", patient), known(t, "textbook-bully")} {
				costs(t, Options{Spec: spec, Nodes: n, Initiators: []int{n}},
					cost{kinds: kinds{"coordinator": uint64(n) - 1}, turnaround: 1})
			}
		}},
		{"ring, one starts", func(t *testing.T, n int) {
			for d := range n { // distance to the highest in hops: from 2N to 3N-1 messages
				for _, name := range []string{"ring", "textbook-ring"} {
					costs(t, Options{Spec: known(t, name), Nodes: n, Initiators: []int{n - d}},
						cost{kinds: kinds{"election": uint64(n + d), "elected": uint64(n)}, decided: float64(n + d), turnaround: float64(2*n + d - 1)})
				}
			}
		}},
		{"ring, all start, the best case", func(t *testing.T, n int) {
			costs(t, Options{Spec: known(t, "ring"), Nodes: n},
				cost{kinds: kinds{"election": uint64(2*n - 1), "elected": uint64(n)}, decided: float64(n), turnaround: float64(2*n - 1)})
		}},
		{"ring, all start, the worst case", func(t *testing.T, n int) {
			var falling []int
			for i := range n {
				falling = append(falling, n-i)
			}
			costs(t, Options{Spec: known(t, "ring"), Nodes: n, Priorities: falling},
				cost{kinds: kinds{"election": uint64(n * (n + 1) / 2), "elected": uint64(n)}, decided: float64(n), turnaround: float64(2*n - 1)})
		}},
		{"ring, all start, in random order", func(t *testing.T, n int) {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for range 10 {
				order := random.Perm(n)
				costs(t, Options{Spec: known(t, "ring"), Nodes: n, Priorities: order},
					cost{kinds: kinds{"election": hops(order), "elected": uint64(n)}, decided: float64(n), turnaround: float64(2*n - 1)})
			}
		}},
		{"vote, all start, at the end of the window", func(t *testing.T, n int) {
			costs(t, Options{Spec: known(t, "vote", patient), Nodes: n},
				cost{kinds: voteAll(n), decided: 3, turnaround: 4}) // RTT is 2T
		}},
		{"vote, all start, early close", func(t *testing.T, n int) {
			costs(t, Options{Spec: known(t, "vote"), Nodes: n}, cost{kinds: voteAll(n), decided: 2, turnaround: 3})
		}},
		{"vote, one starts, the rest join on its Elect", func(t *testing.T, n int) {
			for i := 1; i <= n; i++ {
				for _, early := range []bool{false, true} {
					o := Options{Spec: known(t, "vote"), Nodes: n, Initiators: []int{i}}
					want := cost{kinds: voteAll(n), decided: 3, turnaround: 4}
					if !early {
						o.Spec = known(t, "vote", patient)
						want.decided, want.turnaround = 4, 5
					}
					if n == 3 && i < 3 && !early { // two votes decide: that of the initiator and that of the leader
						want.decided, want.turnaround = 3, 4
					}
					costs(t, o, want)
				}
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			most := 20
			if testkit.UnderRace {
				most = 7
			}
			for n := 3; n <= most; n++ {
				row.run(t, n)
			}
		})
	}
}

// If all nodes start, the mean over all orders of the ring is N·H(N)+N messages.
func TestRingMeanMessageCount(t *testing.T) {
	spec := known(t, "ring")
	most := 6
	if testkit.UnderRace {
		most = 5
	}
	for n := 3; n <= most; n++ {
		var sent, orders uint64
		permute(n, func(order []int) {
			r, err := Run(t.Context(), Options{Spec: spec, Nodes: n, Priorities: order, Delay: Fixed(T)})
			if err != nil || len(r.Violations) > 0 {
				t.Fatal(err, r.Violations)
			}
			sent += r.Sent
			orders++
		})
		// In whole numbers: H(N) is the sum of 1/k, and orders is N!.
		want := orders * uint64(n)
		for k := 1; k <= n; k++ {
			want += orders * uint64(n) / uint64(k)
		}
		if sent != want {
			t.Errorf("N=%d: %d messages in %d orders, want %d", n, sent, orders, want)
		}
	}
}

// permute calls do with each order of 1 to n.
func permute(n int, do func([]int)) {
	order := make([]int, n)
	var place func(k int)
	place = func(k int) {
		if k > n {
			do(slices.Clone(order))
			return
		}
		for i := range order {
			if order[i] == 0 {
				order[i] = k
				place(k + 1)
				order[i] = 0
			}
		}
	}
	place(1)
}

// hops returns the number of Elections if all nodes start: each token passes to the next higher node, and that of the
// highest passes around the ring.
func hops(order []int) uint64 {
	total := 0
	for i := range order {
		d := 1
		for d < len(order) && order[(i+d)%len(order)] < order[i] {
			d++
		}
		total += d
	}
	return uint64(total)
}
