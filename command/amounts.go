package command

import (
	"time"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/sim"
)

// amounts are what a configuration amounts to.
type amounts struct {
	nodes int
	// detection is how long a silent leader goes unsuspected at worst: it sent a heartbeat
	// right before, which took its time; while no timeout has grown, and when it has grown
	// as far as it may.
	detection, grown time.Duration
	// failover is Timing.RecoveryBound, and four times a lease.
	failover time.Duration
	// rest is how many frames a second all nodes together send when nothing happens, if a
	// simulation came to rest.
	rest    float64
	settled bool
	// lease is for how long nobody leads after a leader was killed, or fell silent; 0 without one.
	lease time.Duration
	// givenUp says what the node gives up without a lease; empty with one.
	givenUp string
}

// amountsOf works them out. What is sent at rest depends on whom an algorithm has watched,
// so a cluster of that many nodes is run in virtual time, and its frames are counted, up to
// the budget.
func amountsOf(s *config.Settings, nodes int, budget uint64) (amounts, error) {
	t := s.Config.Timing
	a := amounts{
		nodes: nodes, detection: t.Timeout + t.RoundTrip/2, grown: t.MaxTimeout + t.RoundTrip/2, failover: t.RecoveryBound(),
	}
	spec, err := s.Spec()
	if o := s.Config.Lease; err == nil && o.IsOff() {
		a.givenUp = lease.GivenUp(spec.Claims)
	} else if err == nil {
		a.lease, a.failover = o.Duration, a.failover+4*o.Duration
		spec, err = lease.Wrap(spec, t, o)
	}
	if err != nil {
		return a, err
	}
	world := sim.New(sim.Config{Spec: spec, Timing: t, Delay: sim.Fixed(t.RoundTrip / 4), Budget: budget})
	if err := world.Cluster(nodes); err != nil {
		return a, err
	}
	for range settleTries {
		world.Run(t.RecoveryBound())
		if _, _, a.settled = world.Leader(); a.settled {
			break
		}
	}
	if !a.settled {
		return a, nil
	}
	world.Run(t.RecoveryBound()) // what is left of the election
	before := world.Frames()
	period := restIntervals * t.Heartbeat
	world.Run(period)
	a.rest = float64(world.Frames()-before) / period.Seconds()
	a.settled = len(world.Violations()) == 0 // else it used up its budget, and stands still
	return a, nil
}

const (
	// settleTries is for how many bounds the simulation waits for a leader.
	settleTries = 20
	// restIntervals is long enough for what is seldom said: leases are renewed every five
	// heartbeats, leaders of bully repeat themselves every ten, those of vote every four.
	restIntervals = 200
	// restBudget is how many frames that may take: half a minute's work.
	restBudget = 20_000_000
)
