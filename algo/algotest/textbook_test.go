package algotest

import (
	"slices"
	"testing"
)

// The checks that neither violate an assumption nor test a claim apply to a textbook too.
func TestTextbookIsExemptFromChecks(t *testing.T) {
	var left []string
	for _, c := range checks {
		if c.assumed == "" && c.claim == nil {
			left = append(left, c.Name)
		}
	}
	want := []string{
		"spec", "wire", "sent-messages-stay", "determinism", "clone", "alone",
		"quiet", "duplication", "reordering", "monitored-pairs", "contract", "monotonic-epochs", "durable",
	}
	if !slices.Equal(left, want) {
		t.Errorf("checks for a textbook: %q, want %q", left, want)
	}
}
