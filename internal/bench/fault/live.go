package fault

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/trace"
)

// Measure has the fault happen to processes, which it starts out of config as [Start] does, with
// the flags of its algorithm if it has one.
func (c Case) Measure(ctx context.Context, config fleet.Config, seed uint64) (_ Cost, err error) {
	h := &liveStage{ledger: ledger{nodes: c.Nodes}, numbers: make(map[algo.NodeID]int)}
	config.OnEvent = h.see
	if c.Algorithm != "" {
		config.Args = append(election.Flags(c.Algorithm), config.Args...)
	}
	delay := min(c.Fault.delay, algo.DialTimeout*9/20) // a dial takes two of them
	if h.Processes, err = Start(ctx, config, c.Nodes, c.Fault.Network, delay); err != nil {
		return Cost{}, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	h.ledger.began = time.Duration(h.Began)
	return c.happen(ctx, h, &h.ledger, seed)
}

// liveStage runs processes. Their time is that of fleet.Now.
type liveStage struct {
	Processes
	ledger  ledger
	numbers map[algo.NodeID]int // of the nodes; the lock of the ledger guards it
}

func (h *liveStage) see(name string, e trace.Event) {
	node := fleet.Number(name)
	switch e.Kind {
	case trace.Ready:
		h.ledger.ready(e.At, node)
		h.ledger.mu.Lock()
		defer h.ledger.mu.Unlock()
		h.numbers[e.Node] = node
	case trace.Announce: // the ready event of the leader may come later
		h.ledger.add(e.At, func(p *picture) { p.follows(e.At, node, h.numbers[e.Leader.ID], uint64(e.Leader.Epoch)) })
	case trace.Send:
		h.ledger.sends(e.At)
	}
}

func (h *liveStage) now() time.Duration                              { return time.Duration(fleet.Now()) }
func (h *liveStage) pass(ctx context.Context, d time.Duration) error { return fleet.Sleep(ctx, d) }

// signals are what has a process do what a scenario says.
var signals = map[string]fleet.Signal{"crash": fleet.Kill, "stop": fleet.Term, "pause": fleet.Stop, "resume": fleet.Cont}

func (h *liveStage) happens(what string, node int) error {
	_, err := h.Signal(fleet.Name(node), signals[what])
	return err
}

func (h *liveStage) start(ctx context.Context, nodes ...int) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { errs[i] = h.Restart(ctx, fleet.Name(node)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (h *liveStage) cut(from int, to ...int) error { return h.Cut(from, to...) }
func (h *liveStage) heal() error                   { return h.Lab.Heal() }

func (h *liveStage) settle(ctx context.Context, within time.Duration) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoAgreement)
	defer cancel()
	leader, err := h.Settle(ctx)
	return fleet.Number(leader.Name), err
}
