package bully

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

// walk runs random walks, with the defaults or without the skipping of suspected processes.
var walk = algosim.Walk{
	New: func(random *rand.Rand, view algo.View) *algosim.Cluster {
		o := Defaults(timing)
		o.SkipSuspected = random.IntN(4) != 0
		return newCluster(o, view)
	},
}

// See [algosim.Walk] for the faults.
func TestRandomWalks(t *testing.T) { walk.Check(t, testkit.Rounds(1000, 20_000)) }
