package vote

import (
	"math/rand/v2"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/testkit"
)

// walk is how the random walks go: with early close mostly, as production does.
var walk = host.Walk{
	New: func(random *rand.Rand, view algo.View) *host.Cluster {
		o := Defaults(timing)
		o.EarlyClose = random.IntN(4) != 0
		return newCluster(o, view)
	},
}

// See [host.Walk] for what happens to them. What is claimed is checked at all times: two
// leaders in one epoch break a walk.
func TestRandomWalks(t *testing.T) { walk.Want(t, testkit.Rounds(1000, 20_000)) }
