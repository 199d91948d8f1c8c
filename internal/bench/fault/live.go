package fault

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// Measure injects the fault into processes. It starts them as [Start] does, with the flags of the
// algorithm if c has one.
func (c Case) Measure(ctx context.Context, config proccluster.Config, seed uint64) (_ Cost, err error) {
	b := &liveTestbed{log: eventLog{nodes: c.Nodes}, numbers: make(map[algo.NodeID]int)}
	config.OnEvent = b.see
	if c.Algorithm != "" {
		config.Args = append(election.Flags(c.Algorithm), config.Args...)
	}
	delay := min(c.Fault.delay, algo.DialTimeout*9/20) // a dial takes two delays
	if b.Processes, err = Start(ctx, config, c.Nodes, c.Fault.Network, delay); err != nil {
		return Cost{}, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	b.log.began = time.Duration(b.Began)
	return c.run(ctx, b, &b.log, seed)
}

// liveTestbed runs processes. Its clock is proccluster.Now.
type liveTestbed struct {
	Processes
	log     eventLog
	numbers map[algo.NodeID]int // node numbers; guarded by log.mu
}

func (b *liveTestbed) see(name string, e trace.Event) {
	node := proccluster.Number(name)
	switch e.Kind {
	case trace.Ready:
		b.log.recordReady(e.At, node)
		b.log.mu.Lock()
		defer b.log.mu.Unlock()
		b.numbers[e.Node] = node
	case trace.Announce: // the ready event of the leader may come later
		b.log.record(e.At, func(p *clusterState) { p.setLeader(e.At, node, b.numbers[e.Leader.ID], uint64(e.Leader.Epoch)) })
	case trace.Send:
		b.log.recordSend(e.At)
	}
}

func (b *liveTestbed) now() time.Duration { return time.Duration(proccluster.Now()) }
func (b *liveTestbed) pass(ctx context.Context, d time.Duration) error {
	return proccluster.Sleep(ctx, d)
}

// signals maps each step of a scenario to the signal that performs it.
var signals = map[string]proccluster.Signal{"crash": proccluster.Kill, "stop": proccluster.Term, "pause": proccluster.Stop, "resume": proccluster.Cont}

func (b *liveTestbed) inject(step string, node int) error {
	_, err := b.Signal(proccluster.Name(node), signals[step])
	return err
}

func (b *liveTestbed) start(ctx context.Context, nodes ...int) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { errs[i] = b.Restart(ctx, proccluster.Name(node)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (b *liveTestbed) cut(from int, to ...int) error { return b.Cut(from, to...) }
func (b *liveTestbed) heal() error                   { return b.Lab.Heal() }

func (b *liveTestbed) waitAgreed(ctx context.Context, within time.Duration) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoAgreement)
	defer cancel()
	leader, err := b.WaitQuiet(ctx)
	return proccluster.Number(leader.Name), err
}
