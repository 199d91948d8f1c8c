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

// Delay is the delay of every message in simulated clusters, about the time between the loops of
// two processes over the loopback interface.
var Delay = sim.Uniform(50*time.Microsecond, 200*time.Microsecond)

// Simulate injects the fault in the simulator, into a cluster that runs an algorithm of the registry.
func (c Case) Simulate(ctx context.Context, registry algo.Registry, seed uint64) (Cost, error) {
	spec, err := election.Spec(registry, c.Algorithm, algo.LAN(), nil)
	if err != nil {
		return Cost{}, err
	}
	b := &simulatedTestbed{random: rand.New(rand.NewPCG(seed, 2)), log: eventLog{nodes: c.Nodes}, kinds: election.Kinds(spec)}
	delay := Delay
	if c.Fault.delay > 0 {
		delay = sim.Fixed(c.Fault.delay)
	}
	b.World = sim.New(sim.Config{Spec: spec, Delay: delay, Seed: seed, Trace: b.see})
	var priorities []int
	for node := 1; node <= c.Nodes; node++ {
		priorities = append(priorities, node)
		b.log.recordReady(0, node)
	}
	if err := b.Cluster(c.Nodes, priorities...); err != nil {
		return Cost{}, err
	}
	cost, err := c.run(ctx, b, &b.log, seed)
	for _, v := range b.Violations() {
		err = errors.Join(err, v)
	}
	return cost, err
}

// quietPeriod is the time without events after which an election counts as ended.
const quietPeriod = 100 * time.Millisecond

// simulatedTestbed runs a cluster in virtual time.
type simulatedTestbed struct {
	*sim.World
	log    eventLog
	random *rand.Rand
	kinds  map[string]bool // kinds of messages that are counted
	last   time.Duration   // time of the last event of an election
}

func (b *simulatedTestbed) see(e trace.Event) {
	switch {
	case e.Kind == trace.Announce:
		b.log.recordLeader(e.At, sim.Number(e.Node), sim.Number(e.Leader.ID), uint64(e.Leader.Epoch))
	case e.Kind == trace.Send && election.Counts(e.Message, b.kinds):
		b.log.recordSend(e.At)
	case e.Kind != trace.Suspect && e.Kind != trace.Trust:
		return
	}
	b.last = e.At
}

func (b *simulatedTestbed) now() time.Duration { return b.Now() }

func (b *simulatedTestbed) pass(ctx context.Context, d time.Duration) error {
	b.Run(d)
	return context.Cause(ctx)
}

func (b *simulatedTestbed) inject(what string, node int) error { return b.Do("%s n%d", what, node) }

// start starts the nodes one by one with delays of milliseconds, as real processes start.
func (b *simulatedTestbed) start(_ context.Context, nodes ...int) (err error) {
	for at, node := range nodes {
		if at > 0 {
			b.Run(time.Duration(b.random.Int64N(int64(20 * time.Millisecond))))
		}
		b.log.recordReady(b.Now(), node)
		err = errors.Join(err, b.Do("restart n%d", node))
	}
	return err
}

func (b *simulatedTestbed) cut(from int, to ...int) error {
	for _, peer := range to {
		if err := b.Do("cut n%d n%d", from, peer); err != nil {
			return err
		}
	}
	return nil
}

func (b *simulatedTestbed) heal() error { return b.Do("heal") }

func (b *simulatedTestbed) waitAgreed(ctx context.Context, within time.Duration) (int, error) {
	for end := b.Now() + within; b.Now() < end; {
		if err := b.pass(ctx, quietPeriod/10); err != nil {
			return 0, err
		}
		if leader, _, agreed := b.Leader(); agreed && b.Now()-b.last >= quietPeriod {
			return leader, nil
		}
	}
	return 0, fmt.Errorf("%w after %v of virtual time: %s", errNoAgreement, within, b.Opinions())
}
