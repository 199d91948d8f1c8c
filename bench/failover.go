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
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
)

// failoverCase is one way in which a cluster loses its leader.
type failoverCase struct {
	Algorithm string
	Signal    fleet.Signal // or one of drop, dropOut and dropIn
	Nodes     int
	Dead      int // of those, besides the leader: the highest, who may be next in line
}

// Beside signals, what the network can do: the leader's packets are lost, both ways, or
// those that it sends, or those that it is sent. Nobody is told.
const (
	drop    fleet.Signal = "drop"
	dropOut fleet.Signal = "drop-out"
	dropIn  fleet.Signal = "drop-in"
)

// network reports whether it is the network that takes the leader away.
func (c failoverCase) network() bool {
	return c.Signal == drop || c.Signal == dropOut || c.Signal == dropIn
}

// failoverRound is one round.
type failoverRound struct {
	fleet.Failover
	recovery fleet.Recovery
}

// failoverSeries is a cluster that loses its leader again and again.
type failoverSeries struct {
	fault.Processes
	of     failoverCase
	claims algo.Claims
	leased bool // the highest leads later, when all have agreed on another before
}

// start starts a cluster for c, out of config. When it returns all agree on a leader. Nobody is dead.
func (c failoverCase) start(ctx context.Context, registry algo.Registry, config fleet.Config) (*failoverSeries, error) {
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

// expect waits until it is quiet, and says if another leads than should.
func (s *failoverSeries) expect(ctx context.Context) error {
	leader, err := s.Settle(ctx)
	if err == nil && s.claims.HighestLeads && !s.leased && leader.Name != fleet.Name(s.of.Nodes) {
		err = fmt.Errorf("bench: %s leads, want the highest of %d", leader.Name, s.of.Nodes)
	}
	return err
}

// round takes the leader away after a pause, and has it come back. Its error may be
// that what happened was not right.
func (s *failoverSeries) round(ctx context.Context, pause time.Duration) (failoverRound, error) {
	if err := fleet.Sleep(ctx, pause); err != nil {
		return failoverRound{}, err
	}
	strike, err := s.strike()
	if err != nil {
		return failoverRound{}, err
	}
	return s.after(ctx, strike)
}

// after measures what follows a strike, and has the old leader come back.
func (s *failoverSeries) after(ctx context.Context, strike *fleet.Strike) (r failoverRound, err error) {
	if r.Failover, err = strike.Settle(ctx); err != nil {
		return r, err
	}
	if s.of.network() {
		r.recovery, err = s.Rejoin(ctx, strike.Leader.Name, s.Lab.Heal)
	} else {
		r.recovery, err = s.Recover(ctx, strike.Leader.Name, false)
	}
	if err != nil {
		return r, err
	}
	return r, s.check(r)
}

// strike takes the leader away.
func (s *failoverSeries) strike() (*fleet.Strike, error) {
	if !s.of.network() {
		return s.Strike(s.of.Signal)
	}
	return s.Isolate(s.of.Signal, func(leader fleet.State) (err error) {
		struck := fleet.Number(leader.Name)
		rest := fault.Others(s.of.Nodes, struck)
		if s.of.Signal != dropIn {
			err = s.Cut(struck, rest...)
		}
		for _, other := range rest {
			if err == nil && s.of.Signal != dropOut {
				err = s.Cut(other, struck)
			}
		}
		return err
	})
}

func (s *failoverSeries) close() error { return s.Close() }

// check says what was not right in a round. The fleet has seen to it that all who are
// up named one leader in one epoch.
func (s *failoverSeries) check(r failoverRound) error {
	c := s.of
	survivors := c.Nodes - 1 - c.Dead
	old, next := r.OldLeader, r.NewLeader
	back := next // who leads once the old leader is back: it follows
	if s.claims.HighestLeads && !s.leased {
		old, next = fleet.Name(c.Nodes), fleet.Name(survivors)
		back = old
	}
	switch {
	case r.OldLeader != old || r.NewLeader != next || r.NewLeader == r.OldLeader || r.Survivors != survivors:
		return fmt.Errorf("bench: %s followed %s with %d survivors, want %s after %s with %d",
			r.NewLeader, r.OldLeader, r.Survivors, next, old, survivors)
	case r.EpochAfter <= r.EpochBefore:
		return fmt.Errorf("bench: epoch %d follows epoch %d", r.EpochAfter, r.EpochBefore)
	// Not in every algorithm has an epoch one leader only: who returns may take for
	// itself the epoch that follows the last it knew.
	case r.recovery.Leader != back && !s.leased || r.recovery.EpochAfter < r.EpochAfter:
		return fmt.Errorf("bench: after the return of %s, %s leads in epoch %d; want %s, not in an epoch below %d",
			r.OldLeader, r.recovery.Leader, r.recovery.EpochAfter, back, r.EpochAfter)
	case algosim.Total(r.Messages) < survivors-1: // a new leader has to tell each of the others
		return fmt.Errorf("bench: %d messages were counted for %d survivors", algosim.Total(r.Messages), survivors)
	case r.Failover.Failover <= 0:
		return fmt.Errorf("bench: the failover took %v", r.Failover.Failover)
	}
	return nil
}

// values is r by metric.
func (r failoverRound) values() figures {
	return figures{
		result.MetricFailover: sample.MS(r.Failover.Failover), result.MetricDetect: sample.MS(r.Detect),
		result.MetricElect: sample.MS(r.Elect), result.MetricFailoverMessages: float64(algosim.Total(r.Messages)),
	}
}
