package omega_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/sim"

	"github.com/elect-go/elect/examples/omega"
)

// spec returns the algorithm with its defaults, for the network of the suite.
func spec(t testing.TB) algo.Spec {
	t.Helper()
	s, err := omega.Factory(algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformance runs the suite that each algorithm must pass.
func TestConformance(t *testing.T) { algotest.Test(t, spec(t)) }

// FuzzWalk looks for walks that fail: go test -fuzz FuzzWalk
func FuzzWalk(f *testing.F) { algotest.Fuzz(f, spec(f)) }

// TestFailoverTakesFewMessages counts an election in virtual time: the highest of five nodes has crashed.
func TestFailoverTakesFewMessages(t *testing.T) {
	r, err := sim.Run(t.Context(), sim.Options{Spec: spec(t), Nodes: 5, Crashed: 1, Delay: sim.Fixed(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Leader != 4 || !r.Agreed {
		t.Errorf("n%d leads, all agree: %v, want n4 and true", r.Leader, r.Agreed)
	}
	if r.Kinds["omega/lead"] != 4 {
		t.Errorf("messages %v, want a lead to each other member, also to the crashed one: 4", r.Kinds)
	}
}

// TestOptionsAreChecked requires an error that names the option.
func TestOptionsAreChecked(t *testing.T) {
	for _, interval := range []time.Duration{-time.Second, 0, algo.LAN().RoundTrip - 1} {
		_, err := omega.Factory(algo.LAN(), func(o any) error {
			o.(*omega.Options).RepeatInterval = interval
			return nil
		})
		wrong, ok := errors.AsType[*algo.SettingError](err)
		if !ok || wrong.Field != "omega.repeat_interval" {
			t.Errorf("repeat_interval %v: error %v, want one that names it", interval, err)
		}
	}
}

// TestScenario runs scenario.txt, with its assertions and with the output in it.
func TestScenario(t *testing.T) {
	text, err := os.ReadFile("scenario.txt")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := sim.ParseScenario("scenario.txt", string(text))
	if err != nil {
		t.Fatal(err)
	}
	build := func(_ string, timing algo.Timing, _ []algo.Setting) (algo.Spec, error) {
		return omega.Factory(timing, nil)
	}
	if _, err := scenario.Run(t.Context(), sim.ScenarioOptions{Build: build}); err != nil {
		t.Error(err)
	}
}
