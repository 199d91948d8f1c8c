package sim

import (
	"maps"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
)

const T = 10 * time.Millisecond

var tight = algo.Timing{RoundTrip: 2 * T, Heartbeat: 12 * T}

func spec(t testing.TB, change func(*bully.Options)) algo.Spec {
	t.Helper()
	o := bully.Defaults(tight)
	if change != nil {
		change(&o)
	}
	spec, err := bully.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func textbook(o *bully.Options) { o.SkipSuspected = false }

// TestCountsOfBully is the table of messages and turnaround that is known for bully,
// through whole nodes. N counts the crashed one too.
func TestCountsOfBully(t *testing.T) {
	type counts = map[string]uint64
	all := func(n uint64) counts {
		return counts{"election": n * (n - 1) / 2, "answer": (n - 1) * (n - 2) / 2, "coordinator": n - 2}
	}
	for _, test := range []struct {
		name       string
		options    func(n int) Options
		want       func(n uint64) counts
		lost       func(n uint64) uint64 // sent to the crashed one
		turnaround float64
		decided    float64
	}{
		{
			name: "one crashed, the highest live starts and knows it",
			options: func(n int) Options {
				return Options{Spec: spec(t, nil), Crashed: 1, Initiators: []int{n - 1}}
			},
			want:       func(n uint64) counts { return counts{"coordinator": n - 2} },
			lost:       func(uint64) uint64 { return 0 },
			turnaround: 1,
		},
		{
			name: "one crashed, the lowest starts, textbook",
			options: func(n int) Options {
				return Options{Spec: spec(t, textbook), Crashed: 1, Initiators: []int{1}, Textbook: true}
			},
			want:       all,
			lost:       func(n uint64) uint64 { return n - 1 },
			turnaround: 4, decided: 3,
		},
		{
			name: "one crashed, everyone starts, textbook",
			options: func(n int) Options {
				return Options{Spec: spec(t, textbook), Crashed: 1, Textbook: true}
			},
			want:       all,
			lost:       func(n uint64) uint64 { return n - 1 },
			turnaround: 3, decided: 2,
		},
		{
			name: "nobody crashed, the highest starts",
			options: func(n int) Options {
				return Options{Spec: spec(t, textbook), Initiators: []int{n}, Textbook: true}
			},
			want:       func(n uint64) counts { return counts{"coordinator": n - 1} },
			lost:       func(uint64) uint64 { return 0 },
			turnaround: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := 3; n <= 20; n++ {
				o := test.options(n)
				o.Nodes, o.Delay = n, Fixed(T)
				r, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if want := test.want(uint64(n)); !maps.Equal(r.Kinds, want) {
					t.Errorf("N=%d: sent %v, want %v", n, r.Kinds, want)
				}
				if want := r.Sent - test.lost(uint64(n)); r.Delivered != want {
					t.Errorf("N=%d: delivered %d, want %d", n, r.Delivered, want)
				}
				if test.decided > 0 && r.Sent != uint64(n*n-n-1) {
					t.Errorf("N=%d: sent %d, want N²-N-1 = %d", n, r.Sent, n*n-n-1)
				}
				if r.Turnaround != test.turnaround || r.Decided != test.decided {
					t.Errorf("N=%d: decided after %v T and known after %v T, want %v and %v", n, r.Decided, r.Turnaround, test.decided, test.turnaround)
				}
				if r.Leader != n-o.Crashed || !r.Agreed || len(r.Violations) > 0 {
					t.Errorf("N=%d: leader %d, agreed %v, violations %v; want leader %d", n, r.Leader, r.Agreed, r.Violations, n-o.Crashed)
				}
			}
		})
	}
}
