package explore_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

func TestAWalkFindsWhatASearchFinds(t *testing.T) {
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
	// No step of it can be left out.
	for i := range v.Steps {
		if _, broken, err := replay(t, o.Spec, v, func(kept int) bool { return kept != i }); err == nil && len(broken) > 0 {
			t.Errorf("step %d is not needed:\n%s", i+1, v.Scenario)
		}
	}
}

func TestAWalkFindsDisagreement(t *testing.T) {
	spec := newToy(rules{start: func(t *toy, env algo.Env) { t.lead(env, t.stable.Epoch+1) }})
	o := explore.Options{Spec: spec, Nodes: 2, Properties: []algo.Property{algo.Agreement}}
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Steps: 10})
	if err != nil || len(r.Violations) != 1 || len(r.Violations[0].Steps) != 2 {
		t.Errorf("violations %v, error %v; want one of two starts", r.Violations, err)
	}
}

func TestTheSameSeedGivesTheSameWalks(t *testing.T) {
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

func TestAWalkIsCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := explore.Walk(ctx, explore.Options{Spec: newBully(t), Nodes: 2}, explore.WalkOptions{Steps: 10})
	if r.Generated != 0 || r.Cut != context.Canceled.Error() || !errors.Is(err, explore.ErrNoLeader) {
		t.Errorf("%+v, error %v", r, err)
	}
	if _, err := explore.Walk(ctx, explore.Options{Spec: newBully(t), Nodes: 2}, explore.WalkOptions{}); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("no steps: error %v", err)
	}
}

// patience is a context that ends when it was asked so often.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestAWalkIsCutOnItsWay(t *testing.T) {
	var shown []explore.Progress
	// Without a bound of its rounds, vote has no end.
	o := explore.Options{Spec: newVote(t, nil), Nodes: 2, Progress: func(p explore.Progress) { shown = append(shown, p) }}
	ctx := &patience{context.Background(), 3}
	r, err := explore.Walk(ctx, o, explore.WalkOptions{Steps: 1_000_000, Length: explore.MaxLength})
	if err != nil || r.Walks != 1 || r.Generated == 0 || r.Generated > 1000 || r.Cut != context.Canceled.Error() {
		t.Errorf("%+v, error %v", r, err)
	}
	if len(shown) == 0 || shown[len(shown)-1].Generated != r.Generated {
		t.Errorf("of %d steps the progress was %+v", r.Generated, shown)
	}
	if _, err := explore.Walk(ctx, o, explore.WalkOptions{Steps: 1_000_000, Length: explore.MaxLength + 1}); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("one walk of too many steps: error %v", err)
	}
}

// What was found is told, also where there is no time to leave out what is not needed.
func TestAWalkIsCutWhileItIsShortened(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Epochs: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	const most = 1_000_000
	walk := func(left int) (explore.Report, int) {
		ctx := &patience{context.Background(), left}
		r, err := explore.Walk(ctx, o, explore.WalkOptions{Seed: 1, Steps: most})
		if err != nil || len(r.Violations) != 1 {
			t.Fatalf("violations %v, error %v", r.Violations, err)
		}
		return r, left - ctx.left
	}
	whole, asked := walk(most)
	if whole.Cut != explore.AllViolated {
		t.Errorf("it was cut by %q", whole.Cut)
	}
	// One pass that finds nothing more to leave out comes last.
	cut, _ := walk(asked - 2*len(whole.Violations[0].Steps))
	if cut.Cut != context.Canceled.Error() || cut.Generated != whole.Generated || len(cut.Violations[0].Steps) < len(whole.Violations[0].Steps) {
		t.Errorf("cut by %q after %d steps, found %v", cut.Cut, cut.Generated, cut.Violations)
	}
}
