package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/trace"
)

// disturbed counts the effects of a disturbance on five nodes that agreed on a leader.
type disturbed struct {
	begun, ended int           // number of leaderships
	two          time.Duration // time with two leaders
	twice        algo.Epoch    // epoch with two leaderships
}

// disturb runs five nodes until they agree on a leader, calls do, and counts leaderships from then on.
func disturb(t *testing.T, algorithm string, seed uint64, do func(w *World, leader int)) (d disturbed) {
	t.Helper()
	leading := make(map[algo.NodeID]bool)
	terms := make(map[algo.Epoch]bool) // epochs of the leaderships so far
	counting := false
	var since time.Duration
	w := New(Config{Spec: lan(t, algorithm), Seed: seed, Delay: Uniform(ms/2, ms), Trace: func(e trace.Event) {
		if e.Kind != trace.Announce && e.Kind != trace.Crash {
			return
		}
		before := len(leading)
		if leading[e.Node] {
			delete(leading, e.Node)
			if counting {
				d.ended++
			}
		}
		if e.Kind == trace.Announce && e.Leader.ID == e.Node {
			leading[e.Node] = true
			if counting {
				d.begun++
				if terms[e.Leader.Epoch] {
					d.twice = e.Leader.Epoch
				}
				terms[e.Leader.Epoch] = true
			}
		}
		if before < 2 && len(leading) >= 2 {
			since = e.At
		}
		if before >= 2 && len(leading) < 2 {
			d.two += e.At - since
		}
	}})
	must(t, w.Cluster(5))
	w.Run(5 * time.Second)
	leader, _, agreed := w.Leader()
	if !agreed {
		t.Fatal(w.Opinions())
	}
	counting = true
	do(w, leader)
	return d
}

// flaps returns commands that isolate a node repeatedly.
func flaps(node, rest string, off, on time.Duration) string {
	return strings.Repeat(fmt.Sprintf("partition %s %s; run %v; heal; run %v; ", node, rest, off, on), 15) + "heal"
}

// most limits a disturbance: the leaderships that start, those that end, and the time with two leaders.
type most struct {
	changes int
	two     time.Duration
}

// Bad links of some nodes end no leadership, or not each time. L leads five nodes at first, and the others are A to D,
// A the lowest of them.
func TestWorkingLeaderIsKept(t *testing.T) {
	for _, test := range []struct {
		name, do          string
		bully, ring, vote most
	}{
		{"one follower does not hear the leader", "cut L B; run 12s", most{}, most{}, most{}},
		{"one follower and the leader do not hear each other", "cut L B; cut B L; run 12s", most{}, most{}, most{}},
		{"a bridge", "partition L,A,B B,C,D; run 15s", most{}, most{}, most{}},
		{"the leader keeps its majority, and all heals", "partition L,A,B C,D; run 10s", most{2, 11 * time.Second}, most{2, 10 * time.Second}, most{}},
		{"the lowest follower flaps", flaps("A", "B,C,D,L", 600*ms, 1300*ms), most{}, most{}, most{}},
		{"the last follower flaps", flaps("D", "A,B,C,L", 600*ms, 1300*ms), most{4, 500 * ms}, most{2, 0}, most{}},
		{"the leader flaps", flaps("L", "A,B,C,D", 600*ms, 1300*ms), most{4, 500 * ms}, most{4, 510 * ms}, most{2, 500 * ms}},
		{"the leader flaps, slowly", flaps("L", "A,B,C,D", 2*time.Second, 3*time.Second), most{4, 3500 * ms}, most{6, 4 * time.Second}, most{2, 1500 * ms}},
		{"no other node is eligible", "resign A 1m; resign B 1m; resign C 1m; resign D 1m; run 9s", most{}, most{}, most{}},
		{
			"a lasting bad link, and two more that soon heal",
			"cut L D; run 10s; cut L C; run 2s; heal; cut L D; run 10s; cut L B; run 2s; heal; cut L D; run 10s",
			most{}, most{}, most{},
		},
	} {
		for algorithm, want := range map[string]most{"bully": test.bully, "ring": test.ring, "vote": test.vote} {
			t.Run(algorithm+"/"+test.name, func(t *testing.T) {
				for seed := range max(1, few(3)) {
					d := disturb(t, algorithm, seed, func(w *World, leader int) {
						names := []string{"L", fmt.Sprint("n", leader)}
						for n, follower := 1, 'A'; n <= 5; n++ {
							if n != leader {
								names = append(names, string(follower), fmt.Sprint("n", n))
								follower++
							}
						}
						for _, line := range strings.Split(strings.NewReplacer(names...).Replace(test.do), "; ") {
							must(t, w.Do("%s", line))
						}
						must(t, w.Heal())
						w.Await(algo.LAN().RecoveryBound())
						for _, v := range w.Violations() {
							t.Errorf("seed %d: %v", seed, v)
						}
					})
					if max(d.begun, d.ended) > want.changes || d.two > want.two {
						t.Errorf("seed %d: %d leaderships began, %d ended, and two led for %v, want at most %d and %v", seed, d.begun, d.ended, d.two, want.changes, want.two)
					}
					if algorithm == "vote" && d.twice > 0 {
						t.Errorf("seed %d: two leaderships in term %d", seed, d.twice)
					}
				}
			})
		}
	}
}

// TestRepeatedPauseIsDetectedEquallyFast: repeated pauses of a leader, and short stalls as on a busy machine, do not
// raise its timeout.
func TestRepeatedPauseIsDetectedEquallyFast(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		var took []time.Duration
		disturb(t, algorithm, 1, func(w *World, _ int) {
			for i := range 40 {
				leader, _, agreed := w.Leader()
				if !agreed {
					t.Fatal(w.Opinions())
				}
				if i%8 == 7 {
					must(t, w.Pause(leader))
					w.Run(200 * ms)
					must(t, w.Resume(leader))
					w.Run(time.Second)
				}
				must(t, w.Pause(leader))
				paused := w.now
				for found := false; !found && w.now < paused+10*time.Second; {
					w.Run(ms)
					follows, _ := w.Follows(leader%5 + 1)
					found = follows.ID != ID(leader)
				}
				took = append(took, w.now-paused)
				w.Run(time.Second)
				must(t, w.Resume(leader))
				w.Run(4 * time.Second)
			}
		})
		if first, longest := took[0], slices.Max(took); longest > first*13/10 {
			t.Errorf("%s: a paused leader was found after %v, later after %v, want 1.3 times as long at most", algorithm, first, longest)
		}
	}
}

// A resumed leader still considers itself leader. The new leader receives its heartbeats and replies.
func TestResumedLeaderLearnsSuccessorImmediately(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		for _, pause := range []time.Duration{500 * ms, time.Second, 5 * time.Second} {
			for seed := range uint64(5) {
				disturb(t, algorithm, seed, func(w *World, leader int) {
					must(t, w.Pause(leader))
					w.Run(pause + time.Duration(seed)*37*ms)
					must(t, w.Resume(leader))
					from := w.Now()
					two := from
					for w.Now() < from+3*time.Second {
						w.Run(ms)
						leads := 0
						for n := 1; n <= 5; n++ {
							if l, _ := w.Follows(n); l.ID == ID(n) {
								leads++
							}
						}
						if leads > 1 {
							two = w.Now()
						}
					}
					if two-from > 25*ms {
						t.Errorf("%s, stopped for %v, seed %d: two led for %v after it went on", algorithm, pause, seed, two-from)
					}
				})
			}
		}
	}
}

// A leader that is paused more than once in an announce interval also learns of its successor at once.
func TestOftenPausedLeaderLearnsSuccessorImmediately(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		disturb(t, algorithm, 1, func(w *World, _ int) {
			for i := range 10 {
				leader, _, agreed := w.Leader()
				if !agreed {
					t.Fatal(w.Opinions())
				}
				must(t, w.Pause(leader))
				w.Run(450 * ms)
				must(t, w.Resume(leader))
				w.Run(25 * ms)
				for n := 1; n < leader; n++ {
					l, _ := w.Follows(n)
					if was, _ := w.Follows(leader); l.ID == ID(n) && was.ID == ID(leader) {
						t.Errorf("%s, stop %d: 25 ms after it n%d leads beside n%d", algorithm, i, n, leader)
					}
				}
				w.Run(475 * ms)
			}
		})
	}
}

// TestLeaderHeardByPeersIsFollowed: one bad link does not end a leadership, and does not delay the detection of a
// stopped leader.
func TestLeaderHeardByPeersIsFollowed(t *testing.T) {
	for _, test := range []struct{ name, algorithm, broken string }{
		{"the lowest does not hear it", "bully", "cut n5 n1"},
		{"the next in line does not hear it", "bully", "cut n5 n4"},
		{"the link to the next in line is cut", "bully", "cut n5 n4; cut n4 n5"},
		{"one hears both sides", "bully", "partition n1,n2,n3 n3,n4,n5"},
		{"the one before it does not hear it", "ring", "cut n5 n4"},
		{"the link to the one before it is cut", "ring", "cut n5 n4; cut n4 n5"},
	} {
		t.Run(test.algorithm+"/"+test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				var took time.Duration
				d := disturb(t, test.algorithm, seed, func(w *World, _ int) {
					for _, line := range strings.Split(test.broken, "; ") {
						must(t, w.Do("%s", line))
					}
					w.Run(12 * time.Second)
					if l, _ := w.Follows(4); l.ID != ID(5) {
						t.Fatalf("seed %d: %s", seed, w.Opinions())
					}
					must(t, w.Do("pause n5"))
					paused := w.now
					for found := false; !found && w.now < paused+5*time.Second; {
						w.Run(ms)
						l, _ := w.Follows(4)
						found = l.ID == ID(4)
					}
					took = w.now - paused
				})
				if d.begun != 1 || took > algo.LAN().Timeout+algo.LAN().RoundTrip {
					t.Errorf("seed %d: %d leaderships began, and n5, stopped, was replaced after %v", seed, d.begun, took)
				}
			}
		})
	}
}

// TestSlowDisks: with saves of half the lease duration, a cluster elects a leader and keeps it, also after a crash. The
// first leader may lose its lease once: it saves the commit of its config after its peers have saved the config, and
// no peer has renewed the lease meanwhile.
func TestSlowDisks(t *testing.T) {
	const save, calm = 480 * time.Millisecond, 15 * time.Second
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		spec, err := lease.Wrap(lan(t, algorithm), algo.LAN(), lease.Defaults(algo.LAN()))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(40) {
			nodes, leaderships := 3+2*int(seed%2), 0
			w := New(Config{Spec: spec, Delay: Uniform(time.Millisecond, 3*time.Millisecond), Seed: seed, Trace: func(e trace.Event) {
				if e.Kind == trace.Announce && e.Leader.ID == e.Node {
					leaderships++
				}
			}})
			do := func(format string, args ...any) {
				if err := w.Do(format, args...); err != nil {
					t.Fatal(err)
				}
			}
			do("cluster %d", nodes)
			for n := range nodes {
				do("disk n%d %v", n+1, save)
			}
			for _, most := range []int{2, 1} {
				w.Run(calm)
				leader, _, agreed := w.Leader()
				if !agreed || leaderships > most {
					t.Fatalf("%s, %d nodes, seed %d: %d leaderships, want at most %d, and in the end: %s", algorithm, nodes, seed, leaderships, most, w.Opinions())
				}
				leaderships = 0
				do("crash n%d", leader)
			}
			if v := w.Violations(); len(v) > 0 {
				t.Errorf("%s, seed %d: %v", algorithm, seed, v)
			}
		}
	}
}
