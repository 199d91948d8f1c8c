package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/trace"
)

func lanVote(t testing.TB) algo.Spec {
	t.Helper()
	spec, err := vote.New(vote.Defaults(algo.LAN()))
	must(t, err)
	return spec
}

// TestAVoteLeaderThatWorksIsLeftToWork counts the leaderships of five nodes that begin while
// something is wrong with the network. The comments say how many that were when who missed its
// leader called the next round at once, with seed 1.
func TestAVoteLeaderThatWorksIsLeftToWork(t *testing.T) {
	flaps := func(cut, whole time.Duration, alone, rest string) []string {
		var steps []string
		for range 15 {
			steps = append(steps, "partition "+alone+" "+rest, fmt.Sprint("run ", cut), "heal", fmt.Sprint("run ", whole))
		}
		return steps
	}
	for _, tc := range []struct {
		name string
		do   []string
		most int
	}{
		{"one follower does not hear the leader", []string{"cut n1 n3", "run 12s", "heal"}, 0},                   // 13
		{"one follower and the leader do not hear each other", []string{"cut n1 n3", "cut n3 n1", "run 12s"}, 0}, // 13
		{"a bridge", []string{"partition n1,n2,n3 n3,n4,n5", "run 15s", "heal"}, 0},                              // 17
		{"the leader keeps its majority, and all heals", []string{"partition n1,n2,n3 n4,n5", "run 10s"}, 0},     // 1
		{"the lowest follower flaps", flaps(600*ms, 1300*ms, "n5", "n1,n2,n3,n4"), 0},                            // 2
		{"the leader flaps", flaps(600*ms, 1300*ms, "n1", "n2,n3,n4,n5"), 2},                                     // 2
		{"the leader flaps, slowly", flaps(2*time.Second, 3*time.Second, "n1", "n2,n3,n4,n5"), 2},                // 15
		{"nobody may lead", []string{"resign n2 1m", "resign n3 1m", "resign n4 1m", "resign n5 1m", "run 9s"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(3) {
				terms := map[algo.Epoch]int{}
				w := New(Config{Spec: lanVote(t), Delay: Fixed(ms), Seed: 1 + seed, Trace: func(e trace.Event) {
					if e.Kind == trace.Announce && e.Leader.ID == e.Node {
						terms[e.Leader.Epoch]++
					}
				}})
				must(t, w.Cluster(5))
				w.Run(2 * time.Second)
				clear(terms)
				for _, step := range tc.do {
					must(t, w.Do("%s", step))
				}
				must(t, w.Do("heal"))
				w.Await(algo.LAN().Bound())
				if len(w.Violations()) > 0 || len(terms) > tc.most {
					t.Errorf("seed %d: %d leaderships, want at most %d: %v, %v", 1+seed, len(terms), tc.most, terms, w.Violations())
				}
				for term, times := range terms {
					if times > 1 {
						t.Errorf("seed %d: %d leaderships in term %d", 1+seed, times, term)
					}
				}
			}
		})
	}
}

// TestVoteStartsAtOnce is how long five nodes need to agree: at their first start, all killed and
// started again, 60 ms apart too, and one that comes back.
func TestVoteStartsAtOnce(t *testing.T) {
	for _, size := range []int{3, 5} {
		w := New(Config{Spec: lanVote(t), Delay: Fixed(ms), Seed: 1})
		agrees := func(what string, most time.Duration) {
			t.Helper()
			began := w.now
			for w.now < began+10*time.Second {
				if _, _, agreed := w.Leader(); agreed {
					break
				}
				w.Run(ms)
			}
			if took := w.now - began; took > most {
				t.Errorf("%d nodes: %s takes %v, want at most %v: %s", size, what, took, most, w.Opinions())
			}
			w.Run(time.Second)
		}
		each := func(do string, apart time.Duration) {
			for n := range size {
				must(t, w.Do("%s n%d", do, n+1))
				w.Run(apart)
			}
		}
		must(t, w.Cluster(size))
		agrees("the first start", 10*ms)
		each("crash", 0)
		each("restart", 0)
		agrees("a start of all", 10*ms)
		each("crash", 0)
		each("restart", 60*ms)
		agrees("a start of one after the other", 400*ms)
		must(t, w.Do("crash n%d", size))
		w.Run(time.Second)
		must(t, w.Do("restart n%d", size))
		agrees("a follower that comes back", 10*ms)
	}
}

// TestVoteElectsWhereMessagesAreSlow: 500 ms one way, where the timing says 200 ms there and back.
func TestVoteElectsWhereMessagesAreSlow(t *testing.T) {
	for seed := range uint64(10) {
		for _, delay := range []Delay{Fixed(500 * ms), Uniform(300*ms, 500*ms)} {
			w := New(Config{Spec: lanVote(t), Delay: delay, Seed: 1 + seed})
			must(t, w.Cluster(5))
			w.Run(10 * time.Second)
			if _, _, agreed := w.Leader(); !agreed {
				t.Errorf("seed %d, %v: no agreement after 10 s: %s", 1+seed, delay, w.Opinions())
			}
		}
	}
}
