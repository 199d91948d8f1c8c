package explore_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

func TestWalkFindsViolation(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Epochs: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	shortest := run(t, o).Violations[0].Steps
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: 1, Steps: 1_000_000})
	if err != nil || len(r.Violations) != 1 || r.Cut == "" {
		t.Fatalf("violations %v, cut %q, error %v", r.Violations, r.Cut, err)
	}
	v := r.Violations[0]
	if v.Property != algo.OneLeaderPerEpoch || len(v.Steps) < len(shortest) {
		t.Errorf("%s after %d steps; the shortest has %d", v.Property, len(v.Steps), len(shortest))
	}
	// Each step is needed.
	for i := range v.Steps {
		if _, violated, err := replay(t, o.Spec, v, func(kept int) bool { return kept != i }); err == nil && len(violated) > 0 {
			t.Errorf("step %d is not needed:\n%s", i+1, v.Scenario)
		}
	}
}

func TestWalkFindsDisagreement(t *testing.T) {
	spec := newToy(rules{start: func(t *toy, env algo.Env) { t.lead(env, t.stable.Epoch+1) }})
	o := explore.Options{Spec: spec, Nodes: 2, Properties: []algo.Property{algo.Agreement}}
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Steps: 10})
	if err != nil || len(r.Violations) != 1 || len(r.Violations[0].Steps) != 2 {
		t.Errorf("violations %v, error %v; want one of two starts", r.Violations, err)
	}
}

func TestWalksDependOnSeed(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, Crashes: 1, FalseSuspicions: 1, Epochs: 3}
	walk := func(seed uint64) explore.Report {
		r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: seed, Steps: 20_000, Length: 50})
		if err != nil {
			t.Fatal(err)
		}
		r.Elapsed, r.TransitionsPerSecond = 0, 0
		return r
	}
	first := walk(1)
	if again := walk(1); !reflect.DeepEqual(first, again) {
		t.Errorf("%+v\nand\n%+v", first, again)
	}
	if first.Generated != 20_000 || first.Walks < 400 || first.WithLeader == 0 || first.Cut != "" || len(first.Violations) > 0 {
		t.Errorf("%+v", first)
	}
	if reflect.DeepEqual(first, walk(2)) {
		t.Error("another seed gives the same walks")
	}
}

func TestCancelledContextStopsWalks(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := explore.Walk(ctx, explore.Options{Spec: newBully(t), Nodes: 2}, explore.WalkOptions{Steps: 10})
	if r.Generated != 0 || r.Cut != context.Canceled.Error() || !errors.Is(err, explore.ErrNoLeader) {
		t.Errorf("%+v, error %v", r, err)
	}
	if _, err := explore.Walk(ctx, explore.Options{Spec: newBully(t), Nodes: 2}, explore.WalkOptions{}); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("zero steps: error %v", err)
	}
}

// limitedContext ends after a number of calls to Err.
type limitedContext struct {
	context.Context
	left int
}

func (p *limitedContext) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContextStopsWalkEarly(t *testing.T) {
	var reported []explore.Progress
	// Without a bound on epochs, vote has infinitely many states.
	o := explore.Options{Spec: newVote(t, nil), Nodes: 2, Progress: func(p explore.Progress) { reported = append(reported, p) }}
	ctx := &limitedContext{context.Background(), 3}
	r, err := explore.Walk(ctx, o, explore.WalkOptions{Steps: 1_000_000, Length: explore.MaxLength})
	if err != nil || r.Walks != 1 || r.Generated == 0 || r.Generated > 1000 || r.Cut != context.Canceled.Error() {
		t.Errorf("%+v, error %v", r, err)
	}
	if len(reported) == 0 || reported[len(reported)-1].Generated != r.Generated {
		t.Errorf("%d steps, reported progress %+v", r.Generated, reported)
	}
	if _, err := explore.Walk(ctx, o, explore.WalkOptions{Steps: 1_000_000, Length: explore.MaxLength + 1}); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("walk above MaxLength: error %v", err)
	}
}

// A violation is reported even if there is no time to remove unneeded steps.
func TestContextStopsMinimization(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Epochs: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	const unlimited = 1_000_000
	walk := func(left int) (explore.Report, int) {
		ctx := &limitedContext{context.Background(), left}
		r, err := explore.Walk(ctx, o, explore.WalkOptions{Seed: 1, Steps: unlimited})
		if err != nil || len(r.Violations) != 1 {
			t.Fatalf("violations %v, error %v", r.Violations, err)
		}
		return r, left - ctx.left
	}
	whole, calls := walk(unlimited)
	if whole.Cut != explore.AllViolated {
		t.Errorf("cut by %q, want AllViolated", whole.Cut)
	}
	// The last pass over the steps removes none.
	cut, _ := walk(calls - 2*len(whole.Violations[0].Steps))
	if cut.Cut != context.Canceled.Error() || cut.Generated != whole.Generated || len(cut.Violations[0].Steps) < len(whole.Violations[0].Steps) {
		t.Errorf("cut by %q after %d steps, violations %v", cut.Cut, cut.Generated, cut.Violations)
	}
}
