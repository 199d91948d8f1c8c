package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// ErrNotNode says that what listens at an address does not speak as a node does.
var ErrNotNode = errors.New("no node of this protocol listens there")

// Query asks the node at addr, which may be any, for its status. It ends with ctx.
// Of the options WithNetwork counts. The kind of a failure to connect is known to
// transport.Cause; what is no node is ErrNotNode.
func Query(ctx context.Context, addr string, options ...Option) (Status, error) {
	if err := checkDial(addr); err != nil {
		return Status{}, err
	}
	var made Node
	for _, option := range options {
		option(&made)
	}
	answer, err := (&Operator{Dial: made.dial}).ask(ctx, addr, statusRequest{})
	if err != nil {
		return Status{}, fmt.Errorf("cluster: status of %s: %w", addr, err)
	}
	reply, ok := answer.(statusReply)
	if !ok {
		return Status{}, fmt.Errorf("cluster: status of %s: %w: the answer is not a status", addr, ErrNotNode)
	}
	return reply.status(), nil
}

// client is the handler of a connection that asks.
type client struct {
	up     chan transport.Peer
	result chan result
}

type result struct {
	answer algo.Message
	err    error
}

func (c *client) greet(send func([]byte) error, recv func() ([]byte, error), _ bool, _ transport.Target) (transport.Peer, error) {
	ours := wire.Hello{MinVersion: wire.Version, MaxVersion: wire.Version, Client: true}
	if err := sayHello(send, ours); err != nil {
		return transport.Peer{}, err
	}
	frame, err := recv()
	if err != nil {
		return transport.Peer{}, err
	}
	m, err := helloCodec.Decode(frame)
	if err != nil {
		return transport.Peer{}, fmt.Errorf("%w: %w", ErrNotNode, err)
	}
	theirs := m.(wire.Hello)
	return transport.Peer{ID: theirs.ID, Incarnation: theirs.Incarnation, Hello: theirs}, ours.Check(theirs)
}

func (c *client) Up(p transport.Peer) { c.up <- p }

func (c *client) Frame(_ transport.Peer, b []byte) error {
	m, err := adminCodec.Decode(b)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNotNode, err)
	}
	c.finish(result{m, err})
	return err
}

func (c *client) Down(_ transport.Peer, why error) { c.finish(result{err: why}) }

func (c *client) DialFailed(_ transport.Target, why error) {
	switch transport.Cause(why) {
	case transport.Protocol, transport.ClosedBeforeHello:
		why = fmt.Errorf("%w: %w", ErrNotNode, why)
	}
	c.finish(result{err: why})
}

// finish keeps the first result.
func (c *client) finish(r result) {
	select {
	case c.result <- r:
	default:
	}
}
