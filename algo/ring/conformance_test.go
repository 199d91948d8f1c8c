package ring_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/internal/testkit"
)

// defaults returns the algorithm for the network of the suite.
func defaults(t testing.TB) algo.Spec {
	t.Helper()
	spec, err := ring.New(ring.Defaults(algo.LAN()))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestConformance(t *testing.T) { algotest.Options{Long: testkit.Long()}.Test(t, defaults(t)) }

func FuzzWalk(f *testing.F) { algotest.Fuzz(f, defaults(f)) }
