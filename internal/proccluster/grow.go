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
func (c *Cluster) Add(ctx context.Context) (State, error) {
	var n *node
	c.change(func() {
		name := Name(len(c.nodes) + 1)
		const addr = "127.0.0.1:0"
		n = &node{
			cluster: c, name: name, priority: len(c.nodes) + 1, dir: filepath.Join(c.dir, name), host: Host{Addr: addr},
			addr: addr, procState: Down, joins: true,
		}
		c.nodes = append(c.nodes, n)
	})
	if err := n.start(ctx); err != nil {
		return State{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.snapshot(), nil
}

// RemoveNode calls end, which removes the node from the cluster, and waits until its process has ended without a
// signal. at is the time right before the call, in the clock of events.
func (c *Cluster) RemoveNode(ctx context.Context, name string, end func(ctx context.Context) error) (at int64, err error) {
	n, err := c.node(name)
	if err != nil {
		return 0, err
	}
	var p *process
	c.change(func() {
		if p = n.process; p != nil {
			p.wanted = true
		}
	})
	if p == nil {
		return 0, fmt.Errorf("proccluster: remove %s: it never ran", name)
	}
	at = Now()
	if err := end(ctx); err != nil {
		return at, fmt.Errorf("proccluster: remove %s: %w", name, err)
	}
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		return at, fmt.Errorf("proccluster: %s still runs %v after it was removed", name, endTimeout)
	case <-ctx.Done():
		return at, context.Cause(ctx)
	}
	c.change(func() { n.procState = Removed })
	return at, nil
}
