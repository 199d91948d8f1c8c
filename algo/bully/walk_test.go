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
