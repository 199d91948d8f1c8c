package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// simulatedDelay is that of every message of the simulated clusters of this file: about what
// one on the loopback takes from loop to loop.
var simulatedDelay = sim.Uniform(50*time.Microsecond, 200*time.Microsecond)

// Simulate has the fault happen in the simulator.
func (c CostCase) Simulate(ctx context.Context, seed uint64) (Cost, error) {
	spec, err := Spec(c.Algorithm, algo.LAN(), nil)
	if err != nil {
		return Cost{}, err
	}
	s := &simulatedStage{ledger: ledger{nodes: c.Nodes}, kinds: kindsOf(spec.Messages)}
	s.world = sim.New(sim.Config{Spec: spec, Delay: simulatedDelay, Seed: seed, Trace: s.see})
	var priorities []int
	for node := 1; node <= c.Nodes; node++ {
		priorities = append(priorities, node)
		s.ledger.ready(0, node)
	}
	if err := s.world.Cluster(c.Nodes, priorities...); err != nil {
		return Cost{}, err
	}
	began, err := c.happen(ctx, s, phase(seed))
	if err != nil {
		return Cost{}, fmt.Errorf("bench: %s, seed %d: %w", c.Name(Simulator), seed, err)
	}
	for _, v := range s.world.Violations() {
		err = errors.Join(err, v)
	}
	return s.ledger.cost(began), err
}

// simulatedStage is a stage in virtual time.
type simulatedStage struct {
	world  *sim.World
	ledger ledger
	kinds  map[string]bool // of messages that are counted
	last   time.Duration   // when something of an election happened
}

func (s *simulatedStage) see(e trace.Event) {
	switch {
	case e.Kind == trace.Announce:
		s.ledger.follows(e.At, sim.Number(e.Node), sim.Number(e.Leader.ID), uint64(e.Leader.Epoch))
	case e.Kind == trace.Send && elects(e.Message, s.kinds):
		s.ledger.sends(e.At)
	case e.Kind != trace.Suspect && e.Kind != trace.Trust:
		return
	}
	s.last = e.At
}

func (s *simulatedStage) size() int          { return s.ledger.nodes }
func (s *simulatedStage) now() time.Duration { return s.world.Now() }

func (s *simulatedStage) pass(ctx context.Context, d time.Duration) error {
	s.world.Run(d)
	return context.Cause(ctx)
}

func (s *simulatedStage) kill(node int) error {
	s.ledger.runs(s.now(), node, false)
	return s.world.Crash(node)
}

func (s *simulatedStage) stop(node int) error {
	s.ledger.runs(s.now(), node, false)
	return s.world.Stop(node)
}

func (s *simulatedStage) start(_ context.Context, node int) error {
	s.ledger.boots(s.now(), node)
	s.ledger.ready(s.now(), node)
	return s.world.Restart(node)
}

func (s *simulatedStage) pause(node int) error {
	s.ledger.runs(s.now(), node, false)
	return s.world.Pause(node)
}

func (s *simulatedStage) resume(node int) error {
	s.ledger.runs(s.now(), node, true)
	return s.world.Resume(node)
}

func (s *simulatedStage) cut(from int, to ...int) error {
	for _, peer := range to {
		s.ledger.cuts(s.now(), from, peer)
		if err := s.world.Cut(from, peer); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulatedStage) heal() error {
	s.ledger.heals(s.now())
	s.world.Heal()
	return nil
}

// patience is how much virtual time a cluster has to agree.
const patience = time.Minute

func (s *simulatedStage) settle(ctx context.Context) (int, error) {
	for end := s.now() + patience; s.now() < end; {
		if err := s.pass(ctx, rest/10); err != nil {
			return 0, err
		}
		if leader, _, agreed := s.world.Leader(); agreed && s.now()-s.last >= rest {
			return leader, nil
		}
	}
	return 0, fmt.Errorf("no agreement after %v of virtual time: %s", patience, s.world.Opinions())
}
