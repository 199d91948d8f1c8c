package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// disturbed is what a disturbance does to five nodes that agreed before.
type disturbed struct {
	begun, ended int           // leaderships
	two          time.Duration // while two nodes led
}

// disturb has an algorithm of five nodes settle, tells do whom it elected, and counts from then on.
func disturb(t *testing.T, algorithm string, seed uint64, do func(w *World, leader int)) (d disturbed) {
	t.Helper()
	leading := make(map[algo.NodeID]bool)
	settled := false
	var since time.Duration
	spec, err := build(algorithm, algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{Spec: spec, Seed: seed, Delay: Uniform(ms/2, ms), Trace: func(e trace.Event) {
		if e.Kind != trace.Announce && e.Kind != trace.Crash {
			return
		}
		before := len(leading)
		if leading[e.Node] {
			delete(leading, e.Node)
			if settled {
				d.ended++
			}
		}
		if e.Kind == trace.Announce && e.Leader.ID == e.Node {
			leading[e.Node] = true
			if settled {
				d.begun++
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
	settled = true
	do(w, leader)
	return d
}

// flap has a node reach nobody again and again, and 10 s pass after it.
func flap(t *testing.T, times int, off, on time.Duration, node func(leader int) int) func(*World, int) {
	return func(w *World, leader int) {
		n := node(leader)
		for range times {
			for o := 1; o <= 5; o++ {
				if o != n {
					must(t, w.Do("cut n%d n%d", n, o))
					must(t, w.Do("cut n%d n%d", o, n))
				}
			}
			w.Run(off)
			must(t, w.Do("heal"))
			w.Run(on)
		}
		w.Run(10 * time.Second)
	}
}

// lowest is the lowest follower.
func lowest(leader int) int {
	if leader == 1 {
		return 2
	}
	return 1
}

// TestWhoFlapsIsLearntFrom: a link that comes and goes brings about a new leader until the timeouts have
// grown, and not each time.
func TestWhoFlapsIsLearntFrom(t *testing.T) {
	for _, test := range []struct {
		name  string
		node  func(leader int) int
		ended int
		two   time.Duration
	}{
		{"the lowest", lowest, 2, 500 * ms},
		{"the highest", func(int) int { return 5 }, 4, 2 * time.Second},
	} {
		for seed := range uint64(3) {
			d := disturb(t, "bully", seed, flap(t, 15, 600*ms, 1300*ms, test.node))
			if d.ended > test.ended || d.two > test.two {
				t.Errorf("%s flaps, seed %d: %d leaderships ended and two led for %v, want at most %d and %v", test.name, seed, d.ended, d.two, test.ended, test.two)
			}
		}
	}
}

// TestAPausedLeaderIsFoundAsSoonEachTime: who is stopped again and again was never slow, also if it has no
// processor for a moment now and then, as on a busy machine.
func TestAPausedLeaderIsFoundAsSoonEachTime(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		var took []time.Duration
		disturb(t, algorithm, 1, func(w *World, _ int) {
			for i := range 40 {
				leader, _, agreed := w.Leader()
				if !agreed {
					t.Fatal(w.Opinions())
				}
				if i%8 == 7 {
					must(t, w.Do("pause n%d", leader))
					w.Run(200 * ms)
					must(t, w.Do("resume n%d", leader))
					w.Run(time.Second)
				}
				must(t, w.Do("pause n%d", leader))
				paused := w.now
				for found := false; !found && w.now < paused+10*time.Second; {
					w.Run(ms)
					follows, _ := w.Follows(leader%5 + 1)
					found = follows.ID != ID(leader)
				}
				took = append(took, w.now-paused)
				w.Run(time.Second)
				must(t, w.Do("resume n%d", leader))
				w.Run(4 * time.Second)
			}
		})
		if first, longest := took[0], slices.Max(took); longest > first*13/10 {
			t.Errorf("%s: a paused leader was found after %v, later after %v, want 1.3 times as long at most", algorithm, first, longest)
		}
	}
}

// TestAPausedLeaderIsToldAtOnce: a leader that was stopped and goes on takes itself for the leader. Its beats
// tell the other one so, which answers.
func TestAPausedLeaderIsToldAtOnce(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		for _, pause := range []time.Duration{500 * ms, time.Second, 5 * time.Second} {
			for seed := range uint64(5) {
				disturb(t, algorithm, seed, func(w *World, leader int) {
					must(t, w.Do("pause n%d", leader))
					w.Run(pause + time.Duration(seed)*37*ms)
					must(t, w.Do("resume n%d", leader))
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

// TestAnOftenPausedLeaderIsToldAtOnce: also when it was stopped several times in less than a leader takes to
// repeat itself.
func TestAnOftenPausedLeaderIsToldAtOnce(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring"} {
		disturb(t, algorithm, 1, func(w *World, _ int) {
			for i := range 10 {
				leader, _, agreed := w.Leader()
				if !agreed {
					t.Fatal(w.Opinions())
				}
				must(t, w.Do("pause n%d", leader))
				w.Run(450 * ms)
				must(t, w.Do("resume n%d", leader))
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

// TestALeaderThatOthersHearIsFollowed: one bad link takes the leadership from nobody, and a leader that
// stops meanwhile is found as soon as ever.
func TestALeaderThatOthersHearIsFollowed(t *testing.T) {
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
