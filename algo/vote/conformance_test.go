package vote_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/internal/testkit"
)

// with returns the algorithm for the network of the suite, with some options changed.
func with(t testing.TB, change func(o *vote.Options)) algo.Spec {
	t.Helper()
	o := vote.Defaults(algo.LAN())
	change(&o)
	spec, err := vote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(o *vote.Options){
		"defaults": func(*vote.Options) {},
		"patient":  func(o *vote.Options) { o.EarlyClose = false },
	} {
		t.Run(name, func(t *testing.T) {
			if name != "defaults" {
				testkit.OnlyLong(t)
			}
			algotest.Options{Long: testkit.Long()}.Test(t, with(t, change))
		})
	}
}

func FuzzWalk(f *testing.F) { algotest.Fuzz(f, with(f, func(*vote.Options) {})) }
