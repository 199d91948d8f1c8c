package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
)

// failoverCase is one kind of failure of a leader.
type failoverCase struct {
	Algorithm string
	Signal    proccluster.Signal // or one of drop, dropOut and dropIn
	Nodes     int
	Dead      int // members that are down besides the leader: the highest, one of which would lead next
}

// The failures of the network: the leader's packets are dropped in both directions, or only those
// from the leader, or only those to the leader. No node gets an error.
const (
	drop    proccluster.Signal = "drop"
	dropOut proccluster.Signal = "drop-out"
	dropIn  proccluster.Signal = "drop-in"
)

// network reports whether c is a failure of the network.
func (c failoverCase) network() bool {
	return c.Signal == drop || c.Signal == dropOut || c.Signal == dropIn
}

// failoverRound is one round.
type failoverRound struct {
	proccluster.Failover
	recovery proccluster.Recovery
}

// failoverSeries is a cluster that loses its leader in each round.
type failoverSeries struct {
	fault.Processes
	of     failoverCase
	claims algo.Claims
	leased bool // the highest leads only after another leader, if that one was elected before
}

// start starts a cluster for c as config says. When it returns, all nodes run and agree on a leader.
func (c failoverCase) start(ctx context.Context, registry algo.Registry, config proccluster.Config) (*failoverSeries, error) {
	spec, err := election.Spec(registry, c.Algorithm, algo.LAN(), nil)
	if err != nil {
		return nil, err
	}
	args := election.Flags(c.Algorithm)
	if spec.Textbook {
		args = append(args, "--allow-textbook")
	}
	s := &failoverSeries{of: c, claims: spec.Claims, leased: strings.HasSuffix(c.Algorithm, lease.Suffix)}
	config.Args = slices.Concat(args, config.Args)
	if s.Processes, err = fault.Start(ctx, config, c.Nodes, c.network(), 0); err != nil {
		return nil, err
	}
	if err := s.expect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// expect waits until the cluster is idle and returns an error if an unexpected node leads. With a
// lease it waits until the highest leads, which takes over some time after another was elected.
func (s *failoverSeries) expect(ctx context.Context) error {
	changed := s.Changed()
	leader, err := s.WaitQuiet(ctx)
	for err == nil && s.takesOver() && leader.Name != proccluster.Name(s.of.Nodes) {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		changed = s.Changed()
		leader, err = s.WaitQuiet(ctx)
	}
	if err == nil && s.claims.HighestLeads && !s.leased && leader.Name != proccluster.Name(s.of.Nodes) {
		err = fmt.Errorf("bench: %s leads, want the highest of %d", leader.Name, s.of.Nodes)
	}
	return err
}

// takesOver reports whether the highest takes over from a working leader, some time after its return.
// A signal during that change would not find an idle cluster.
func (s *failoverSeries) takesOver() bool { return s.leased && s.claims.HighestLeads }

// round lets the leader fail after a pause, measures the failover, and brings the old leader back. It
// returns an error if the outcome is wrong.
func (s *failoverSeries) round(ctx context.Context, pause time.Duration) (failoverRound, error) {
	if err := proccluster.Sleep(ctx, pause); err != nil {
		return failoverRound{}, err
	}
	failure, err := s.failLeader()
	if err != nil {
		return failoverRound{}, err
	}
	return s.after(ctx, failure)
}

// after measures the failover after a failure and brings the old leader back.
func (s *failoverSeries) after(ctx context.Context, failure *proccluster.LeaderLoss) (r failoverRound, err error) {
	if r.Failover, err = failure.WaitFailover(ctx); err != nil {
		return r, err
	}
	if s.of.network() {
		r.recovery, err = s.RecoverIsolated(ctx, failure.Leader.Name, s.Lab.Heal)
	} else {
		r.recovery, err = s.Recover(ctx, failure.Leader.Name, s.takesOver())
	}
	if err != nil {
		return r, err
	}
	return r, s.check(r)
}

// failLeader lets the leader fail.
func (s *failoverSeries) failLeader() (*proccluster.LeaderLoss, error) {
	if !s.of.network() {
		return s.FailLeader(s.of.Signal)
	}
	return s.IsolateLeader(s.of.Signal, func(leader proccluster.State) (err error) {
		failed := proccluster.Number(leader.Name)
		rest := fault.Others(s.of.Nodes, failed)
		if s.of.Signal != dropIn {
			err = s.Cut(failed, rest...)
		}
		for _, other := range rest {
			if err == nil && s.of.Signal != dropOut {
				err = s.Cut(other, failed)
			}
		}
		return err
	})
}

func (s *failoverSeries) close() error { return s.Close() }

// check returns an error if the outcome of a round is wrong. The cluster has already checked that all
// running nodes follow one leader in one epoch.
func (s *failoverSeries) check(r failoverRound) error {
	c := s.of
	survivors := c.Nodes - 1 - c.Dead
	old, next := r.OldLeader, r.NewLeader
	back := next // leader after the return of the old leader, which follows
	if s.claims.HighestLeads && !s.leased {
		old, next = proccluster.Name(c.Nodes), proccluster.Name(survivors)
		back = old
	}
	switch {
	case r.OldLeader != old || r.NewLeader != next || r.NewLeader == r.OldLeader || r.Survivors != survivors:
		return fmt.Errorf("bench: %s followed %s with %d survivors, want %s after %s with %d",
			r.NewLeader, r.OldLeader, r.Survivors, next, old, survivors)
	case r.EpochAfter <= r.EpochBefore:
		return fmt.Errorf("bench: epoch %d follows epoch %d", r.EpochAfter, r.EpochBefore)
	// In some algorithms an epoch can have two leaders: a returning node may take the epoch after the
	// last that it knew.
	case r.recovery.Leader != back && !s.leased || r.recovery.EpochAfter < r.EpochAfter:
		return fmt.Errorf("bench: after the return of %s, %s leads in epoch %d; want %s, not in an epoch below %d",
			r.OldLeader, r.recovery.Leader, r.recovery.EpochAfter, back, r.EpochAfter)
	case algosim.Total(r.Messages) < survivors-1: // a new leader must announce itself to each other survivor
		return fmt.Errorf("bench: %d messages were counted for %d survivors", algosim.Total(r.Messages), survivors)
	case r.Failover.Failover <= 0:
		return fmt.Errorf("bench: the failover took %v", r.Failover.Failover)
	}
	return nil
}

// values returns r by metric.
func (r failoverRound) values() figures {
	return figures{
		result.MetricFailover: stats.MS(r.Failover.Failover), result.MetricDetect: stats.MS(r.Detect),
		result.MetricElect: stats.MS(r.Elect), result.MetricFailoverMessages: float64(algosim.Total(r.Messages)),
	}
}
