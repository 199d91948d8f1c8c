package sim

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAllMistakesInOptionsAreSaidAtOnce(t *testing.T) {
	_, err := Run(t.Context(), Options{
		Spec: spec(t, nil), Nodes: 3, Crashed: 3, Initiators: []int{4}, Priorities: []int{1},
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
	if _, err := Run(t.Context(), Options{Spec: spec(t, nil), Nodes: 3, Crashed: 1, Initiators: []int{3}}); !errors.Is(err, ErrOptions) {
		t.Errorf("a crashed initiator: error %v, want ErrOptions", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{Spec: spec(t, textbook), Nodes: 100, Delay: Fixed(T)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestPrioritiesDecide: the leader is known by its rank, whatever its place in the ring.
func TestPrioritiesDecide(t *testing.T) {
	r, err := Run(t.Context(), Options{
		Spec: spec(t, textbook), Nodes: 5, Priorities: []int{5, 1, 4, 2, 3}, Crashed: 1, Initiators: []int{2}, Textbook: true, Delay: Fixed(T),
	})
	if err != nil || len(r.Violations) > 0 {
		t.Fatal(err, r.Violations)
	}
	if r.Leader != 4 || r.Sent != 5*5-5-1 || r.Turnaround != 4 {
		t.Errorf("rank %d leads, after %d messages and %v T; want rank 4, 19 and 4", r.Leader, r.Sent, r.Turnaround)
	}
}

// TestRunIsRepeatable, also with delays and faults, by its seed.
func TestRunIsRepeatable(t *testing.T) {
	run := func(seed uint64) Result {
		r, err := Run(t.Context(), Options{
			Spec: spec(t, nil), Nodes: 7, Crashed: 2, Delay: HeavyTailed(time.Millisecond, T),
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

func TestCommandRunsItAgain(t *testing.T) {
	o := Options{Spec: spec(t, nil), Nodes: 5, Crashed: 1, Initiators: []int{1, 3}, Delay: Fixed(T), Faults: Faults{Loss: 0.1}, Textbook: true, Seed: 7}
	o.Spec.Settings = o.Spec.Settings[:1]
	const want = "elect sim --algorithm bully --nodes 5 --crashed 1 --initiators 1,3 --delay 10ms --loss 0.1 " +
		"--option announce_interval=1.2s --textbook --seed 7"
	if got := o.Command(); got != want {
		t.Errorf("Command() = %s, want %s", got, want)
	}
}
