// Package operator asks running nodes, over the network, for what a program asks its own
// node: what it knows, and to change something.
//
// A closed cluster is asked with its secret or a certificate: see Client.Secure. Orders need the secret, or the
// certificate of an operator; on the loopback without one the same user.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/secure"
	"github.com/elect-go/elect/transport"
)

// Client asks nodes. Each of its methods ends with ctx, and then its error is that of ctx.
// The kind of a failure to connect is known to transport.Cause; what is no node is
// ErrNotNode.
type Client struct {
	// Dial replaces TCP, when set.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Secure is how a closed cluster is asked. Nil: as one that is open.
	Secure *secure.Endpoint
}

var clients = wire.NewClientCodec(untrusted.Printable)

// ErrNotNode says that what listens at an address does not speak as a node does.
var ErrNotNode = errors.New("no node of this protocol listens there")

// RefusedError is why a node has not done what it was asked to.
type RefusedError struct {
	Addr   string
	Reason string // in the words of the node
}

func (e *RefusedError) Error() string { return "client: " + e.Addr + ": " + e.Reason }

// UnheardError says that a node has done what it was asked to, and who may not know of that: without
// a majority, a side that is cut off hears of it later.
type UnheardError RefusedError

func (e *UnheardError) Error() string { return (*RefusedError)(e).Error() }

// UnansweredError says that no answer to an order has come, and why.
type UnansweredError struct {
	Sent bool // the order may have been carried out, or may still be; otherwise the node has not received it
	Err  error
}

func (e *UnansweredError) Error() string {
	if e.Sent {
		return e.Err.Error() + ": the order may have been carried out; look with elect status"
	}
	return e.Err.Error() + ": the order was not given"
}

// Unwrap returns Err.
func (e *UnansweredError) Unwrap() error { return e.Err }

// Status asks the node at addr, which may be any, for its status.
func (c Client) Status(ctx context.Context, addr string) (cluster.Status, error) {
	answer, err := c.ask(ctx, addr, wire.StatusRequest{})
	if err != nil {
		return cluster.Status{}, err
	}
	switch answer := answer.(type) {
	case wire.StatusReply:
		return statusOf(answer), nil
	case wire.AdminReply:
		return cluster.Status{}, &RefusedError{Addr: addr, Reason: answer.Reason}
	}
	return cluster.Status{}, fmt.Errorf("client: %s: %w: the answer is not a status", addr, ErrNotNode)
}

// Remove has the node at addr, which may be any, remove a member, by name or ID: see
// [cluster.Node.Remove]. As with what follows, the error is a *RefusedError where the node
// has not done it, and an *UnheardError where it is done and not all members may know. Where no answer
// came it is an *UnansweredError, which says whether the order may have been carried out.
func (c Client) Remove(ctx context.Context, addr, member string) error {
	return c.order(ctx, addr, wire.AdminRequest{Action: wire.Remove, Member: member})
}

// Leave has the node at addr leave its cluster for good: see [cluster.Node.Leave].
func (c Client) Leave(ctx context.Context, addr string) error {
	return c.order(ctx, addr, wire.AdminRequest{Action: wire.Leave})
}

// SetPriority gives the node at addr another priority: see [cluster.Node.SetPriority]. It
// returns nil when the node's own view shows it; with vote that is when the leader has
// changed it.
func (c Client) SetPriority(ctx context.Context, addr string, priority int) error {
	return c.order(ctx, addr, wire.AdminRequest{Action: wire.SetPriority, Priority: priority})
}

// Resign has the node at addr give its leadership up and not lead for the period, from 0,
// which stands for its Timing.RecoveryBound, to 24 h: see [cluster.Node.Resign]. It returns nil
// when another leads, or when the node did not lead and is known not to be eligible.
func (c Client) Resign(ctx context.Context, addr string, period time.Duration) error {
	return c.order(ctx, addr, wire.AdminRequest{Action: wire.Resign, StandbyPeriod: period})
}

// ReportEnd states to the node at addr that an incarnation of another member has ended: see [cluster.End]. The error is
// a *RefusedError if the node does not accept the statement.
func (c Client) ReportEnd(ctx context.Context, addr string, end cluster.End) error {
	answer, err := c.ask(ctx, addr, wire.End(end))
	if err != nil {
		return err
	}
	if reply, ok := answer.(wire.AdminReply); !ok {
		return fmt.Errorf("client: %s: %w: the answer is no outcome", addr, ErrNotNode)
	} else if reply.Reason != "" {
		return &RefusedError{Addr: addr, Reason: reply.Reason}
	}
	return nil
}

func (c Client) order(ctx context.Context, addr string, order wire.AdminRequest) error {
	order.Timeout = timeLimit(ctx)
	answer, err := c.ask(ctx, addr, order)
	if err != nil {
		return err
	}
	done, ok := answer.(wire.AdminReply)
	switch {
	case !ok:
		return fmt.Errorf("client: %s: %w", addr, &UnansweredError{Sent: true, Err: fmt.Errorf("%w: the answer is no outcome", ErrNotNode)})
	case done.Applied:
		return &UnheardError{Addr: addr, Reason: done.Reason}
	case done.Reason != "":
		return &RefusedError{Addr: addr, Reason: done.Reason}
	}
	return nil
}

// timeLimit returns how long a dial or a node may take: a little less than the caller waits, so that the
// error can still name what was waited for.
func timeLimit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return wire.MaxWait
	}
	left := time.Until(deadline)
	return (left - min(left/4, 200*time.Millisecond)).Round(time.Millisecond)
}

// ask sends one request to a node and returns the answer.
func (c Client) ask(ctx context.Context, addr string, request algo.Message) (answer algo.Message, err error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("client: %q is not host:port: %w", addr, err)
	}
	frame, err := clients.Append(nil, request)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", addr, err)
	}
	e := &exchange{request: frame, news: make(chan struct{}, 1)}
	var timeout time.Duration
	if _, limited := ctx.Deadline(); limited {
		timeout = max(timeLimit(ctx), 1) // the caller decides how long to wait
	}
	if err := c.connect(e, addr, timeout); err != nil {
		return nil, err
	}
	defer func() { _ = e.network.Close(ctx) }()
	select {
	case <-e.news:
		answer, err = e.take()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if _, order := request.(wire.AdminRequest); order && err != nil {
		err = &UnansweredError{Sent: e.sent.Load(), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", addr, err)
	}
	return answer, nil
}

// connect starts an exchange with the node at addr. The caller closes e.network. A timeout of 0 stands for that of the
// transport.
func (c Client) connect(e *exchange, addr string, timeout time.Duration) (err error) {
	o := transport.Options{
		Self: transport.ID(uuid.New()), Dial: c.Dial, Handshake: greet, Handler: e, MaxHello: wire.MaxHello, DialTimeout: timeout,
	}
	if c.Secure != nil {
		o.Security = func(nc net.Conn, _ bool) (net.Conn, any, error) {
			safe, identity, err := c.Secure.Client(nc)
			return safe, identity, err
		}
	}
	if e.network, err = transport.New(o); err != nil {
		return err
	}
	e.network.Dial(transport.Target{Addr: addr})
	return nil
}

func greet(p *transport.Peer, said []byte) ([]byte, error) {
	ours := wire.Hello{MinVersion: wire.Version, MaxVersion: wire.Version, Client: true}
	if said == nil {
		return wire.HelloCodec.Append(nil, ours)
	}
	theirs, err := wire.ReadHello(said)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotNode, err)
	}
	p.ID, p.Incarnation, p.Hello = theirs.ID, theirs.Incarnation, theirs
	proved, _ := p.Principal.(secure.Identity)
	p.ValidUntil = proved.Until
	return nil, ours.Check(theirs)
}

// exchange is a connection to one node: a request, and one or more replies.
type exchange struct {
	request []byte
	network *transport.Transport
	sent    atomic.Bool // the node may have received the request

	mu    sync.Mutex
	reply algo.Message  // the latest one, unless it was taken
	err   error         // why no further reply comes
	news  chan struct{} // signals a new reply or err; its capacity is 1
}

// take returns the latest reply, or the reason why there is none.
func (e *exchange) take() (reply algo.Message, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	reply, e.reply = e.reply, nil
	if reply != nil {
		return reply, nil
	}
	return nil, e.err
}

// Up sends the request.
func (e *exchange) Up(p transport.Peer) {
	e.sent.Store(true)
	e.network.Send(p.ID, e.request)
}

// Frame handles a reply.
func (e *exchange) Frame(_ transport.Peer, b []byte) error {
	m, err := clients.Decode(b)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNotNode, err)
	}
	e.set(m, err)
	return err
}

// Down ends the exchange.
func (e *exchange) Down(_ transport.Peer, why error) { e.set(nil, why) }

// DialFailed ends the exchange.
func (e *exchange) DialFailed(_ transport.Target, why error) {
	switch transport.Cause(why) {
	case transport.Protocol, transport.ClosedBeforeHello:
		why = fmt.Errorf("%w: %w", ErrNotNode, why)
	}
	e.set(nil, why)
}

func (e *exchange) set(reply algo.Message, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if reply != nil {
		e.reply = reply
	}
	e.err = cmp.Or(e.err, err)
	select {
	case e.news <- struct{}{}:
	default:
	}
}
