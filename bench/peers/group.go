package main

import (
	"context"
	"slices"

	"github.com/elect-go/elect/internal/fleet"
)

// group is a running cluster, with leaders or without.
type group struct {
	*fleet.Fleet
	leads bool
}

// settle waits until all agree: on a leader, or that all are alive.
func (g group) settle(ctx context.Context) error {
	if g.leads {
		_, err := g.Settle(ctx)
		return err
	}
	return g.Await(ctx, func(states []fleet.State) bool {
		return !slices.ContainsFunc(states, func(n fleet.State) bool { return len(n.Suspects) > 0 })
	})
}

// strike sends the signal to the leader, or to the highest where there is none, and
// waits until the survivors agree again. end is when the last followed the new leader.
func (g group) strike(ctx context.Context, signal fleet.Signal) (struck fleet.State, at, end int64, err error) {
	if g.leads {
		strike, err := g.Strike(signal)
		if err != nil {
			return struck, 0, 0, err
		}
		result, err := strike.Settle(ctx)
		return strike.Leader, strike.At, strike.At + int64(result.Failover), err
	}
	states := g.States()
	struck = states[len(states)-1]
	if at, err = g.Signal(fleet.Name(len(states)), signal); err != nil {
		return struck, 0, 0, err
	}
	err = g.Await(ctx, func(states []fleet.State) bool {
		return !slices.ContainsFunc(states, func(n fleet.State) bool {
			return n.Life == fleet.Up && !slices.Contains(n.Suspects, struck.ID)
		})
	})
	return struck, at, 0, err
}
