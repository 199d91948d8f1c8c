package omega_test

import (
	"errors"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/examples/omega"
)

// spec is the algorithm with its defaults, for the network of the suite.
func spec(t testing.TB) algo.Spec {
	t.Helper()
	s, err := omega.Factory(algo.LAN(), func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// This is all that a new algorithm needs to be tested.
func TestConformance(t *testing.T) { algotest.Test(t, spec(t)) }

func FuzzWalk(f *testing.F) { algotest.Fuzz(f, spec(f)) }

func TestOptionsAreChecked(t *testing.T) {
	for _, interval := range []time.Duration{0, -time.Second, algo.LAN().RoundTrip - 1} {
		_, err := omega.Factory(algo.LAN(), func(o any) error {
			o.(*omega.Options).RepeatInterval = interval
			return nil
		})
		if !errors.Is(err, omega.ErrRepeatInterval) {
			t.Errorf("repeat_interval %v: error %v, want ErrRepeatInterval", interval, err)
		}
	}
}
