package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// Delay is that of every message of simulated clusters: about what one on the loopback takes from
// loop to loop.
var Delay = sim.Uniform(50*time.Microsecond, 200*time.Microsecond)

// Simulate has the fault happen in the simulator, to an algorithm of a registry.
func (c Case) Simulate(ctx context.Context, registry algo.Registry, seed uint64) (Cost, error) {
	spec, err := election.Spec(registry, c.Algorithm, algo.LAN(), nil)
	if err != nil {
		return Cost{}, err
	}
	h := &simulatedStage{random: rand.New(rand.NewPCG(seed, 2)), ledger: ledger{nodes: c.Nodes}, kinds: election.Kinds(spec)}
	delay := Delay
	if c.Fault.delay > 0 {
		delay = sim.Fixed(c.Fault.delay)
	}
	h.World = sim.New(sim.Config{Spec: spec, Delay: delay, Seed: seed, Trace: h.see})
	var priorities []int
	for node := 1; node <= c.Nodes; node++ {
		priorities = append(priorities, node)
		h.ledger.ready(0, node)
	}
	if err := h.Cluster(c.Nodes, priorities...); err != nil {
		return Cost{}, err
	}
	cost, err := c.happen(ctx, h, &h.ledger, seed)
	for _, v := range h.Violations() {
		err = errors.Join(err, v)
	}
	return cost, err
}

// rest is for how long nothing must happen until an election counts as over.
const rest = 100 * time.Millisecond

// simulatedStage runs a cluster in virtual time.
type simulatedStage struct {
	*sim.World
	ledger ledger
	random *rand.Rand
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

// start has processes begin one after the other within some milliseconds, as real ones do.
func (h *simulatedStage) start(_ context.Context, nodes ...int) (err error) {
	for at, node := range nodes {
		if at > 0 {
			h.Run(time.Duration(h.random.Int64N(int64(20 * time.Millisecond))))
		}
		h.ledger.ready(h.Now(), node)
		err = errors.Join(err, h.Do("restart n%d", node))
	}
	return err
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

func (h *simulatedStage) settle(ctx context.Context, within time.Duration) (int, error) {
	for end := h.Now() + within; h.Now() < end; {
		if err := h.pass(ctx, rest/10); err != nil {
			return 0, err
		}
		if leader, _, agreed := h.Leader(); agreed && h.Now()-h.last >= rest {
			return leader, nil
		}
	}
	return 0, fmt.Errorf("%w after %v of virtual time: %s", errNoAgreement, within, h.Opinions())
}
