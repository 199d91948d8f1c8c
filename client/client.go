// Package client sends requests to running nodes over the network. A [Client] asks for the status of a node and
// administers it. [Watch] follows the leadership of a cluster:
//
//	for s := range client.Watch(ctx, client.Config{Addrs: []string{"10.0.0.1:7400", "10.0.0.2:7400"}}) {
//		if s.HasLeader() {
//			use(s.Leader.Addr)
//		}
//	}
//
// A client never delays an election. What it knows of the leader may be out of date, so it proves nothing to a
// resource: see package fence.
//
// Requests to a closed cluster need its secret or a certificate: see [Client.Secure]. Admin requests need the secret or
// the certificate of an operator. On the loopback without a secret they need a process of the same user.
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
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// Client sends requests to nodes. Each method returns the error of ctx if ctx ends first. [transport.Cause] returns the
// kind of a failure to connect. If a process that is no node listens at the address, the error is [ErrNotNode].
type Client struct {
	// Dial replaces TCP, if set.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Secure authenticates the client to a closed cluster. It is nil for an open cluster.
	Secure *tlsauth.Endpoint
}

var clients = wire.NewClientCodec(untrusted.Printable)

// ErrNotNode means that the listener at an address does not use the protocol of a node.
var ErrNotNode = errors.New("no node of this protocol listens there")

// RejectedError is the reason for which a node has not done a request.
type RejectedError struct {
	Addr   string
	Reason string // text of the node
}

func (e *RejectedError) Error() string { return "client: " + e.Addr + ": " + e.Reason }

// PartiallyAppliedError means that a node has done a request, and that not all members know of it yet. The text names
// them. Without a quorum, members on the other side of a partition learn of the change later.
type PartiallyAppliedError RejectedError

func (e *PartiallyAppliedError) Error() string { return (*RejectedError)(e).Error() }

// NoReplyError is the reason for which no reply to an admin request has arrived.
type NoReplyError struct {
	Sent bool // set if the node may have done the request, or may still do it; otherwise the node did not receive it
	Err  error
}

func (e *NoReplyError) Error() string {
	if e.Sent {
		return e.Err.Error() + ": the request may have been carried out; look with elect status"
	}
	return e.Err.Error() + ": the request was not sent"
}

// Unwrap returns Err.
func (e *NoReplyError) Unwrap() error { return e.Err }

// Status returns the status of the node at addr.
func (c Client) Status(ctx context.Context, addr string) (cluster.Status, error) {
	answer, err := c.roundTrip(ctx, addr, wire.StatusRequest{})
	if err != nil {
		return cluster.Status{}, err
	}
	switch answer := answer.(type) {
	case wire.StatusReply:
		return statusOf(answer), nil
	case wire.AdminReply:
		return cluster.Status{}, &RejectedError{Addr: addr, Reason: answer.Reason}
	}
	return cluster.Status{}, fmt.Errorf("client: %s: %w: the answer is not a status", addr, ErrNotNode)
}

// Remove removes a member by name or ID, through the node at addr, which may be any member: see [cluster.Node.Remove].
// The errors of all admin requests are the same. A [*RejectedError] means that the node has not done the request. An
// [*PartiallyAppliedError] means that it has, and that not all members may know of it. An [*NoReplyError] means that no
// reply has arrived. It says whether the node may have done the request.
func (c Client) Remove(ctx context.Context, addr, member string) error {
	return c.administer(ctx, addr, wire.AdminRequest{Action: wire.Remove, Member: member})
}

// Leave ends the membership of the node at addr: see [cluster.Node.Leave].
func (c Client) Leave(ctx context.Context, addr string) error {
	return c.administer(ctx, addr, wire.AdminRequest{Action: wire.Leave})
}

// SetPriority sets the priority of the node at addr: see [cluster.Node.SetPriority]. It returns nil when the config of
// the node shows the priority. With a quorum the leader has then changed the config.
func (c Client) SetPriority(ctx context.Context, addr string, priority int) error {
	return c.administer(ctx, addr, wire.AdminRequest{Action: wire.SetPriority, Priority: priority})
}

// Resign ends the leadership of the node at addr, which is then ineligible for the standby period: see
// [cluster.Node.Resign]. The period is at most 24 h, and 0 stands for the node's Timing.RecoveryBound. Resign returns
// nil when another node leads, or when the node did not lead and the other members know that it is ineligible.
func (c Client) Resign(ctx context.Context, addr string, period time.Duration) error {
	return c.administer(ctx, addr, wire.AdminRequest{Action: wire.Resign, StandbyPeriod: period})
}

// ReportEnd states to the node at addr that an incarnation of another member has ended: see [cluster.End]. The error is
// a *RejectedError if the node does not accept the statement.
func (c Client) ReportEnd(ctx context.Context, addr string, end cluster.End) error {
	answer, err := c.roundTrip(ctx, addr, wire.End(end))
	if err != nil {
		return err
	}
	if reply, ok := answer.(wire.AdminReply); !ok {
		return fmt.Errorf("client: %s: %w: the answer is no outcome", addr, ErrNotNode)
	} else if reply.Reason != "" {
		return &RejectedError{Addr: addr, Reason: reply.Reason}
	}
	return nil
}

func (c Client) administer(ctx context.Context, addr string, request wire.AdminRequest) error {
	request.Timeout = timeLimit(ctx)
	answer, err := c.roundTrip(ctx, addr, request)
	if err != nil {
		return err
	}
	done, ok := answer.(wire.AdminReply)
	switch {
	case !ok:
		return fmt.Errorf("client: %s: %w", addr, &NoReplyError{Sent: true, Err: fmt.Errorf("%w: the answer is no outcome", ErrNotNode)})
	case done.Applied:
		return &PartiallyAppliedError{Addr: addr, Reason: done.Reason}
	case done.Reason != "":
		return &RejectedError{Addr: addr, Reason: done.Reason}
	}
	return nil
}

// timeLimit returns the time limit for a dial or for the node's reply. It is a little shorter than the time until the
// caller's deadline, so that the error can name the cause.
func timeLimit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return wire.MaxWait
	}
	remaining := time.Until(deadline)
	return (remaining - min(remaining/4, 200*time.Millisecond)).Round(time.Millisecond)
}

// dialTimeout returns the timeout for connect: the caller decides how long to wait.
func dialTimeout(ctx context.Context) time.Duration {
	if _, limited := ctx.Deadline(); !limited {
		return 0
	}
	return max(timeLimit(ctx), 1)
}

// roundTrip sends one request to a node and returns the reply.
func (c Client) roundTrip(ctx context.Context, addr string, request algo.Message) (answer algo.Message, err error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("client: %q is not host:port: %w", addr, err)
	}
	frame, err := clients.Append(nil, request)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", addr, err)
	}
	e := &exchange{request: frame, news: make(chan struct{}, 1)}
	if err := c.connect(e, addr, dialTimeout(ctx)); err != nil {
		return nil, err
	}
	defer func() { _ = e.network.Close(ctx) }()
	select {
	case <-e.news:
		answer, err = e.pop()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if _, isAdmin := request.(wire.AdminRequest); isAdmin && err != nil {
		err = &NoReplyError{Sent: e.sent.Load(), Err: err}
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
		Self: transport.ID(uuid.New()), Dial: c.Dial, Handshake: handshake, Handler: e, MaxHello: wire.MaxHello, DialTimeout: timeout,
	}
	if c.Secure != nil {
		o.Security = func(nc net.Conn, _ bool) (net.Conn, any, error) {
			safe, identity, err := c.Secure.Client(nc)
			return safe, identity, err
		}
		o.Credentials = c.Secure
	}
	if e.network, err = transport.New(o); err != nil {
		return err
	}
	e.network.Dial(transport.Target{Addr: addr})
	return nil
}

func handshake(p *transport.Peer, received []byte) ([]byte, error) {
	ours := wire.Hello{MinVersion: wire.MinVersion, MaxVersion: wire.Version, Client: true}
	if received == nil {
		return wire.HelloCodec.Append(nil, ours)
	}
	theirs, err := wire.ReadHello(received)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotNode, err)
	}
	p.ID, p.Incarnation, p.Hello = theirs.ID, theirs.Incarnation, theirs
	proved, _ := p.Principal.(tlsauth.Identity)
	p.ValidUntil = proved.Until
	return nil, ours.Check(theirs)
}

// exchange is a connection to one node: a request, and one or more replies.
type exchange struct {
	request []byte
	network *transport.Transport
	sent    atomic.Bool // the node may have received the request

	mu    sync.Mutex
	peer  transport.ID  // ID of the node, once it is connected
	reply algo.Message  // the latest one, until pop returns it
	err   error         // why no further reply comes
	news  chan struct{} // signals a new reply or err; its capacity is 1
}

// pop returns the latest reply, at most once, or the reason why there is none.
func (e *exchange) pop() (reply algo.Message, err error) {
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
	e.mu.Lock()
	e.peer = p.ID
	e.mu.Unlock()
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
func (e *exchange) Down(_ transport.Peer, cause error) { e.set(nil, cause) }

// DialFailed ends the exchange.
func (e *exchange) DialFailed(_ transport.Target, cause error) {
	switch transport.Cause(cause) {
	case transport.Protocol, transport.ClosedBeforeHello:
		cause = fmt.Errorf("%w: %w", ErrNotNode, cause)
	}
	e.set(nil, cause)
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
