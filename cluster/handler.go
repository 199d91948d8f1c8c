package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// greet says hello on a new connection and checks what the other side says. It tells
// strangers nothing but what keeps them out.
func (n *Node) handshake(p *transport.Peer, said []byte) ([]byte, error) {
	ours := *n.hello.Load()
	ours.Uptime = n.now()
	hello, err := wire.HelloCodec.Append(nil, ours)
	if err != nil || said == nil {
		return hello, err
	}
	theirs, err := wire.ReadHello(said)
	if err != nil {
		return nil, err
	}
	if err := ours.Check(theirs); err != nil {
		if differsIn(err, wire.Lists) {
			n.limitedLog.Line(slog.LevelError, "peer has another list of members", "error", err)
		} else if !differsIn(err, wire.Algorithm) {
			return nil, err
		}
		return hello, err // one of this cluster who is configured differently: it must know by what
	}
	if !theirs.Client && (theirs.ID.IsZero() || !wire.IsName(theirs.Name)) {
		return nil, errors.New("cluster: hello without an id or a valid name")
	}
	if err := n.identify(p, theirs); err != nil {
		return nil, err
	}
	if p.Dialed && algo.NodeID(p.Target.ID).IsZero() && theirs.ID != ours.ID {
		// The two may be connected already: then there is no Up.
		n.enqueue(func() {
			n.addressReached(p.Addr, theirs)
			n.perform(n.engine.HandleReached(n.now(), p.Addr, theirs.ID))
		})
	}
	if !theirs.Client && ours.MembersDiffer(theirs) {
		n.warn(theirs.Name, "peer has another list of members", "peer", theirs.Name) // they are changed node by node
	}
	if differ := ours.DifferingSettings(theirs); !theirs.Client && len(differ) > 0 {
		n.warn(theirs.Name, "peer has other options of the algorithm", "peer", theirs.Name, "options", strings.Join(differ, ", "))
	}
	p.ID, p.Incarnation, p.Started, p.ListenAddr = theirs.ID, theirs.Incarnation, time.Now().Add(-theirs.Uptime), theirs.Addr
	p.Client, p.Hello = theirs.Client, theirs
	return hello, nil
}

// handler is the node as its transport sees it. What is decided is decided on the
// loop; here frames are decoded, one goroutine for each connection.
type handler Node

func (h *handler) Up(p transport.Peer) {
	if p.Client {
		return
	}
	n, hello := (*Node)(h), p.Hello.(wire.Hello)
	n.enqueue(func() {
		if !n.recordPeer(p) {
			return
		}
		n.met = true
		n.handleMeta(p.ID, hello.Meta)
		n.log.Debug("connected", "peer", hello.Name, "addr", p.Addr)
		addr := ""
		if p.Dialed {
			addr = p.Addr
		}
		n.checkAddress(hello, addr)
		n.perform(n.engine.Up(n.now(), engine.Peer{ID: p.ID, Name: hello.Name, Incarnation: p.Incarnation, Digest: hello.Digest, Addr: hello.Addr, Dialed: addr}))
	})
}

func (h *handler) Frame(p transport.Peer, b []byte) error {
	n := (*Node)(h)
	if p.Client {
		return n.handleClientFrame(p, b)
	}
	m, err := n.frames.Decode(b)
	if err != nil {
		return err
	}
	budget := n.budget(p.ID)
	if !n.admit(budget, p.Hello.(wire.Hello).Name) {
		return nil
	}
	n.enqueue(func() {
		defer func() { <-budget.waiting }()
		if from := n.peers[p.ID]; from == nil || from.rejected {
			return
		}
		n.sender, n.cost = p.ID, 0
		defer func() {
			if n.cost > 0 {
				budget.charge(time.Now(), n.cost)
			}
			n.sender = algo.NodeID{}
		}()
		n.engine.Count("bytes.received", m, len(b))
		if said, is := m.(wire.Hello); is {
			n.handleMeta(p.ID, said.Meta)
			return
		}
		n.perform(n.engine.Receive(n.now(), p.ID, m))
	})
	return nil
}

func (h *handler) Down(p transport.Peer, why error) {
	if p.Client {
		return
	}
	n := (*Node)(h)
	politely := transport.Cause(why) == transport.Graceful
	n.enqueue(func() {
		if n.peers[p.ID] == nil {
			return // it was rejected before the engine knew of it
		}
		n.log.Debug("disconnected", "peer", p.Hello.(wire.Hello).Name, "reason", why)
		n.perform(n.engine.Down(n.now(), p.ID, politely))
		delete(n.peers, p.ID)
		n.budgets.forget(time.Now(), p.ID)
		n.dropMeta()
	})
}

func (h *handler) DialFailed(t transport.Target, why error) {
	n, kind := (*Node)(h), transport.Cause(why)
	n.enqueue(func() {
		if algo.NodeID(t.ID).IsZero() {
			n.dialResults[t.Addr] = dialResult(why)
			n.addressFailed(t.Addr, why)
		}
		fact := fd.DialTimeout
		switch {
		case differsIn(why, wire.Lists):
			n.perform(n.engine.HandleReached(n.now(), t.Addr, algo.NodeID{}))
			return
		case kind == transport.Self:
			n.perform(n.engine.HandleReached(n.now(), t.Addr, n.self.ID))
			return
		case differsIn(why, wire.Algorithm):
			n.stopIfMisconfigured(why)
		case kind == transport.ConnRefused:
			fact = fd.DialRefused
		case kind == transport.Duplicate, kind == transport.Replaced:
			n.handleDuplicateID(t, why)
			fact = fd.DialReset // it lives
		case kind == transport.Reset, kind == transport.ClosedBeforeHello,
			kind == transport.Unreachable && algo.NodeID(t.ID).IsZero(): // its name may not exist yet
			fact = fd.DialReset
		}
		n.perform(n.engine.HandleDialFailure(n.now(), engine.Target{ID: algo.NodeID(t.ID), Addr: t.Addr}, fact))
	})
}

// hasAnother reports whether a handshake failed because one of this cluster was configured
// with another algorithm, or another list of members.
func differsIn(why error, what string) bool {
	mismatch, ok := errors.AsType[*wire.MismatchError](why)
	return ok && mismatch.What == what
}

// misfit stops a node that is the odd one: it has just started, and the first member that
// it reached runs another algorithm. It would be alone, and with bully or ring lead itself.
// Once it has met one of its own kind it stays, and refuses the others one by one.
func (n *Node) stopIfMisconfigured(why error) {
	if mismatch, ok := errors.AsType[*wire.MismatchError](why); ok && !n.met && n.failed == nil {
		n.failed = fmt.Errorf("%w: %w: stop all members before the algorithm is changed", ErrJoinRejected, mismatch)
	}
}

// deny takes it that a member whom this node has dialled says that another process has its id, or
// had it later. One word ends nobody: it is asked again, at once, for nobody else could say
// otherwise, and until then a copy acts beside its original. Who was replaced while it did not
// run goes on as long as somebody is connected with it: there it is the other one that is refused.
func (n *Node) handleDuplicateID(t transport.Target, why error) {
	if transport.Cause(why) == transport.Replaced && (t.ID == transport.ID{} || len(n.peers) > 0) {
		return
	}
	if time.Since(n.duplicateSince) < 5*time.Second {
		n.failed = fmt.Errorf("%w: %w", ErrDuplicateID, why)
		return
	}
	n.duplicateSince = time.Now()
	n.net.Dial(t)
}
