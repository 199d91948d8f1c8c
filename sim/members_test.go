package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
)

// Any interleaving of joins, leaves, removals, restarts and partitions ends in one view,
// once it is healed, and in one leader whom all in it follow.
func TestMembershipsConverge(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(builtin.ForUse())) {
		t.Run(name, func(t *testing.T) {
			spec, err := builtin.Registry()[name](algo.LAN(), func(any) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				random := rand.New(rand.NewPCG(rand.Uint64(), 0))
				w := New(Config{
					Spec: spec, Seed: random.Uint64(),
					Delay: Uniform(time.Millisecond, 20*time.Millisecond),
				})
				size := 3 + random.IntN(3)
				if err := w.Cluster(size); err != nil {
					t.Fatal(err)
				}
				for range 1 + random.IntN(1+random.IntN(25)) { // more often few: they are read sooner
					interfere(random, w)
					w.Run(oneOf(random, 0, time.Millisecond, 30*time.Millisecond, 400*time.Millisecond, 3*time.Second))
				}
				(&storm{w: w, o: &StormOptions{Nodes: size, Period: 5 * time.Second, Timing: algo.LAN()}}).calm()
				w.Await(2 * algo.LAN().Bound())
				for _, v := range w.Violations() {
					t.Errorf("%v", v)
				}
				if len(w.Violations()) > 0 {
					t.Fatalf("replay:\n%s", w.Scenario())
				}
			}
		})
	}
}

// interfere does one thing to the membership, or to what it needs. The first three stay:
// somebody must be left.
func interfere(random *rand.Rand, w *World) {
	node := func() int { return 1 + random.IntN(w.Nodes()) }
	var err error // what cannot be done now is not done
	switch n := node(); oneOf(random, "join", "remove", "leave", "crash", "restart", "cut", "part", "heal", "set", "resign", "after") {
	case "join":
		if w.Nodes() < 8 {
			err = w.Do("join n%d", 1+random.IntN(3))
		}
	case "remove":
		if n > 3 {
			err = w.Do("remove n%d n%d", node(), n)
		}
	case "leave":
		if n > 3 {
			err = w.Do("leave n%d", n)
		}
	case "crash":
		err = w.Do("crash n%d", n)
	case "after":
		err = w.Do("crash n%d after save", n)
	case "restart":
		err = w.Do("restart n%d", n)
	case "cut":
		err = w.Do("cut n%d n%d", n, node())
	case "part":
		var left, right []string
		for _, n := range w.nodes {
			if random.IntN(2) == 0 {
				left = append(left, n.name)
			} else {
				right = append(right, n.name)
			}
		}
		err = w.Do("partition %s %s", strings.Join(left, ","), strings.Join(right, ","))
	case "heal":
		err = w.Do("heal")
	case "set":
		err = w.Do("priority n%d %d", n, random.IntN(3))
	case "resign":
		err = w.Do("resign n%d 1s", n)
	}
	_ = err
}

func oneOf[E any](random *rand.Rand, choices ...E) E { return choices[random.IntN(len(choices))] }

// The words of a scenario that are about the membership.
func TestAScenarioOfMembers(t *testing.T) {
	text := `
cluster 3
run 2s
leader n3
join n1
run 2s
leader n4
priority n1 5
run 1s
leader n1
remove n2 n1
run 2s
leader n4
leave n4
run 1s
leader n3
remove n3 n2
run 1s
leader n3
crash n3
`
	s, err := ParseScenario("members", text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Run(t.Context(), ScenarioHost{Build: build})
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []int{1, 2, 4} {
		if w.nodes[gone-1].up {
			t.Errorf("n%d was removed and runs", gone)
		}
	}
	again, err := ParseScenario("again", w.Scenario())
	if err != nil {
		t.Fatal(err)
	}
	if w, err = again.Run(t.Context(), ScenarioHost{Build: build}); err != nil || !strings.Contains(w.Scenario(), "\nleave n4\n") {
		t.Errorf("%v in\n%s", err, w.Scenario())
	}
	for _, wrong := range []string{"remove n3", "leave", "withdraw", "priority n1"} {
		if _, err := ParseScenario("wrong", "cluster 3\n"+wrong); err == nil {
			t.Errorf("%q is understood", wrong)
		}
	}
	for _, mistake := range []string{"remove n3 n3", "leave n3", "remove n1 n2"} { // the last; down; down
		s, err := ParseScenario("mistake", text+mistake)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), ScenarioHost{Build: build}); err == nil {
			t.Errorf("%q: no error", mistake)
		}
	}
}
