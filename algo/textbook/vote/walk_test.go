package vote_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// Random walks also find two leaders in one term.
func TestWalksFindTwoLeadersInOneTerm(t *testing.T) {
	walk := algosim.Walk{
		New: func(_ *rand.Rand, view algo.View) *algosim.Cluster {
			s := spec(t)
			s.Claims.OneLeaderPerEpoch = true
			return algosim.New(s, view)
		},
	}
	for seed := range uint64(2000) {
		if c := walk.Run(algosim.Seeded(seed), false); strings.Contains(c.Violation, " lead in epoch ") {
			t.Logf("seed %d: %s", seed, c.Violation)
			return
		}
	}
	t.Error("2000 walks found no two leaders in one term")
}
