package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
)

// TestMembershipConverges: after any sequence of joins, leaves, removals, restarts and partitions, the healed
// cluster agrees on one config and one leader.
func TestMembershipConverges(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(builtin.ForUse())) {
		t.Run(name, func(t *testing.T) {
			spec := lan(t, name)
			rapid.Check(t, func(t *rapid.T) {
				w := New(Config{
					Spec: spec, Seed: rapid.Uint64().Draw(t, "seed"),
					Delay: Uniform(time.Millisecond, 20*time.Millisecond),
				})
				size := rapid.IntRange(3, 5).Draw(t, "size")
				if err := w.Cluster(size); err != nil {
					t.Fatal(err)
				}
				for range rapid.IntRange(1, 25).Draw(t, "steps") {
					interfere(t, w)
					w.Run(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 30 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second}).Draw(t, "wait"))
				}
				(&chaosRun{w: w, o: &ChaosOptions{Nodes: size, Period: 5 * time.Second, Timing: algo.LAN()}}).endFaults()
				w.Await(2 * algo.LAN().RecoveryBound())
				for _, v := range w.Violations() {
					t.Errorf("%v", v)
				}
				if len(w.Violations()) > 0 {
					t.Fatalf("replay:\n%s", w.Scenario())
				}
			})
		})
	}
}

// interfere changes the membership or injects a fault. The first three nodes are never removed.
func interfere(t *rapid.T, w *World) {
	node := func(what string) int { return rapid.IntRange(1, w.Nodes()).Draw(t, what) }
	var err error // ignored: it means that the command is not possible now
	switch n := node("node"); rapid.SampledFrom([]string{"join", "remove", "leave", "crash", "restart", "cut", "part", "heal", "set", "resign", "after"}).Draw(t, "what") {
	case "join":
		if w.Nodes() < 8 {
			err = w.Do("join n%d", rapid.IntRange(1, 3).Draw(t, "through"))
		}
	case "remove":
		if n > 3 {
			err = w.Do("remove n%d n%d", node("at"), n)
		}
	case "leave":
		if n > 3 {
			err = w.Do("leave n%d", n)
		}
	case "crash":
		err = w.Crash(n)
	case "after":
		err = w.Do("crash n%d after save", n)
	case "restart":
		err = w.Restart(n)
	case "cut":
		err = w.Cut(n, node("from"))
	case "part":
		var left, right []string
		for _, n := range w.nodes {
			if rapid.Bool().Draw(t, "left") {
				left = append(left, n.name)
			} else {
				right = append(right, n.name)
			}
		}
		err = w.Do("partition %s %s", strings.Join(left, ","), strings.Join(right, ","))
	case "heal":
		err = w.Heal()
	case "set":
		err = w.Do("priority n%d %d", n, rapid.IntRange(0, 2).Draw(t, "priority"))
	case "resign":
		err = w.Do("resign n%d 1s", n)
	}
	_ = err
}

func TestMembershipCommands(t *testing.T) {
	text := `
algorithm bully+lease
cluster 3
run 4s
leader n3
join n1
run 4s
leader n4
priority n1 5
run 4s
leader n1
remove n2 n1
run 4s
leader n4
leave n4
run 4s
leader n3
remove n3 n2
run 4s
leader n3
crash n3
`
	s, err := ParseScenario("members", text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Run(t.Context(), ScenarioOptions{Build: build})
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
	if w, err = again.Run(t.Context(), ScenarioOptions{Build: build}); err != nil || !strings.Contains(w.Scenario(), "\nleave n4\n") {
		t.Errorf("%v in\n%s", err, w.Scenario())
	}
	for _, wrong := range []string{"remove n3", "leave", "cancel-remove", "priority n1"} {
		if _, err := ParseScenario("wrong", "cluster 3\n"+wrong); err == nil {
			t.Errorf("%q is understood", wrong)
		}
	}
	for _, mistake := range []string{"remove n3 n3", "leave n3", "remove n1 n2"} { // n3 is down
		s, err := ParseScenario("mistake", text+mistake)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), ScenarioOptions{Build: build}); err == nil {
			t.Errorf("%q: no error", mistake)
		}
	}
}
