package explore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	textbook "github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/testenv"
)

// newVote has timeouts that suit a T of 10 ms.
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

func TestWhoseRepeatsAreNumbered(t *testing.T) {
	for _, tc := range []struct {
		spec algo.Spec
		want bool
	}{{newVote(t, nil), true}, {newBully(t), false}, {newToy(rules{}), true}, {changRobertsSpec(nil), false}} {
		if got := explore.MayNumberRepeats(tc.spec); got != tc.want {
			t.Errorf("MayNumberRepeats of %s = %v, want %v", tc.spec.Name, got, tc.want)
		}
	}
}

// twoLeaders searches for two leaders in one epoch of three nodes that vote. A Lead is
// numbered, so that repeats need a bound.
func twoLeaders(t *testing.T, spec algo.Spec, crashes int) explore.Report {
	t.Helper()
	if underRace {
		t.Skip("too slow under the race detector")
	}
	o := explore.Options{
		Spec: spec, Nodes: 3, Epochs: 1, Repeats: 1, Crashes: crashes, Properties: []algo.Property{algo.OneLeaderPerEpoch},
	}
	return run(t, o)
}

// To the letter of its source, a server votes again within a term. The shortest way to two
// leaders needs no crash and no mistake of a detector: n2 votes for n1, and again for
// itself or for n3.
func TestTextbookVoteElectsTwoLeadersInOneTerm(t *testing.T) {
	spec, err := textbook.Factory(algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := twoLeaders(t, spec, 0)
	if len(r.Violations) != 1 {
		t.Fatalf("violations %v in %d states", r.Violations, r.States)
	}
	v := r.Violations[0]
	if v.Property != algo.OneLeaderPerEpoch || len(v.Steps) != 13 {
		t.Errorf("%s after %d steps, want 13\n%s", v.Property, len(v.Steps), v.Scenario)
	}
	replaysAsItWas(t, spec, v)
}

// forgetful does not save whom it voted for.
type forgetful struct{ algo.Algorithm }

func (f forgetful) Stable() algo.Stable {
	return algo.Stable{Epoch: f.Algorithm.Stable().Epoch}
}

func (f forgetful) Clone() algo.Algorithm { return forgetful{f.Algorithm.Clone()} }

// With the save of the vote removed, a server that restarts votes again: two leaders in
// one round, over one crash. Without a crash there are none, and with the save there are
// none over a crash.
func TestAVoteThatIsNotSavedElectsTwoOverARestart(t *testing.T) {
	spec := newVote(t, nil)
	without := spec
	without.New = func(self algo.NodeID) algo.Algorithm { return forgetful{spec.New(self)} }
	for _, tc := range []struct {
		name    string
		spec    algo.Spec
		crashes int
		found   bool
	}{{"saved", spec, 1, false}, {"not saved, no crash", without, 0, false}, {"not saved", without, 1, true}} {
		t.Run(tc.name, func(t *testing.T) {
			r := twoLeaders(t, tc.spec, tc.crashes)
			if !tc.found {
				if !r.Complete || len(r.Violations) > 0 {
					t.Errorf("complete %v, violations %v", r.Complete, r.Violations)
				}
				return
			}
			if len(r.Violations) != 1 {
				t.Fatalf("nothing is found in %d states", r.States)
			}
			v := r.Violations[0]
			crash := slices.IndexFunc(v.Steps, func(step string) bool { return strings.HasPrefix(step, "crash ") })
			if crash < 0 || v.Steps[crash+1] != "re"+strings.Replace(v.Steps[crash], "crash", "start", 1) {
				t.Errorf("nobody crashes and starts again:\n%s", v.Scenario)
			}
			replaysAsItWas(t, tc.spec, v)
		})
	}
}

// Strict vote keeps all that it promises in every state within these bounds.
func TestStrictVoteKeepsItsPromises(t *testing.T) {
	for _, tc := range []struct {
		o      explore.Options
		states int
		large  bool
	}{
		{explore.Options{Nodes: 2, Epochs: 2, Crashes: 1}, 8_190, false},
		{explore.Options{Nodes: 3, Epochs: 1}, 50_273, false},
		{explore.Options{Nodes: 3, Epochs: 1, Crashes: 2}, 404_449, true},
		{explore.Options{Nodes: 2, Epochs: 3, Crashes: 2}, 577_866, true},
		{explore.Options{Nodes: 3, Epochs: 1, Crashes: 1, Mistakes: 1}, 678_093, true},
	} {
		if tc.large && !testenv.Long() || underRace && tc.o.Nodes > 2 {
			continue
		}
		o := tc.o
		o.Spec, o.Repeats = newVote(t, nil), 1
		r := run(t, o)
		if !r.Complete || r.States != tc.states {
			t.Errorf("N=%d, %d rounds, %d crashes, %d mistakes: %d states, want %d; complete %v", o.Nodes, o.Epochs, o.Crashes, o.Mistakes, r.States, tc.states, r.Complete)
		}
		for _, v := range r.Violations {
			t.Error(v.Scenario)
		}
		t.Logf("N=%d, %d rounds, %d crashes, %d mistakes: %d states in %v", o.Nodes, o.Epochs, o.Crashes, o.Mistakes, r.States, r.Elapsed)
	}
}

// Random walks go where there are too many states to visit: three rounds of three nodes
// with two crashes.
func TestStrictVoteWalks(t *testing.T) {
	o := explore.Options{Spec: newVote(t, nil), Nodes: 3, Epochs: 3, Crashes: 2}
	steps := testenv.Rounds(30_000, 10_000_000)
	if underRace {
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
