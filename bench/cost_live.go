package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/wait"
)

// Measure has the fault happen to processes, which it starts out of config, whose nodes and
// flags c decides. Where packets are to be lost and cannot be its error wraps
// [netlab.ErrUnavailable].
func (c CostCase) Measure(ctx context.Context, config fleet.Config, seed uint64) (cost Cost, err error) {
	s := &liveStage{ledger: ledger{nodes: c.Nodes}}
	config.Nodes, config.OnEvent = c.Nodes, s.see
	config.Args = append([]string{"--algorithm", c.Algorithm}, config.Args...)
	config.Hosts = fleet.Loopback(c.Nodes)
	if c.Fault.Network {
		if s.lab, err = netlab.New(c.Nodes); err != nil {
			return Cost{}, err
		}
		defer func() { err = errors.Join(err, s.lab.Close()) }()
		config.Hosts = hostsOf(s.lab, c.Nodes)
	}
	if s.fleet, err = fleet.New(ctx, config); err != nil {
		return Cost{}, err
	}
	defer func() { err = errors.Join(err, closeFleet(s.fleet)) }()
	began, err := c.happen(ctx, s, phase(seed))
	if err != nil {
		return Cost{}, fmt.Errorf("bench: %s, seed %d: %w", c.Name(Processes), seed, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.cost(began), nil
}

// hostsOf are the hosts of a network for the nodes of a fleet.
func hostsOf(lab *netlab.Lab, nodes int) []fleet.Host {
	var hosts []fleet.Host
	for i := range nodes {
		hosts = append(hosts, fleet.Host{Command: lab.Command(i), Addr: net.JoinHostPort(lab.Addr(i), "0")})
	}
	return hosts
}

// liveStage is a stage of processes. Their time is that of fleet.Now.
type liveStage struct {
	fleet *fleet.Fleet
	lab   *netlab.Lab // nil where no packets are lost

	mu     sync.Mutex
	ledger ledger
}

// write has the ledger take something.
func (s *liveStage) write(do func(l *ledger)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.ledger)
}

func (s *liveStage) see(name string, e fleet.Event) {
	at, node := time.Duration(e.At), number(name)
	s.write(func(l *ledger) {
		switch e.What {
		case fleet.Ready:
			l.ready(at, node)
		case fleet.Leader:
			l.follows(at, node, number(e.Name), e.Epoch)
		case fleet.Send:
			l.sends(at)
		}
	})
}

func (s *liveStage) size() int          { return s.ledger.nodes }
func (s *liveStage) now() time.Duration { return time.Duration(fleet.Now()) }

func (s *liveStage) pass(ctx context.Context, d time.Duration) error { return wait.For(ctx, d) }

func (s *liveStage) kill(node int) error   { return s.signal(node, fleet.Kill) }
func (s *liveStage) stop(node int) error   { return s.signal(node, fleet.Term) }
func (s *liveStage) pause(node int) error  { return s.signal(node, fleet.Stop) }
func (s *liveStage) resume(node int) error { return s.signal(node, fleet.Cont) }

func (s *liveStage) signal(node int, signal fleet.Signal) error {
	at, err := s.fleet.Signal(nodeName(node), signal)
	s.write(func(l *ledger) { l.runs(time.Duration(at), node, signal == fleet.Cont) })
	return err
}

func (s *liveStage) start(ctx context.Context, node int) error {
	at := s.now()
	s.write(func(l *ledger) { l.boots(at, node) })
	return s.fleet.Restart(ctx, nodeName(node))
}

func (s *liveStage) cut(from int, to ...int) error {
	at := s.now()
	var hosts []int
	s.write(func(l *ledger) {
		for _, peer := range to {
			l.cuts(at, from, peer)
			hosts = append(hosts, peer-1)
		}
	})
	return s.lab.Drop(from-1, hosts...)
}

func (s *liveStage) heal() error {
	err := s.lab.Heal()
	at := s.now()
	s.write(func(l *ledger) { l.heals(at) })
	return err
}

func (s *liveStage) settle(ctx context.Context) (int, error) {
	leader, err := s.fleet.Settle(ctx)
	return number(leader.Name), err
}
