package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/hostile"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// Operator asks running nodes, over the network, for what a program asks its own node.
// There is no authentication: whoever reaches the port of a node can, unless its
// configuration says NoAdmin. So far, whoever reaches it can also say hello as a member and
// take part in elections; NoAdmin is against mistakes.
type Operator struct {
	// Dial replaces TCP, when set.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Remove has the node at addr, which may be any, remove a member, by name or ID: see
// Node.Remove. It returns nil when it is done. Else the error is a *RefusedError, or about
// the connection as that of Query, or about ctx.
func (o *Operator) Remove(ctx context.Context, addr, member string) error {
	return o.order(ctx, addr, removeOrder{Member: member, Wait: patience(ctx)})
}

// Leave has the node at addr leave its cluster for good: see Node.Leave.
func (o *Operator) Leave(ctx context.Context, addr string) error {
	return o.order(ctx, addr, leaveOrder{Wait: patience(ctx)})
}

// SetPriority gives the node at addr another priority: see Node.SetPriority. It returns
// nil when the node's own view shows it; with vote that is when the leader has changed it.
func (o *Operator) SetPriority(ctx context.Context, addr string, priority int) error {
	return o.order(ctx, addr, priorityOrder{Priority: priority, Wait: patience(ctx)})
}

// Resign has the node at addr give its leadership up and not lead for the period, from 0,
// which stands for its Timing.Bound, to 24 h: see Node.Resign. It returns nil when another
// leads, or when the node did not lead and is known not to be eligible.
func (o *Operator) Resign(ctx context.Context, addr string, period time.Duration) error {
	return o.order(ctx, addr, resignOrder{Period: period, Wait: patience(ctx)})
}

// RefusedError is why a node has not done what it was asked to.
type RefusedError struct {
	Addr   string
	Reason string // in the words of the node
}

func (e *RefusedError) Error() string { return "cluster: " + e.Addr + ": " + e.Reason }

var (
	errNoAdmin = errors.New("cluster: this node takes no orders: no_admin is set in its configuration")
	errBusy    = errors.New("cluster: too many orders are waiting at this node")
)

// patience is how long a node should wait: a little shorter than who asks, so that it can
// still say what it waited for.
func patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return maxWait
	}
	left := time.Until(deadline)
	return left - min(left/4, 200*time.Millisecond)
}

func (o *Operator) order(ctx context.Context, addr string, order algo.Message) error {
	if err := checkDial(addr); err != nil {
		return err
	}
	answer, err := o.ask(ctx, addr, order)
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", addr, err)
	}
	d, ok := answer.(done)
	if !ok {
		return fmt.Errorf("cluster: %s: %w: the answer is no outcome", addr, ErrNotNode)
	}
	if d.Reason != "" {
		return &RefusedError{Addr: addr, Reason: hostile.Plain(d.Reason)}
	}
	return nil
}

// ask sends one request to a node and returns the answer.
func (o *Operator) ask(ctx context.Context, addr string, request algo.Message) (algo.Message, error) {
	frame, err := adminCodec.Append(nil, request)
	if err != nil {
		return nil, err
	}
	c := &client{result: make(chan result, 1), up: make(chan transport.Peer, 1)}
	net, err := transport.New(transport.Options{
		Self: transport.ID(uuid.New()), Dial: o.Dial, Handshake: c.greet, Handler: c, MaxHello: wire.MaxHello,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = net.Close(ctx) }()
	net.Dial(transport.Target{Addr: addr})
	for {
		select {
		case peer := <-c.up:
			net.Reply(peer, frame)
		case r := <-c.result:
			return r.answer, r.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
