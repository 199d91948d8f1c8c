package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/testkit"
)

// startsAfter starts nodes in a random order, within a span.
func startsAfter(w *World, r *rand.Rand, span time.Duration) {
	at := make([]time.Duration, len(w.nodes))
	order := r.Perm(len(w.nodes))
	for i := range at {
		at[i] = w.now + time.Duration(r.Int64N(int64(span)+1))
	}
	slices.Sort(at)
	for i, n := range order {
		w.pass(at[i])
		w.nodes[n].start()
	}
}

// TestStartsAreQuick: when static members start or restart, or a follower restarts, no node waits for a timer.
// Messages take at most 3 ms here.
func TestStartsAreQuick(t *testing.T) {
	const size = 5
	starts := map[string]func(w *World, r *rand.Rand, span time.Duration){
		"the first": func(w *World, r *rand.Rand, span time.Duration) {
			for range size {
				w.add()
			}
			for _, n := range w.nodes {
				n.list = w.nodes
			}
			startsAfter(w, r, span)
		},
		"all again": func(w *World, r *rand.Rand, span time.Duration) {
			_ = w.Cluster(size)
			w.pass(2 * time.Second)
			for _, n := range w.nodes {
				w.crash(n)
			}
			w.pass(w.now + time.Second)
			startsAfter(w, r, span)
		},
		"a follower": func(w *World, r *rand.Rand, span time.Duration) {
			_ = w.Cluster(size)
			w.pass(2 * time.Second)
			leader, _, _ := w.Leader()
			n := w.nodes[(leader+r.IntN(size-1))%size]
			w.crash(n)
			w.pass(w.now + span + 100*time.Millisecond)
			n.start()
		},
	}
	for _, name := range []string{"bully", "ring", "vote"} {
		spec := lan(t, name)
		for what, start := range starts {
			for _, span := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond} {
				var most time.Duration
				enough := 50 * time.Millisecond
				switch {
				case name == "vote" && span >= 30*time.Millisecond:
					enough = 700 * time.Millisecond // in one of 20 runs some nodes vote before they hear all others, and the vote splits
				case name == "vote":
					enough = 25 * time.Millisecond
				}
				for seed := range few(20) {
					w := New(Config{Spec: spec, Seed: seed, Delay: Uniform(100*time.Microsecond, 3*time.Millisecond)})
					start(w, rand.New(rand.NewPCG(seed, 7)), span)
					last := w.now
					w.pass(last + time.Second)
					if _, _, agreed := w.Leader(); !agreed {
						t.Fatalf("%s, %s within %v, seed %d: %s", name, what, span, seed, w.Opinions())
					}
					for _, n := range w.nodes {
						if took := n.knew - last; took > enough {
							t.Errorf("%s, %s within %v, seed %d: n%d knows its leader %v after the last start", name, what, span, seed, n.number(), took)
						}
						most = max(most, n.knew-last)
					}
				}
				t.Logf("%s, %s within %v: %v at most", name, what, span, most)
			}
		}
	}
}

// TestSlowMessages: messages much slower than the configured timing delay an election, but not for ever.
func TestSlowMessages(t *testing.T) {
	for _, test := range []struct {
		algorithm string
		takes     Delay // time of a message, one way; the timing assumes 100 ms
		enough    time.Duration
	}{
		{"bully", Uniform(450*ms, 500*ms), 10 * time.Second},
		{"ring", Uniform(405*ms, 450*ms), 10 * time.Second},
		{"ring", Uniform(450*ms, 500*ms), 20 * time.Second},
		{"vote", Fixed(500 * ms), 10 * time.Second},
		{"vote", Uniform(300*ms, 500*ms), 10 * time.Second},
	} {
		for seed := range uint64(testkit.Rounds(3, 10)) {
			w := New(Config{Spec: lan(t, test.algorithm), Seed: seed, Delay: test.takes})
			must(t, w.Cluster(5))
			if took := w.Await(5 * time.Minute); took > test.enough {
				t.Errorf("%s, %v, seed %d: they agree after %v, want at most %v", test.algorithm, test.takes, seed, took, test.enough)
			}
		}
	}
}
