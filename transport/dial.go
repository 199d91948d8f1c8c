package transport

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Dial starts one attempt to connect. It ends in Up or DialFailed. Nothing happens if the target's ID is connected or
// being dialed, or, for a target without an ID, if its address is being dialed.
func (t *Transport) Dial(target Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startDial(target)
}

func (t *Transport) startDial(target Target) {
	if t.closing {
		return
	}
	if target.ID != (ID{}) {
		p := t.peerOf(target.ID)
		if p.session != nil {
			return
		}
		target.Addr = cmp.Or(target.Addr, p.addr)
	}
	t.beginDial(target)
}

// beginDial dials the target, even if that node is connected.
func (t *Transport) beginDial(target Target) {
	if t.closing || t.dialing[target.dialKey()] {
		return
	}
	t.dialing[target.dialKey()] = true
	t.count.add("dials", "", 1)
	t.wg.Go(func() { t.dial(target, t.o.Security == nil) })
}

// dialKey returns the key under which at most one dial runs: the ID if it is known, or else the address.
func (t Target) dialKey() Target {
	if t.ID != (ID{}) {
		return Target{ID: t.ID}
	}
	return t
}

// isDialing reports whether a node is being dialed.
func (t *Transport) isDialing(id ID) bool { return t.dialing[Target{ID: id}] }

func (t *Transport) dial(target Target, plain bool) {
	if nc, err := t.connect(target); err != nil {
		t.dialFailed(target, err)
	} else if c := t.newConn(nc, target, true, plain); c != nil {
		t.serve(c)
	}
}

func (t *Transport) connect(target Target) (net.Conn, error) {
	switch {
	case target.ID == t.o.Self:
		return nil, errSelf
	case target.Addr == "":
		return nil, errNoAddress
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.o.DialTimeout)
	defer cancel()
	nc, err := t.o.Dial(ctx, target.Addr)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, timeoutError("dial", t.o.DialTimeout)
	}
	return nc, err
}

// dialFailed reports a failed dial to the Handler, unless the target has been connected meanwhile.
func (t *Transport) dialFailed(target Target, err error) {
	t.count.add("dials.failed", "", 1)
	why := newDialError(target, err)
	p := newPeer(ID{}) // for a target without an ID
	t.mu.Lock()
	if target.ID != (ID{}) {
		p = t.peerOf(target.ID)
	}
	t.mu.Unlock()

	p.calls <- struct{}{}
	defer func() { <-p.calls }()
	t.mu.Lock()
	delete(t.dialing, target.dialKey())
	if t.closing || p.session != nil {
		t.mu.Unlock()
		return
	}
	t.count.add("dropped", "dial failed", p.queue.drop())
	p.notifying = true
	t.mu.Unlock()
	t.o.Handler.DialFailed(target, why)
	t.finishNotify(p)
	t.o.Log.Debug("dial failed", "target", target.String(), "kind", why.kind.String(), "error", why.err)
}

// accept accepts connections from the listener. After a failure, for example for lack of file descriptors, it waits
// and tries again.
func (t *Transport) accept() {
	const shortest, longest = 5 * time.Millisecond, time.Second
	wait := shortest
	for {
		nc, err := t.o.Listener.Accept()
		if err == nil {
			wait = shortest
			t.count.add("accepted", "", 1)
			if c := t.newConn(nc, Target{}, false, t.o.Security == nil); c != nil {
				t.wg.Go(func() { t.serve(c) })
			}
			continue
		}
		if t.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		t.count.add("accepted.failed", "", 1)
		t.pendingLog.Warn("cannot accept connections", "error", err, "again", wait)
		select {
		case <-time.After(wait):
		case <-t.ctx.Done():
			return
		}
		wait = min(2*wait, longest)
	}
}

// serve runs a connection from its handshake to its end.
func (t *Transport) serve(c *conn) {
	defer t.discard(c)
	err := t.handshake(c)
	switch {
	case err == nil:
		err = t.admitConn(c)
	case c.dialed && !c.plain && errors.Is(err, ErrPlain):
		t.discard(c)
		t.dial(c.target, true)
		return
	}
	if err != nil {
		t.rejectConn(c, err)
	} else {
		err = c.read()
		t.detach(c, err)
	}
	c.finishClose(err)
}

// handshake runs Security, exchanges hellos and checks the peer's ID.
func (t *Transport) handshake(c *conn) error {
	c.nc.SetDeadline(time.Now().Add(handshakeTimeout))
	peer := Peer{Dialed: c.dialed, Addr: c.addr, Target: c.target, Conn: c.nc}
	err := c.secureConn(&peer)
	if err == nil {
		err = c.exchangeHellos(&peer)
	}
	if peer.Client {
		rand.Read(peer.ID[:]) // a client cannot choose its ID
	}
	peer.Conn = nil
	c.peer = peer
	switch {
	case err != nil && Cause(err) != Other:
		return err // of the connection
	case err != nil:
		if errors.Is(err, net.ErrClosed) {
			return errClosedByPeer // the peer keeps another connection
		}
		return rejectedError("handshake", err)
	case peer.ID == t.o.Self && t.o.Incarnation != 0 && peer.Incarnation != t.o.Incarnation:
		return c.rejectDuplicate(Peer{Incarnation: t.o.Incarnation, Started: t.started, Addr: c.nc.LocalAddr().String()}, "is in use by another process")
	case peer.ID == t.o.Self:
		return errSelf
	case c.target.ID != ID{} && c.target.ID != peer.ID:
		return rejectedError("wrong id", fmt.Errorf("dialled %s, found %s", idText(c.target.ID), idText(peer.ID)))
	case peer.ID == ID{}:
		return rejectedError("handshake", errors.New("node id is zero"))
	}
	c.reader.limit = t.o.maxFrame
	return nil
}

// secureConn runs Security.
func (c *conn) secureConn(p *Peer) error {
	if c.plain {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	g := newGate(c.nc, func() bool { return c.t.turns.acquire(ctx, c.origin.host, c.ofMember) }, c.t.turns.release)
	var (
		safe   net.Conn
		proved any
		err    error
	)
	if c.dialed { // a listener computes nothing before it has read
		err = g.acquireTurn()
	}
	if err == nil {
		safe, proved, err = c.t.o.Security(g, c.dialed)
	}
	g.finish()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = timeoutError("hello", handshakeTimeout)
	case err != nil && Cause(err) == Other:
		err = rejectedError("security", err)
	}
	if safe == nil {
		c.closeNow(err) // no connection is left to send the reason over
		return c.closeCause()
	}
	c.mu.Lock()
	c.nc = safe
	c.mu.Unlock()
	p.Principal = proved
	return err
}

// exchangeHellos sends the hello of this side and handles that of the other side. The dialer sends first. The
// accepting side sends its hello once it has assigned a slot, or before the reason of a rejection.
func (c *conn) exchangeHellos(p *Peer) error {
	if c.dialed {
		if err := c.sendHello(p, nil); err != nil {
			return err
		}
		c.signal()
	}
	theirs, err := c.nextFrame()
	if err == nil && !isArray(theirs[0]) {
		err = c.parsePeerClose(theirs, p)
	}
	if err == nil {
		return c.sendHello(p, theirs)
	}
	if err = c.closeReason(err); errors.Is(err, os.ErrDeadlineExceeded) {
		err = timeoutError("hello", handshakeTimeout)
	}
	return err
}

func (c *conn) sendHello(p *Peer, theirs []byte) error {
	ours, err := c.t.o.Handshake(p, theirs)
	switch {
	case theirs != nil && c.dialed, err != nil && ours == nil:
		return err
	case len(ours) == 0 || len(ours) > c.t.o.MaxHello || !isArray(ours[0]):
		return fmt.Errorf("transport: a hello of %d bytes, want at most %d that begin like a msgpack array", len(ours), c.t.o.MaxHello)
	}
	c.mu.Lock()
	c.hello = appendFrame(c.hello, ours)
	c.mu.Unlock()
	return err
}

// rejectConn reports a connection that has got no slot.
func (t *Transport) rejectConn(c *conn, err error) {
	if c.dialed {
		t.dialFailed(c.target, err)
	}
	if errors.Is(err, errClosed) {
		return
	}
	if closeErrorOf(err) == nil && errors.Is(err, io.EOF) {
		t.count.add("closed", "closed before hello", 1) // a health check, or a port scan
	}
	t.logClose(c, "connection closed before hello", err)
}
