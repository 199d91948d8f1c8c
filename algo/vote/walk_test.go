package vote

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/testenv"
)

// walk is how the random walks go: with early close mostly, as production does.
var walk = host.Walk{
	Spec: func(random *rand.Rand) algo.Spec {
		o := Defaults(timing)
		o.EarlyClose = random.IntN(4) != 0
		return newSpec(o)
	},
	Hushed: []algo.Timer{timerLead},
}

// See [host.Walk] for what happens to them. What is claimed is checked at all times: two
// leaders in one epoch break a walk.
func TestRandomWalks(t *testing.T) {
	if seed, why := walk.Until(uint64(testenv.Rounds(1000, 20_000))); why != "" {
		t.Fatalf("seed %d: %s\n%s", seed, why, walk.Take(host.Seeded(seed), true).Story())
	}
}

// As published it claims no more than a majority and, at last, one leader. That it does
// not keep to one in a term is what walks find when they are told to look.
func TestWalksAsPublished(t *testing.T) {
	as := walk
	as.Resumes = true
	as.Spec = func(*rand.Rand) algo.Spec { return newSpec(asPublished()) }
	if seed, why := as.Until(2000); why != "" {
		t.Errorf("seed %d: %s", seed, why)
	}
	as.Spec = func(*rand.Rand) algo.Spec {
		spec := newSpec(asPublished())
		spec.Claims.OneLeaderPerEpoch = true
		return spec
	}
	seed, why := as.Until(2000)
	if !strings.Contains(why, " lead in epoch ") {
		t.Errorf("2000 walks found no two leaders in one term: %q", why)
	}
	t.Logf("seed %d: %s", seed, why)
}
