package bench

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/wait"
)

// measure has the fault happen to processes, which it starts out of config, whose nodes and
// flags c decides. Where packets are to be lost and cannot be its error wraps
// [netlab.ErrUnavailable].
func (c costCase) measure(ctx context.Context, config fleet.Config, seed uint64) (_ cost, err error) {
	h := &liveHost{ledger: ledger{nodes: c.nodes}}
	config.Nodes, config.OnEvent = c.nodes, h.see
	config.Args = append([]string{"--algorithm", c.algorithm}, config.Args...)
	config.Hosts = fleet.Loopback(c.nodes)
	if c.fault.network {
		if h.lab, err = netlab.New(c.nodes); err != nil {
			return cost{}, err
		}
		defer func() { err = errors.Join(err, h.lab.Close()) }()
		config.Hosts = hostsOf(h.lab, c.nodes)
	}
	if h.fleet, err = fleet.New(ctx, config); err != nil {
		return cost{}, err
	}
	defer func() { err = errors.Join(err, closeFleet(h.fleet)) }()
	return c.happen(ctx, h, &h.ledger, seed)
}

// hostsOf are the hosts of a network for the nodes of a fleet.
func hostsOf(lab *netlab.Lab, nodes int) []fleet.Host {
	var hosts []fleet.Host
	for i := range nodes {
		hosts = append(hosts, fleet.Host{Command: lab.Command(i), Addr: net.JoinHostPort(lab.Addr(i), "0")})
	}
	return hosts
}

// liveHost runs processes. Their time is that of fleet.Now.
type liveHost struct {
	fleet  *fleet.Fleet
	lab    *netlab.Lab // nil where no packets are lost
	ledger ledger
}

func (h *liveHost) see(name string, e fleet.Event) {
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

func (h *liveHost) now() time.Duration                              { return time.Duration(fleet.Now()) }
func (h *liveHost) pass(ctx context.Context, d time.Duration) error { return wait.For(ctx, d) }

func (h *liveHost) kill(node int) error   { return h.signal(node, fleet.Kill) }
func (h *liveHost) stop(node int) error   { return h.signal(node, fleet.Term) }
func (h *liveHost) pause(node int) error  { return h.signal(node, fleet.Stop) }
func (h *liveHost) resume(node int) error { return h.signal(node, fleet.Cont) }

func (h *liveHost) signal(node int, signal fleet.Signal) error {
	_, err := h.fleet.Signal(nodeName(node), signal)
	return err
}

func (h *liveHost) start(ctx context.Context, node int) error {
	return h.fleet.Restart(ctx, nodeName(node))
}

func (h *liveHost) cut(from int, to ...int) error {
	var hosts []int
	for _, peer := range to {
		hosts = append(hosts, peer-1)
	}
	return h.lab.Drop(from-1, hosts...)
}

func (h *liveHost) heal() error { return h.lab.Heal() }

func (h *liveHost) settle(ctx context.Context) (int, error) {
	leader, err := h.fleet.Settle(ctx)
	return number(leader.Name), err
}
