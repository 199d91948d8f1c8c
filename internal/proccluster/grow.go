package proccluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// Add starts another node on the loopback. The node joins the cluster through n1, if the algorithm
// has a quorum. It gets the next number and the next priority. Add returns when the process is
// ready, before it is a member.
func (f *Fleet) Add(ctx context.Context) (State, error) {
	var n *node
	f.change(func() {
		name := Name(len(f.nodes) + 1)
		const addr = "127.0.0.1:0"
		n = &node{
			fleet: f, name: name, priority: len(f.nodes) + 1, dir: filepath.Join(f.dir, name), host: Host{Addr: addr},
			addr: addr, life: Down, joins: true,
		}
		f.nodes = append(f.nodes, n)
	})
	if err := n.start(ctx); err != nil {
		return State{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return n.snapshot(), nil
}

// Retire calls end, which ends a node for good, and waits until its process has ended without a
// signal. at is the time right before the call, in the clock of events.
func (f *Fleet) Retire(ctx context.Context, name string, end func(ctx context.Context) error) (at int64, err error) {
	n, err := f.node(name)
	if err != nil {
		return 0, err
	}
	var p *process
	f.change(func() {
		if p = n.process; p != nil {
			p.wanted = true
		}
	})
	if p == nil {
		return 0, fmt.Errorf("proccluster: retire %s: it never ran", name)
	}
	at = Now()
	if err := end(ctx); err != nil {
		return at, fmt.Errorf("proccluster: retire %s: %w", name, err)
	}
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		return at, fmt.Errorf("proccluster: %s still runs %v after it was retired", name, endTimeout)
	case <-ctx.Done():
		return at, context.Cause(ctx)
	}
	f.change(func() { n.life = Retired })
	return at, nil
}
