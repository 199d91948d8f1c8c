package ring

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

// walk runs random walks with the defaults.
var walk = algosim.Walk{New: func(_ *rand.Rand, view algo.View) *algosim.Cluster { return algosim.New(spec, view) }, RecoveryTime: 45}

// See [algosim.Walk] for the faults.
func TestRandomWalks(t *testing.T) { walk.Check(t, testkit.Rounds(1000, 20_000)) }
