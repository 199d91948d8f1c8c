package bench

import (
	"context"
	"fmt"

	"github.com/elect-go/elect/internal/fleet"
)

// processes is a live cluster of processes.
type processes struct {
	fleet *fleet.Fleet
	down  string // who crashed
}

// startProcesses starts a cluster out of config, whose nodes and flags c decides.
func (c WireCase) startProcesses(ctx context.Context, config fleet.Config, n int, j *journal) (live, error) {
	config.Nodes, config.Hosts, config.OnEvent = n, fleet.Loopback(n), j.see
	config.Args = append([]string{"--algorithm", c.Algorithm, "--preset", c.Preset}, config.Args...)
	for _, o := range c.Options {
		config.Args = append(config.Args, "--option", o[0]+"="+o[1])
	}
	f, err := fleet.New(ctx, config)
	if err != nil {
		return nil, err
	}
	return &processes{fleet: f}, nil
}

func (p *processes) addrs() map[string]string {
	addrs := make(map[string]string)
	for _, s := range p.fleet.States() {
		if s.Life == fleet.Up {
			addrs[s.Name] = s.Addr
		}
	}
	return addrs
}

// campaign returns when the node has begun: what it is told takes its time.
func (p *processes) campaign(ctx context.Context, name string) error {
	i := number(name) - 1
	before := p.fleet.States()[i].Total()
	if err := p.fleet.Campaign(name); err != nil {
		return err
	}
	return p.fleet.Await(ctx, func(states []fleet.State) bool { return states[i].Total() > before })
}

func (p *processes) crash(context.Context) error {
	leader, ok := fleet.Agreement(p.fleet.States())
	if !ok {
		return fleet.ErrNoLeader
	}
	p.down = leader.Name
	_, err := p.fleet.Signal(leader.Name, fleet.Kill)
	return err
}

func (p *processes) settle(ctx context.Context, above uint64) (uint64, error) {
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

func (p *processes) restore(ctx context.Context) error {
	if p.down == "" {
		return nil
	}
	if _, err := p.fleet.Recover(ctx, p.down); err != nil {
		return fmt.Errorf("bench: have %s come back: %w", p.down, err)
	}
	p.down = ""
	return nil
}

func (p *processes) close() error { return closeFleet(p.fleet) }
