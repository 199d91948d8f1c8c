package builtin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
)

// The word that selects an algorithm is its name in logs and in the handshake.
func TestRegistryHasEachAlgorithm(t *testing.T) {
	timing := algo.Timing{RoundTrip: 50 * time.Millisecond, Heartbeat: 100 * time.Millisecond}
	for name, factory := range builtin.Registry() {
		spec, err := factory(timing, func(any) error { return nil })
		if err != nil {
			t.Errorf("%s rejects its defaults: %v", name, err)
			continue
		}
		if spec.Name != name {
			t.Errorf("%s is registered as %s", spec.Name, name)
		}
		if !slices.IsSortedFunc(spec.Settings, func(a, b algo.Setting) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("the settings of %s are not sorted: %v", name, spec.Settings)
		}
	}
}

func TestRegistryIsACopy(t *testing.T) {
	delete(builtin.Registry(), "bully")
	if _, known := builtin.Registry()["bully"]; !known {
		t.Error("a change of the result changes the next result")
	}
}

// Only textbooks set Spec.Textbook, by which applications exclude them.
func TestTextbooksAreMarked(t *testing.T) {
	forUse := builtin.ForUse()
	for name, factory := range builtin.Registry() {
		spec, err := factory(algo.LAN(), func(any) error { return nil })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, use := forUse[name]; use == spec.Textbook || spec.Textbook != strings.HasPrefix(name, "textbook-") {
			t.Errorf("%s: Textbook is %v, in ForUse: %v", name, spec.Textbook, use)
		}
	}
}
