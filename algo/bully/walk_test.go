package bully

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// walk is how the random walks go: as production does, or by the textbook.
var walk = lab.Walk{
	Spec: func(random *rand.Rand) algo.Spec {
		o := Defaults(timing)
		o.SkipSuspected = random.IntN(4) != 0
		return newSpec(o)
	},
	Hushed: []algo.Timer{timerAnnounce},
}

// See [lab.Walk] for what happens to them.
func TestRandomWalks(t *testing.T) { walk.Test(t) }

func TestWalksAreRepeatable(t *testing.T) { walk.TestRepeatable(t) }

func FuzzWalk(f *testing.F) { walk.Fuzz(f) }

// TestWalksFindWhatIsTakenOut: random walks are worth what they find. Each of these
// rules, taken out, breaks a walk within a few hundred.
func TestWalksFindWhatIsTakenOut(t *testing.T) {
	for name, r := range map[string]rule{
		"adoptsNothing": adoptsNothing, "followsTheOld": followsTheOld, "followsTheLower": followsTheLower,
		"followsTheSuspected": followsTheSuspected, "repeatsNothing": repeatsNothing,
	} {
		t.Run(name, func(t *testing.T) {
			seed, why := lab.WalksUntilBroken(walk, r, 1000)
			if why == "" {
				t.Fatal("1000 walks found nothing")
			}
			t.Logf("seed %d: %s", seed, why)
		})
	}
}

// An algorithm from which nothing is taken out breaks nothing: what the others break is
// their own.
func TestAMutantWithAllRulesIsTheAlgorithm(t *testing.T) {
	if seed, why := lab.WalksUntilBroken(walk, rule{}, 500); why != "" {
		t.Fatalf("seed %d: %s", seed, why)
	}
}
