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

// handshake returns the hello of this node and checks the hello of the peer. An unauthenticated peer learns nothing but
// the requirement that it fails.
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
			n.limitedLog.Line(slog.LevelError, "static members differ from the peer's", "error", err)
		} else if !differsIn(err, wire.Algorithm) {
			return nil, err
		}
		return hello, err // a node of this cluster with other settings must learn which differ
	}
	if !theirs.Client && (theirs.ID.IsZero() || !wire.IsName(theirs.Name)) {
		return nil, errors.New("cluster: hello without an id or a valid name")
	}
	if err := n.identify(p, theirs); err != nil {
		return nil, err
	}
	if p.Dialed && algo.NodeID(p.Target.ID).IsZero() && theirs.ID != ours.ID {
		// If the two are connected already, Up is not called.
		n.enqueue(func() {
			n.addressReached(p.Addr, theirs)
			n.perform(n.engine.HandleReached(n.now(), p.Addr, theirs.ID))
		})
	}
	if !theirs.Client && ours.MembersDiffer(theirs) {
		n.warn(theirs.Name, "static members differ from the peer's", "peer", theirs.Name) // expected while an operator changes them node by node
	}
	if differ := ours.DifferingSettings(theirs); !theirs.Client && len(differ) > 0 {
		n.warn(theirs.Name, "algorithm options differ from the peer's", "peer", theirs.Name, "options", strings.Join(differ, ", "))
	}
	p.ID, p.Incarnation, p.Started, p.ListenAddr = theirs.ID, theirs.Incarnation, time.Now().Add(-theirs.Uptime), theirs.Addr
	p.Client, p.Hello = theirs.Client, theirs
	return hello, nil
}

// handler is the node as its transport sees it. It decodes frames, in one goroutine for each connection. All decisions
// are made on the loop.
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
		h.watchers.remove(p.ID)
		return
	}
	n := (*Node)(h)
	graceful := transport.Cause(why) == transport.Graceful
	n.enqueue(func() {
		if n.peers[p.ID] == nil {
			return // recordPeer has rejected the peer, so the engine does not know it
		}
		n.log.Debug("disconnected", "peer", p.Hello.(wire.Hello).Name, "reason", why)
		n.perform(n.engine.Down(n.now(), p.ID, graceful))
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
			fact = fd.DialReset // a process answers there, so this is no evidence of a crash
		case kind == transport.Reset, kind == transport.ClosedBeforeHello,
			kind == transport.Unreachable && algo.NodeID(t.ID).IsZero(): // its name may not exist yet
			fact = fd.DialReset
		}
		n.perform(n.engine.HandleDialFailure(n.now(), engine.Target{ID: algo.NodeID(t.ID), Addr: t.Addr}, fact))
	})
}

// differsIn reports whether a handshake failed because a node of this cluster has another algorithm, or another list of
// members.
func differsIn(why error, what string) bool {
	mismatch, ok := errors.AsType[*wire.MismatchError](why)
	return ok && mismatch.What == what
}

// stopIfMisconfigured stops a node that has just started, if the first member that it reaches runs another algorithm.
// Alone, it would lead itself with bully or ring. Once it has met a member with its algorithm, it stays and rejects the
// others.
func (n *Node) stopIfMisconfigured(why error) {
	if mismatch, ok := errors.AsType[*wire.MismatchError](why); ok && !n.met && n.failed == nil {
		n.failed = fmt.Errorf("%w: %w: stop all members before the algorithm is changed", ErrJoinRejected, mismatch)
	}
}

// handleDuplicateID handles the statement of a dialed member that another process has the ID of this node, or had it
// later. One statement does not end this node: it dials the member again at once. A second statement within 5 s ends
// it. A node that was replaced while it was stopped continues as long as a peer is connected: there, the other process
// is rejected.
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
