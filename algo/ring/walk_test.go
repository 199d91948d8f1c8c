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
