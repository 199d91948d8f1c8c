package algotest

import (
	"slices"
	"testing"
)

// What a textbook is exempt from is a check, and enough is left.
func TestATextbookIsExemptFromChecks(t *testing.T) {
	for name, assumed := range exempt {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			t.Errorf("there is no check %q", name)
		}
		if assumed == "" {
			t.Errorf("%s: nothing is said of why", name)
		}
	}
	var left []string
	for _, c := range checks {
		if exempt[c.Name] == "" && c.claim == nil {
			left = append(left, c.Name)
		}
	}
	want := []string{
		"spec", "wire-round-trip", "wire-unknown-field", "wire-truncation", "sent-messages-stay", "determinism", "clone", "alone",
		"quiet", "duplication", "reordering", "poisoned-epochs", "watched-edges", "contract", "epochs-grow", "durable",
	}
	if !slices.Equal(left, want) {
		t.Errorf("of a textbook is asked %q, want %q", left, want)
	}
}
