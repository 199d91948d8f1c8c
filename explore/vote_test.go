package explore_test

import (
	"context"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	textbook "github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/testkit"
)

// newVote returns vote with timeouts for a T of 10 ms.
func newVote(t testing.TB, change func(*vote.Options)) algo.Spec {
	t.Helper()
	o := vote.Defaults(algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond})
	if change != nil {
		change(&o)
	}
	spec, err := vote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestAlgorithmsWithCountedPeriodicMessages(t *testing.T) {
	for _, tc := range []struct {
		spec algo.Spec
		want bool
	}{{newVote(t, nil), true}, {newBully(t), false}, {newToy(rules{}), true}, {changRobertsSpec(nil), false}} {
		if got := explore.HasCountedPeriodic(tc.spec); got != tc.want {
			t.Errorf("HasCountedPeriodic of %s = %v, want %v", tc.spec.Name, got, tc.want)
		}
	}
}

// searchTwoLeaders searches for two leaders in one epoch, with three voting nodes. Lead messages are
// counted, so the search needs a limit of periodic sends.
func searchTwoLeaders(t *testing.T, spec algo.Spec, crashes int) explore.Report {
	t.Helper()
	if testkit.UnderRace {
		t.Skip("too slow under the race detector")
	}
	o := explore.Options{
		Spec: spec, Nodes: 3, Epochs: 1, PeriodicSends: 1, Crashes: crashes, Properties: []algo.Property{algo.OneLeaderPerEpoch},
	}
	return run(t, o)
}

// According to its source, a server may vote twice in one term. The shortest path to two leaders
// needs no crash and no false suspicion: n2 votes for n1, and again for itself or for n3.
func TestTextbookVoteElectsTwoLeadersInOneTerm(t *testing.T) {
	spec, err := textbook.Factory(algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := searchTwoLeaders(t, spec, 0)
	if len(r.Violations) != 1 {
		t.Fatalf("violations %v in %d states", r.Violations, r.States)
	}
	v := r.Violations[0]
	if v.Property != algo.OneLeaderPerEpoch || len(v.Steps) != 13 {
		t.Errorf("%s after %d steps, want 13\n%s", v.Property, len(v.Steps), v.Scenario)
	}
	requireSameReplay(t, spec, v)
}

// Strict vote keeps its claims in every state within these bounds. Three nodes that start together,
// or one of which crashes, have too many states to visit, because each may request rounds again. A
// search covers a part of them, random walks another.
func TestStrictVoteKeepsItsClaims(t *testing.T) {
	for _, tc := range []struct {
		o      explore.Options
		states int // in total; 0 if there are more than the limit
		large  bool
	}{
		{explore.Options{Nodes: 2, Epochs: 2, Crashes: 1, Limits: explore.Limits{States: 50_000}}, 0, false},
		{explore.Options{Nodes: 2, Epochs: 1}, 4_649, false},
		{explore.Options{Nodes: 3, Epochs: 2, StartAgreed: true}, 61_181, true},
		{explore.Options{Nodes: 3, Epochs: 2, Crashes: 1, Limits: explore.Limits{States: 50_000}}, 0, false},
		{explore.Options{Nodes: 3, Epochs: 1, Limits: explore.Limits{States: 1_000_000}}, 0, true},
		{explore.Options{Nodes: 3, Epochs: 1, Crashes: 1, FalseSuspicions: 1, Limits: explore.Limits{States: 1_000_000}}, 0, true},
		{explore.Options{Nodes: 3, Epochs: 3, StartAgreed: true, Crashes: 1, Limits: explore.Limits{States: 1_000_000}}, 0, true},
	} {
		if tc.large && !testkit.Long() || testkit.UnderRace && tc.o.Nodes > 2 {
			continue
		}
		o := tc.o
		o.Spec, o.PeriodicSends = newVote(t, nil), 1
		r := run(t, o)
		if r.Complete != (tc.states > 0) || r.Complete && r.States != tc.states {
			t.Errorf("N=%d, %d rounds, %d crashes, %d false suspicions: %d states, want %d; complete %v", o.Nodes, o.Epochs, o.Crashes, o.FalseSuspicions, r.States, tc.states, r.Complete)
		}
		for _, v := range r.Violations {
			t.Error(v.Scenario)
		}
		t.Logf("N=%d, %d rounds, %d crashes, %d false suspicions: %d states in %v", o.Nodes, o.Epochs, o.Crashes, o.FalseSuspicions, r.States, r.Elapsed)
	}
}

// Random walks reach states beyond the limits of a search: three rounds of three nodes with two
// crashes.
func TestStrictVoteKeepsItsClaimsOnWalks(t *testing.T) {
	o := explore.Options{Spec: newVote(t, nil), Nodes: 3, Epochs: 3, Crashes: 2}
	steps := testkit.Rounds(30_000, 10_000_000)
	if testkit.UnderRace {
		steps = min(steps, 10_000)
	}
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: 1, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	if r.Generated != steps || r.WithLeader < r.Walks/2 {
		t.Errorf("%d steps, a leader in %d of %d walks", r.Generated, r.WithLeader, r.Walks)
	}
	for _, v := range r.Violations {
		t.Error(v.Scenario)
	}
	t.Logf("%d steps in %d walks, %v", r.Generated, r.Walks, r.Elapsed)
}
