package ring

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// walk is how the random walks go.
var walk = lab.Walk{Spec: func(*rand.Rand) algo.Spec { return spec }, Calm: 45 * T}

// See [lab.Walk] for what happens to them.
func TestRandomWalks(t *testing.T) { walk.Test(t) }

func TestWalksAreRepeatable(t *testing.T) { walk.TestRepeatable(t) }

func FuzzWalk(f *testing.F) { walk.Fuzz(f) }

// TestWalksFindWhatIsTakenOut: random walks are worth what they find. Each of these
// rules, taken out, breaks a walk within a few hundred.
func TestWalksFindWhatIsTakenOut(t *testing.T) {
	for name, r := range map[string]rule{
		"runsShareAnEpoch": runsShareAnEpoch, "clearsNothing": clearsNothing, "passesTheOlder": passesTheOlder,
		"forgetsTheOutcome": forgetsTheOutcome, "forwardsForEver": forwardsForEver, "repairsInSilence": repairsInSilence,
		"naive": naive, "forgetsTheSkipped": forgetsTheSkipped,
	} {
		t.Run(name, func(t *testing.T) {
			seed, why := lab.WalksUntilBroken(walk, r, 2000)
			if why == "" {
				t.Fatal("2000 walks found nothing")
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
