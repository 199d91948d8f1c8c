package proccluster

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// States returns the current state of each node, n1 first.
func (f *Fleet) States() []State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states()
}

func (f *Fleet) states() []State {
	all := make([]State, len(f.nodes))
	for i, n := range f.nodes {
		all[i] = n.snapshot()
	}
	return all
}

// Await returns when what holds for the states. Its error is the cause of ctx with the
// states of all nodes, or the failure of a node that ended without a request.
func (f *Fleet) Await(ctx context.Context, what func([]State) bool) error {
	for {
		f.mu.Lock()
		states, changed, failed := f.states(), f.changed, f.failed
		f.mu.Unlock()
		if failed != nil {
			return failed
		}
		if what(states) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("proccluster: %w, while %s", context.Cause(ctx), describe(states))
		}
	}
}

// Changed returns a channel that is closed at the next change of any node.
func (f *Fleet) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// Agreement returns the state of the leader that all nodes that are up follow in the
// same epoch. The leader must be up and lead in that epoch too.
func Agreement(states []State) (leader State, ok bool) {
	i := slices.IndexFunc(states, func(s State) bool { return s.Life == Up && s.Leads })
	if i < 0 {
		return State{}, false
	}
	leader = states[i]
	for _, s := range states {
		if s.Life == Up && (s.LeaderID != leader.ID || s.Epoch != leader.Epoch) {
			return State{}, false
		}
	}
	return leader, true
}

// AwaitLeader returns the state of the leader when all nodes that are up agree.
func (f *Fleet) AwaitLeader(ctx context.Context) (State, error) {
	var leader State
	err := f.Await(ctx, func(states []State) (ok bool) {
		leader, ok = Agreement(states)
		return ok
	})
	return leader, err
}

// quiet is the time without an event after which an election has ended. It is longer
// than a stream gathers events.
const quiet = 10 * gather

// Settle waits until all nodes that are up agree on a leader and no event of an election has
// arrived for the time quiet. It returns the state of the leader.
func (f *Fleet) Settle(ctx context.Context) (State, error) {
	for {
		leader, err := f.AwaitLeader(ctx)
		if err != nil {
			return State{}, err
		}
		f.mu.Lock()
		last := f.last
		f.mu.Unlock()
		rest := quiet - time.Since(last)
		if rest <= 0 {
			return leader, nil
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
