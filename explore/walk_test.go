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
	o := explore.Options{Spec: newBully(t), Nodes: 3, Settled: true, Mistakes: 1, Epochs: 3, Properties: []explore.Property{explore.OneLeaderPerEpoch}}
	shortest := run(t, o).Violations[0].Steps
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: 1, Steps: 1_000_000})
	if err != nil || len(r.Violations) != 1 || r.Cut == "" {
		t.Fatalf("violations %v, cut %q, error %v", r.Violations, r.Cut, err)
	}
	v := r.Violations[0]
	if v.Property != explore.OneLeaderPerEpoch || len(v.Steps) < len(shortest) {
		t.Errorf("%s after %d steps; the shortest has %d", v.Property, len(v.Steps), len(shortest))
	}
	// No step of it can be left out.
	for i := range v.Steps {
		without := append(append([]explore.Step{}, v.Steps[:i]...), v.Steps[i+1:]...)
		if _, broken, err := explore.Replay(o, without); err == nil && len(broken) > 0 {
			t.Errorf("step %d is not needed:\n%s", i+1, v.Text)
		}
	}
}

func TestAWalkFindsDisagreement(t *testing.T) {
	spec := newToy(rules{start: func(t *toy, env algo.Env) { t.lead(env, t.stable.Epoch+1) }})
	o := explore.Options{Spec: spec, Nodes: 2, Properties: []explore.Property{explore.EventualAgreement}}
	r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Steps: 10})
	if err != nil || len(r.Violations) != 1 || len(r.Violations[0].Steps) != 2 {
		t.Errorf("violations %v, error %v; want one of two starts", r.Violations, err)
	}
}

func TestTheSameSeedGivesTheSameWalks(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, Crashes: 1, Mistakes: 1, Epochs: 3}
	walk := func(seed uint64) explore.WalkReport {
		r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: seed, Steps: 20_000, Length: 50})
		if err != nil {
			t.Fatal(err)
		}
		r.Elapsed, r.StepsPerSecond = 0, 0
		return r
	}
	first := walk(1)
	if again := walk(1); !reflect.DeepEqual(first, again) {
		t.Errorf("%+v\nand\n%+v", first, again)
	}
	if first.Steps != 20_000 || first.Walks < 400 || first.WalksWithLeader == 0 || first.Cut != "" || len(first.Violations) > 0 {
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
	if r.Steps != 0 || r.Cut != context.Canceled.Error() || !errors.Is(err, explore.ErrNoLeader) {
		t.Errorf("%+v, error %v", r, err)
	}
	if _, err := explore.Walk(ctx, explore.Options{Spec: newBully(t), Nodes: 2}, explore.WalkOptions{}); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("no steps: error %v", err)
	}
}
