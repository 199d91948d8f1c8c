package sim

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	m.Run()
}

func TestAllInvalidOptionsAreReported(t *testing.T) {
	_, err := Run(t.Context(), Options{
		Spec: spec(t), Nodes: 3, Crashed: 3, Initiators: []int{4}, Priorities: []int{1},
		Delay: Delay{Least: 2 * T, Most: T}, Faults: Faults{Loss: 1},
	})
	for _, want := range []string{"3 of 3 nodes crash", "initiator 4, want 1 to 3", "1 priorities for 3 nodes", "a range that is empty", "loss is 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if !errors.Is(err, ErrOptions) {
		t.Errorf("error %v is not ErrOptions", err)
	}
	if _, err := Run(t.Context(), Options{}); !errors.Is(err, ErrOptions) {
		t.Errorf("without an algorithm: error %v, want ErrOptions", err)
	}
	if _, err := Run(t.Context(), Options{Spec: spec(t), Nodes: 3, Crashed: 1, Initiators: []int{3}}); !errors.Is(err, ErrOptions) {
		t.Errorf("a crashed initiator: error %v, want ErrOptions", err)
	}
}

func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{Spec: known(t, "textbook-bully"), Nodes: 100, Delay: Fixed(T)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// The result has the rank of the leader, whatever the place of the leader in the ring.
func TestPrioritiesDecide(t *testing.T) {
	r, err := Run(t.Context(), Options{
		Spec: known(t, "textbook-bully"), Nodes: 5, Priorities: []int{5, 1, 4, 2, 3}, Crashed: 1, Initiators: []int{2}, Delay: Fixed(T),
	})
	if err != nil || len(r.Violations) > 0 {
		t.Fatal(err, r.Violations)
	}
	if r.Leader != 4 || r.Sent != 5*5-5-1 || r.Turnaround != 4 {
		t.Errorf("rank %d leads, after %d messages and %v T; want rank 4, 19 and 4", r.Leader, r.Sent, r.Turnaround)
	}
}

// Runs with the same seed have the same result, also with delays and faults.
func TestRunIsRepeatable(t *testing.T) {
	run := func(seed uint64) Result {
		r, err := Run(t.Context(), Options{
			Spec: spec(t), Nodes: 7, Crashed: 2, Delay: HeavyTailed(time.Millisecond, T),
			Faults: Faults{Loss: 0.1, Duplicate: 0.1, Reorder: 0.1}, Seed: seed,
		})
		if err != nil || len(r.Violations) > 0 {
			t.Fatal(err, r.Violations)
		}
		return r
	}
	first := run(1)
	if second := run(1); !reflect.DeepEqual(first, second) {
		t.Errorf("two results: %+v and %+v", first, second)
	}
	for seed := range uint64(20) {
		if other := run(seed + 2); other.Turnaround != first.Turnaround {
			return
		}
	}
	t.Error("20 seeds, and each time the same turnaround")
}

func TestCandidateOrder(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want []int
	}{
		{Options{Nodes: 3}, []int{1, 2, 3}},
		{Options{Nodes: 5, Priorities: []int{5, 1, 4, 1, 3}}, []int{2, 4, 5, 3, 1}}, // of equal priorities, the higher ID ranks higher
		{Options{Nodes: 3, Priorities: []int{1}}, nil},
		{Options{Nodes: -1}, nil},
	} {
		if got := test.o.Order(); !slices.Equal(got, test.want) {
			t.Errorf("Order() of %d nodes with priorities %v = %v, want %v", test.o.Nodes, test.o.Priorities, got, test.want)
		}
	}
	o := Options{Spec: spec(t), Nodes: 5, Priorities: []int{5, 1, 4, 2, 3}, Crashed: 2, Initiators: []int{1, 2, 3}}
	err := o.Check()
	for _, want := range []string{"initiator 1, and it crashes", "initiator 3, and it crashes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "initiator 2") {
		t.Errorf("error %v, but n2 lives", err)
	}
}

func TestNumberIsInverseOfID(t *testing.T) {
	for _, n := range []int{1, 2, 300, maxNodes} {
		if got := Number(ID(n)); got != n {
			t.Errorf("Number(ID(%d)) = %d", n, got)
		}
	}
	for _, id := range []algo.NodeID{{}, {0: 1, 15: 1}, clusterID} {
		if got := Number(id); got != 0 {
			t.Errorf("Number(%v) = %d, want 0", id, got)
		}
	}
}
