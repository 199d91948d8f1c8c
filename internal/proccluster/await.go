package proccluster

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// States returns the current state of each node, n1 first.
func (c *Cluster) States() []State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states()
}

func (c *Cluster) states() []State {
	all := make([]State, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = n.snapshot()
	}
	return all
}

// WaitUntil returns when condition is true for the states. Its error is the cause of ctx with the
// states of all nodes, or the failure of a node that ended without a request.
func (c *Cluster) WaitUntil(ctx context.Context, condition func([]State) bool) error {
	for {
		c.mu.Lock()
		states, changed, failed := c.states(), c.changed, c.failed
		c.mu.Unlock()
		if failed != nil {
			return failed
		}
		if condition(states) {
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
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Agreement returns the state of the leader that all nodes that are up follow in the
// same epoch. The leader must be up and lead in that epoch too.
func Agreement(states []State) (leader State, ok bool) {
	i := slices.IndexFunc(states, func(s State) bool { return s.ProcState == Up && s.IsLeader })
	if i < 0 {
		return State{}, false
	}
	leader = states[i]
	for _, s := range states {
		if s.ProcState == Up && (s.LeaderID != leader.ID || s.Epoch != leader.Epoch) {
			return State{}, false
		}
	}
	return leader, true
}

// WaitLeader returns the state of the leader when all nodes that are up agree.
func (c *Cluster) WaitLeader(ctx context.Context) (State, error) {
	var leader State
	err := c.WaitUntil(ctx, func(states []State) (ok bool) {
		leader, ok = Agreement(states)
		return ok
	})
	return leader, err
}

// quiet is the time without an event after which an election has ended. It is longer
// than the batch interval of a stream.
const quiet = 10 * batchInterval

// WaitQuiet waits until all nodes that are up agree on a leader and no event of an election has
// arrived for the time quiet. It returns the state of the leader.
func (c *Cluster) WaitQuiet(ctx context.Context) (State, error) {
	for {
		leader, err := c.WaitLeader(ctx)
		if err != nil {
			return State{}, err
		}
		c.mu.Lock()
		last := c.lastEvent
		c.mu.Unlock()
		remaining := quiet - time.Since(last)
		if remaining <= 0 {
			return leader, nil
		}
		timer := time.NewTimer(remaining)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
