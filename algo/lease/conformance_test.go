package lease_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/testkit"
)

// with returns an algorithm with a lease, for a network.
func with(t testing.TB, inner string, timing algo.Timing) algo.Spec {
	t.Helper()
	spec, err := builtin.Registry()[inner](timing, nil)
	if err == nil {
		spec, err = lease.Wrap(spec, timing, lease.Defaults(timing))
	}
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// within returns the options with the maximum time to agree. A lease of a crashed leader must expire first, and
// so must the grants of restarted voters.
func within(t algo.Timing) algotest.Options {
	return algotest.Options{Timing: t, Within: t.RecoveryBound() + 3*lease.Defaults(t).Duration}
}

func TestConformance(t *testing.T) {
	for _, inner := range []string{"bully", "ring", "vote"} {
		t.Run(inner, func(t *testing.T) {
			if inner != "bully" {
				testkit.OnlyLong(t)
			}
			within(algo.LAN()).Test(t, with(t, inner, algo.LAN()))
		})
	}
}
