package bully_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/internal/testkit"
)

// with returns the algorithm for the network of the suite, with some options changed.
func with(t testing.TB, change func(o *bully.Options)) algo.Spec {
	t.Helper()
	o := bully.Defaults(algo.LAN())
	change(&o)
	spec, err := bully.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(o *bully.Options){
		"defaults":      func(*bully.Options) {},
		"patient":       func(o *bully.Options) { o.SkipSuspected = false },
		"no head start": func(o *bully.Options) { o.HeadStart = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			if name != "defaults" {
				testkit.OnlyLong(t)
			}
			algotest.Options{Long: testkit.Long()}.Test(t, with(t, change))
		})
	}
}

func FuzzWalk(f *testing.F) { algotest.Fuzz(f, with(f, func(*bully.Options) {})) }
