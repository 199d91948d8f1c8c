package cli

import (
	"time"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/sim"
)

// estimates are the estimates for a configuration.
type estimates struct {
	nodes int
	// worst time from the silence of a leader to its suspicion: the last heartbeat was sent right before the silence.
	// detection is for a timeout that has not grown, grown for the largest timeout.
	detection, grown time.Duration
	// Timing.RecoveryBound plus four times the lease
	failover time.Duration
	// frames a second of all nodes while nothing happens; valid only if isSteady
	heartbeats float64
	// whether the simulation reached a steady state within its budget
	isSteady bool
	// time without a leader after the leader was killed or fell silent; 0 without a lease
	lease time.Duration
	// guarantees that the node gives up without a lease; empty with one
	givenUp string
}

// newEstimates computes the estimates for s. The rate of heartbeats depends on the peers that the algorithm monitors.
// Therefore a cluster of that many nodes runs in virtual time, and its frames are counted, up to the budget.
func newEstimates(s *confload.Settings, nodes int, budget uint64) (estimates, error) {
	t := s.Config.Timing
	e := estimates{
		nodes: nodes, detection: t.Timeout + t.RoundTrip/2, grown: t.MaxTimeout + t.RoundTrip/2, failover: t.RecoveryBound(),
	}
	spec, err := s.Spec()
	if o := s.Config.Lease; err == nil && o.IsOff() {
		e.givenUp = lease.GivenUp(spec.Claims)
	} else if err == nil {
		e.lease, e.failover = o.Duration, e.failover+4*o.Duration
		spec, err = lease.Wrap(spec, t, o)
	}
	if err != nil {
		return e, err
	}
	world := sim.New(sim.Config{Spec: spec, Timing: t, Delay: sim.Fixed(t.RoundTrip / 4), Budget: budget})
	if err := world.Cluster(nodes); err != nil {
		return e, err
	}
	for range leaderTries {
		world.Run(t.RecoveryBound())
		if _, _, e.isSteady = world.Leader(); e.isSteady {
			break
		}
	}
	if !e.isSteady {
		return e, nil
	}
	world.Run(t.RecoveryBound()) // the rest of the election
	before := world.Frames()
	period := steadyIntervals * t.Heartbeat
	world.Run(period)
	e.heartbeats = float64(world.Frames()-before) / period.Seconds()
	e.isSteady = len(world.Violations()) == 0 // otherwise the budget is used up and the simulation has halted
	return e, nil
}

const (
	// leaderTries limits the wait for a leader, in units of Timing.RecoveryBound.
	leaderTries = 20
	// steadyIntervals is the counted period, in heartbeat intervals. It covers the rarest messages: a lease is renewed
	// every five heartbeats, a leader announces itself every ten (bully) or four (vote).
	steadyIntervals = 200
	// estimateBudget limits the frames of the simulation: about half a minute of computing.
	estimateBudget = 20_000_000
)
