package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/operator"
	"github.com/elect-go/elect/internal/fleet"
)

// fleetNodes is a live cluster of processes.
type fleetNodes struct {
	fleet *fleet.Fleet
	down  string // who crashed
}

// startProcesses starts n nodes as processes, which it makes out of config, whose nodes and flags
// c decides.
func (c wireCase) startProcesses(ctx context.Context, config fleet.Config, n int) (*wired, error) {
	w, err := c.prepare(builtin.Registry(), n)
	if err != nil {
		return nil, err
	}
	config.Nodes, config.Hosts, config.OnEvent = n, fleet.Loopback(n), w.journal.see
	config.Args = append([]string{"--algorithm", c.Algorithm, "--preset", c.Preset}, config.Args...)
	for _, o := range c.Options {
		config.Args = append(config.Args, "--option", o[0]+"="+o[1])
	}
	f, err := fleet.New(ctx, config)
	if err != nil {
		return nil, err
	}
	w.live, w.pause = &fleetNodes{fleet: f}, c.Pause
	return w, w.acquainted(ctx)
}

// statuses asks each node that runs.
func (p *fleetNodes) statuses(ctx context.Context) (map[string]cluster.Status, error) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	var mistakes []error
	all := make(map[string]cluster.Status)
	for _, s := range p.fleet.States() {
		if s.Life != fleet.Up {
			continue
		}
		asking.Go(func() {
			status, err := operator.Client{}.Status(ctx, s.Addr)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("bench: ask %s: %w", s.Name, err))
			}
			all[s.Name] = status
		})
	}
	asking.Wait()
	return all, errors.Join(mistakes...)
}

// campaign returns when the node has begun: what it is told takes its time.
func (p *fleetNodes) campaign(ctx context.Context, name string) error {
	i := number(name) - 1
	before := p.fleet.States()[i].Total()
	if err := p.fleet.Campaign(name); err != nil {
		return err
	}
	return p.fleet.Await(ctx, func(states []fleet.State) bool { return states[i].Total() > before })
}

func (p *fleetNodes) crash(context.Context) error {
	leader, ok := fleet.Agreement(p.fleet.States())
	if !ok {
		return fleet.ErrNoLeader
	}
	p.down = leader.Name
	_, err := p.fleet.Signal(leader.Name, fleet.Kill)
	return err
}

func (p *fleetNodes) settle(ctx context.Context, above uint64) (uint64, error) {
	for {
		leader, err := p.fleet.Settle(ctx)
		if err != nil || leader.Epoch > above {
			return leader.Epoch, err
		}
		// They agree as they did before: it has not begun everywhere.
		err = p.fleet.Await(ctx, func(states []fleet.State) bool {
			now, agreed := fleet.Agreement(states)
			return agreed && now.Epoch > above
		})
		if err != nil {
			return 0, err
		}
	}
}

func (p *fleetNodes) restore(ctx context.Context) error {
	if p.down == "" {
		return nil
	}
	if _, err := p.fleet.Recover(ctx, p.down); err != nil {
		return fmt.Errorf("bench: have %s come back: %w", p.down, err)
	}
	p.down = ""
	return nil
}

func (p *fleetNodes) close() error { return closeFleet(p.fleet) }
