package vote

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// walk is how the random walks go: with early close mostly, as production does.
var walk = lab.Walk{
	Spec: func(random *rand.Rand) algo.Spec {
		o := Defaults(timing)
		o.EarlyClose = random.IntN(4) != 0
		return newSpec(o)
	},
	Hushed: []algo.Timer{timerLead},
}

// See [lab.Walk] for what happens to them. What is claimed is checked at all times: two
// leaders in one epoch break a walk.
func TestRandomWalks(t *testing.T) { walk.Test(t) }

func TestWalksAreRepeatable(t *testing.T) { walk.TestRepeatable(t) }

func FuzzWalk(f *testing.F) { walk.Fuzz(f) }

// TestWalksFindWhatIsTakenOut: random walks are worth what they find. Each of these
// rules, taken out, breaks a walk within a few hundred.
func TestWalksFindWhatIsTakenOut(t *testing.T) {
	for name, r := range map[string]rule{
		"votesAgain": votesAgain, "forgetsItsVote": forgetsItsVote, "votesForItsOwn": votesForItsOwn,
		"staysInItsRound": staysInItsRound, "adoptsNoRound": adoptsNoRound, "neverStops": neverStops,
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
	for name, r := range map[string]rule{"no rule": {}, "no rule of the ballot": byBallot(func(b *ballot) ballots { return b })} {
		if seed, why := lab.WalksUntilBroken(walk, r, 500); why != "" {
			t.Fatalf("%s: seed %d: %s", name, seed, why)
		}
	}
}

// As published it claims no more than a majority and, at last, one leader. That it does
// not keep to one in a term is what walks find when they are told to look.
func TestWalksAsPublished(t *testing.T) {
	as := walk
	as.Resumes = true
	as.Spec = func(*rand.Rand) algo.Spec { return newSpec(asPublished()) }
	if seed, why := lab.WalksUntilBroken(as, rule{}, 2000); why != "" {
		t.Errorf("seed %d: %s", seed, why)
	}
	as.Spec = func(*rand.Rand) algo.Spec {
		spec := newSpec(asPublished())
		spec.Claims.OneLeaderPerEpoch = true
		return spec
	}
	seed, why := lab.WalksUntilBroken(as, rule{}, 2000)
	if !strings.Contains(why, " lead in epoch ") {
		t.Errorf("2000 walks found no two leaders in one term: %q", why)
	}
	t.Logf("seed %d: %s", seed, why)
}
