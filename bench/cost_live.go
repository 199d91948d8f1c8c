package bench

import (
	"context"
	"errors"
	"time"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/wait"
)

// measure has the fault happen to processes, which it starts out of config. Where packets are to be
// lost and cannot be its error wraps [netlab.ErrUnavailable].
func (c costCase) measure(ctx context.Context, config fleet.Config, seed uint64) (_ cost, err error) {
	h := &liveStage{ledger: ledger{nodes: c.nodes}}
	config.OnEvent = h.see
	if h.struck, err = startStruck(ctx, config, c.nodes, c.fault.network, "--algorithm", c.algorithm); err != nil {
		return cost{}, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return c.happen(ctx, h, &h.ledger, seed)
}

// liveStage runs processes. Their time is that of fleet.Now.
type liveStage struct {
	struck
	ledger ledger
}

func (h *liveStage) see(name string, e fleet.Event) {
	at, node := time.Duration(e.At), number(name)
	switch e.What {
	case fleet.Ready:
		h.ledger.ready(at, node)
	case fleet.Leader:
		h.ledger.follows(at, node, number(e.Name), e.Epoch)
	case fleet.Send:
		h.ledger.sends(at)
	}
}

func (h *liveStage) now() time.Duration                              { return time.Duration(fleet.Now()) }
func (h *liveStage) pass(ctx context.Context, d time.Duration) error { return wait.For(ctx, d) }

// signals are what has a process do what a scenario says.
var signals = map[string]fleet.Signal{"crash": fleet.Kill, "stop": fleet.Term, "pause": fleet.Stop, "resume": fleet.Cont}

func (h *liveStage) happens(what string, node int) error {
	_, err := h.Signal(nodeName(node), signals[what])
	return err
}

func (h *liveStage) start(ctx context.Context, node int) error {
	return h.Restart(ctx, nodeName(node))
}

func (h *liveStage) heal() error { return h.lab.Heal() }

func (h *liveStage) settle(ctx context.Context) (int, error) {
	leader, err := h.Settle(ctx)
	return number(leader.Name), err
}
