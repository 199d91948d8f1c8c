package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// simulatedDelay is that of every message of the simulated clusters of this file: about what
// one on the loopback takes from loop to loop.
var simulatedDelay = sim.Uniform(50*time.Microsecond, 200*time.Microsecond)

// simulate has the fault happen in the simulator.
func (c costCase) simulate(ctx context.Context, registry algo.Registry, seed uint64) (cost, error) {
	spec, err := election.Spec(registry, c.algorithm, algo.LAN(), nil)
	if err != nil {
		return cost{}, err
	}
	h := &simulatedStage{ledger: ledger{nodes: c.nodes}, kinds: election.Kinds(spec)}
	h.World = sim.New(sim.Config{Spec: spec, Delay: simulatedDelay, Seed: seed, Trace: h.see})
	var priorities []int
	for node := 1; node <= c.nodes; node++ {
		priorities = append(priorities, node)
		h.ledger.ready(0, node)
	}
	if err := h.Cluster(c.nodes, priorities...); err != nil {
		return cost{}, err
	}
	cost, err := c.happen(ctx, h, &h.ledger, seed)
	for _, v := range h.Violations() {
		err = errors.Join(err, v)
	}
	return cost, err
}

// simulatedStage runs a cluster in virtual time.
type simulatedStage struct {
	*sim.World
	ledger ledger
	kinds  map[string]bool // of messages that are counted
	last   time.Duration   // when something of an election happened
}

func (h *simulatedStage) see(e trace.Event) {
	switch {
	case e.Kind == trace.Announce:
		h.ledger.follows(e.At, sim.Number(e.Node), sim.Number(e.Leader.ID), uint64(e.Leader.Epoch))
	case e.Kind == trace.Send && election.Counts(e.Message, h.kinds):
		h.ledger.sends(e.At)
	case e.Kind != trace.Suspect && e.Kind != trace.Trust:
		return
	}
	h.last = e.At
}

func (h *simulatedStage) now() time.Duration { return h.Now() }

func (h *simulatedStage) pass(ctx context.Context, d time.Duration) error {
	h.Run(d)
	return context.Cause(ctx)
}

func (h *simulatedStage) happens(what string, node int) error { return h.Do("%s n%d", what, node) }

func (h *simulatedStage) start(_ context.Context, node int) error {
	h.ledger.ready(h.Now(), node)
	return h.Do("restart n%d", node)
}

func (h *simulatedStage) cut(from int, to ...int) error {
	for _, peer := range to {
		if err := h.Do("cut n%d n%d", from, peer); err != nil {
			return err
		}
	}
	return nil
}

func (h *simulatedStage) heal() error { return h.Do("heal") }

// patience is how much virtual time a cluster has to agree.
const patience = time.Minute

func (h *simulatedStage) settle(ctx context.Context) (int, error) {
	for end := h.Now() + patience; h.Now() < end; {
		if err := h.pass(ctx, rest/10); err != nil {
			return 0, err
		}
		if leader, _, agreed := h.Leader(); agreed && h.Now()-h.last >= rest {
			return leader, nil
		}
	}
	return 0, fmt.Errorf("no agreement after %v of virtual time: %s", patience, h.Opinions())
}
