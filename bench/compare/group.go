package main

import (
	"context"
	"slices"

	"github.com/elect-go/elect/internal/proccluster"
)

// group is a running cluster, with leaders or without.
type group struct {
	*proccluster.Cluster
	leads bool
}

// waitAgreed waits until all nodes agree on a leader, or suspect no member if they have no leader.
func (g group) waitAgreed(ctx context.Context) error {
	if g.leads {
		_, err := g.WaitQuiet(ctx)
		return err
	}
	return g.WaitUntil(ctx, func(states []proccluster.State) bool {
		return !slices.ContainsFunc(states, func(n proccluster.State) bool { return len(n.Suspects) > 0 })
	})
}

// failLeader sends the signal to the leader, or to the highest node of a system without leaders,
// and waits until the survivors agree again. end is the time at which the last survivor followed
// the new leader.
func (g group) failLeader(ctx context.Context, signal proccluster.Signal) (failed proccluster.State, at, end int64, err error) {
	if g.leads {
		failure, err := g.FailLeader(signal)
		if err != nil {
			return failed, 0, 0, err
		}
		result, err := failure.WaitFailover(ctx)
		return failure.Leader, failure.At, failure.At + int64(result.Failover), err
	}
	states := g.States()
	failed = states[len(states)-1]
	if at, err = g.Signal(proccluster.Name(len(states)), signal); err != nil {
		return failed, 0, 0, err
	}
	err = g.WaitUntil(ctx, func(states []proccluster.State) bool {
		return !slices.ContainsFunc(states, func(n proccluster.State) bool {
			return n.ProcState == proccluster.Up && !slices.Contains(n.Suspects, failed.ID)
		})
	})
	return failed, at, 0, err
}
