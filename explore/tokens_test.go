package explore_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/explore"
)

// docs/verification.md reports these results under "What the searches found".
func TestTokensDecrease(t *testing.T) {
	for _, test := range []struct {
		algorithm string
		property  algo.Property
		crashes   int
		violation string
	}{
		{algorithm: "bully", property: explore.NodeTokens, crashes: 1, violation: "n1 follows n2 in epoch 2 after n3 in epoch 2"},
		{algorithm: "bully", property: explore.ResourceTokens, crashes: 1, violation: "a resource hears of n2 in epoch 2 after n3 in epoch 2"},
		{algorithm: "ring", property: explore.NodeTokens, crashes: 1},
		{algorithm: "ring", property: explore.ResourceTokens, crashes: 1, violation: "a resource hears of n3 in epoch 2 after n2 in epoch 3"},
	} {
		t.Run(test.algorithm+"/"+string(test.property), func(t *testing.T) {
			spec, err := builtin.Registry()[test.algorithm](algo.LAN(), func(any) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			r, err := explore.Run(t.Context(), explore.Options{
				Spec: spec, Nodes: 3, StartAgreed: true, Epochs: 3, PeriodicSends: 1, Crashes: test.crashes,
				Properties: []algo.Property{test.property}, Limits: explore.Limits{States: 200_000},
			})
			if err != nil {
				t.Fatal(err)
			}
			what := ""
			for _, v := range r.Violations {
				what = v.What
			}
			if what != test.violation || what == "" && !r.Complete {
				t.Errorf("%d states, complete: %v, violation: %q, want %q", r.States, r.Complete, what, test.violation)
			}
		})
	}
}

// Token properties are no claims of any algorithm.
func TestNoAlgorithmClaimsTokens(t *testing.T) {
	for _, p := range explore.Claimed(algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true, HighestLeads: true}) {
		if p == explore.NodeTokens || p == explore.ResourceTokens {
			t.Errorf("%s is claimed", p)
		}
	}
}
