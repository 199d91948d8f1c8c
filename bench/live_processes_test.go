package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// crashCases returns the cases in which the leader is killed. They are for processes only, because the kernel closes
// the connections of a killed process at once. In the ring, only the process before the leader monitors it and starts
// the election.
func crashCases() []wireCase {
	crash := func(e *theory.Election, _ *rand.Rand) { e.Crashed = 1 }
	before := func(e *theory.Election, _ *rand.Rand) { e.Crashed, e.Initiators = 1, []int{e.Before(e.N)} }
	heartbeat := [][2]string{{"heartbeat_interval", "1s"}} // a restarted node knows no leader until the next heartbeat
	return []wireCase{
		{Algorithm: "bully", Name: "leader-crash", Preset: "wan", next: crash},
		{Algorithm: "ring", Name: "leader-crash", Preset: "wan", next: before},
		{Algorithm: "vote", Name: "leader-crash", Preset: "wan", Options: heartbeat, Racing: racing, next: crash},
	}
}

// liveProcesses is a live cluster of processes.
type liveProcesses struct {
	cluster *proccluster.Cluster
	down    string // the crashed node
	// pause is the time until the nodes are idle. After an election of ring, nodes save the epoch of the next election
	// in advance.
	pause time.Duration
}

// startProcesses starts n nodes as processes with config, in which it sets the nodes and the flags of the algorithm.
func (c wireCase) startProcesses(ctx context.Context, config proccluster.Config, n int) (*wired, error) {
	w, err := c.wire(builtin.Registry(), n)
	if err != nil {
		return nil, err
	}
	config.Nodes, config.Hosts, config.OnEvent = n, proccluster.Loopback(n), w.log.see
	config.Args = slices.Concat(election.Flags(c.Algorithm), []string{"--preset", c.Preset}, config.Args)
	for _, o := range c.Options {
		config.Args = append(config.Args, "--option", o[0]+"="+o[1])
	}
	f, err := proccluster.New(ctx, config)
	if err != nil {
		return nil, err
	}
	nodes := &liveProcesses{cluster: f}
	if c.Algorithm == "ring" {
		nodes.pause = 1050 * time.Millisecond // more than twice the T of ring
	}
	w.live, w.left = nodes, departure
	return w, w.waitConnected(ctx)
}

// statuses returns the status of each running node.
func (p *liveProcesses) statuses(ctx context.Context) (map[string]cluster.Status, error) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	var problems []error
	all := make(map[string]cluster.Status)
	for _, s := range p.cluster.States() {
		if s.ProcState != proccluster.Up {
			continue
		}
		asking.Go(func() {
			status, err := client.Client{}.Status(ctx, s.Addr)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, fmt.Errorf("bench: ask %s: %w", s.Name, err))
			}
			all[s.Name] = status
		})
	}
	asking.Wait()
	return all, errors.Join(problems...)
}

// prepare restarts the crashed node and waits until the nodes are idle.
func (p *liveProcesses) prepare(ctx context.Context) error {
	if p.down != "" {
		if _, err := p.cluster.Recover(ctx, p.down, false); err != nil {
			return fmt.Errorf("bench: restart %s: %w", p.down, err)
		}
		p.down = ""
	}
	return proccluster.Sleep(ctx, p.pause)
}

// startElection kills the leader, or starts a campaign at a node. After the start of a campaign, it waits until that
// node has sent a message, because the command reaches the node with a delay.
func (p *liveProcesses) startElection(ctx context.Context, e theory.Election) error {
	if e.Crashed > 0 {
		leader, ok := proccluster.Agreement(p.cluster.States())
		if !ok {
			return proccluster.ErrNoLeader
		}
		p.down = leader.Name
		_, err := p.cluster.Signal(leader.Name, proccluster.Kill)
		return err
	}
	i := e.Initiators[0] - 1
	before := p.cluster.States()[i].Total()
	if err := p.cluster.Campaign(proccluster.Name(i + 1)); err != nil {
		return err
	}
	return p.cluster.WaitUntil(ctx, func(states []proccluster.State) bool { return states[i].Total() > before })
}

func (p *liveProcesses) waitAgreed(ctx context.Context, above uint64) (uint64, error) {
	for {
		leader, err := p.cluster.WaitQuiet(ctx)
		if err != nil || leader.Epoch > above {
			return leader.Epoch, err
		}
		// The nodes still agree on the old leader: the election has not begun on every node.
		err = p.cluster.WaitUntil(ctx, func(states []proccluster.State) bool {
			now, agreed := proccluster.Agreement(states)
			return agreed && now.Epoch > above
		})
		if err != nil {
			return 0, err
		}
	}
}

func (p *liveProcesses) close() error { return fault.End(p.cluster) }

// aStep is longer than an algorithm needs for one event.
const aStep = time.Millisecond

// departure returns the departure time of the first message of events: the end of the save in the
// same step, if there is one, and otherwise the time of the send.
func departure(events []trace.Event) time.Duration {
	sent := events[0].At
	for i, e := range events {
		switch {
		case e.Kind == trace.Save && e.At-sent < aStep:
			if saved := slices.IndexFunc(events[i:], func(e trace.Event) bool { return e.Kind == trace.Saved }); saved > 0 {
				return events[i+saved].At
			}
			return sent
		case e.Kind == trace.Deliver, e.Kind == trace.Save, e.Kind == trace.Saved:
			return sent // another step
		}
	}
	return sent
}
