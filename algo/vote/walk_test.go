package vote

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

// walk runs random walks, usually with early close, as in production.
var walk = algosim.Walk{
	New: func(random *rand.Rand, view algo.View) *algosim.Cluster {
		o := Defaults(timing)
		o.EarlyClose = random.IntN(4) != 0
		return newCluster(o, view)
	},
}

// See [algosim.Walk] for the faults. The claims of the algorithm are checked at all times: two
// leaders in one epoch fail a walk.
func TestRandomWalks(t *testing.T) { walk.Check(t, testkit.Rounds(1000, 20_000)) }
