package sim

import (
	"testing"

	"github.com/elect-go/elect/internal/testkit"
)

// Every election ends in agreement and without violations, with any number of crashes, one or all initiators, any order
// of the ring, each kind of delay, and network faults. -long runs six times as many seeds.
func TestEveryElectionEnds(t *testing.T) {
	seeds, most := uint64(testkit.Rounds(2, 12)), testkit.Rounds(6, 7)
	if testkit.UnderRace {
		most = 4
	}
	for _, name := range []string{"bully", "ring", "vote"} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			for n := 1; n <= most; n++ {
				for seed := range seeds {
					for _, o := range elections(t, name, n, seed) {
						r, err := Run(t.Context(), o)
						if err != nil || !r.Agreed || len(r.Violations) > 0 {
							t.Errorf("%s: %v, agreed %v, violations %v", which(o), err, r.Agreed, r.Violations)
						}
						runs++
					}
				}
			}
			t.Logf("%d elections", runs)
		})
	}
}

// elections returns all kinds of elections of n nodes that can end.
func elections(t *testing.T, name string, n int, seed uint64) []Options {
	var all []Options
	for crashed := range n {
		if name == "vote" && 2*(n-crashed) <= n {
			break // there is no majority
		}
		for starts := range n - crashed + 1 {
			for _, waits := range []bool{false, true} {
				spec := known(t, name)
				if waits {
					spec = known(t, name, patient)
				}
				for kind, delay := range []Delay{Fixed(T), Uniform(T/10, T), HeavyTailed(T/20, T)} {
					o := Options{Spec: spec, Nodes: n, Crashed: crashed, Seed: seed, Delay: delay}
					if seed%2 == 1 {
						o.Priorities = newRandom(seed).Perm(n)
					}
					if starts > 0 { // otherwise, all nodes start
						o.Initiators = o.Order()[starts-1 : starts]
					}
					if kind > 0 && seed%3 != 0 {
						o.Faults = Faults{Loss: 0.1, Duplicate: 0.1, Reorder: 0.2}
					}
					all = append(all, o)
				}
			}
		}
	}
	return all
}
