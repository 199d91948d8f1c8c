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

// Dial makes one attempt to connect, in the background. It ends in Up or DialFailed.
// Nothing happens when the target's ID is connected or being dialled, or, for a
// target without an ID, while the address is being dialled.
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

// beginDial dials, also a node that is connected.
func (t *Transport) beginDial(target Target) {
	if t.closing || t.dialing[target.whom()] {
		return
	}
	t.dialing[target.whom()] = true
	t.count.add("dials", "", 1)
	t.wg.Go(func() { t.dial(target, t.o.Security == nil) })
}

// whom is the target as far as dials to it are the same: by its ID, where that is known.
func (t Target) whom() Target {
	if t.ID != (ID{}) {
		return Target{ID: t.ID}
	}
	return t
}

// dials reports whether a node is being dialled.
func (t *Transport) dials(id ID) bool { return t.dialing[Target{ID: id}] }

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
		return nil, late("dial", t.o.DialTimeout)
	}
	return nc, err
}

// dialFailed tells the Handler, unless the target is connected meanwhile.
func (t *Transport) dialFailed(target Target, err error) {
	t.count.add("dials.failed", "", 1)
	why := dialError(target, err)
	p := newPeer(ID{}) // whoever is there
	t.mu.Lock()
	if target.ID != (ID{}) {
		p = t.peerOf(target.ID)
	}
	t.mu.Unlock()

	p.calls <- struct{}{}
	defer func() { <-p.calls }()
	t.mu.Lock()
	delete(t.dialing, target.whom())
	if t.closing || p.session != nil {
		t.mu.Unlock()
		return
	}
	t.count.add("dropped", "dial failed", p.queue.drop())
	p.telling = true
	t.mu.Unlock()
	t.o.Handler.DialFailed(target, why)
	t.told(p)
	t.o.Log.Debug("dial failed", "target", target.String(), "kind", why.kind.String(), "error", why.err)
}

// accept takes connections from the listener. When it fails, for want of file
// descriptors for example, it waits and goes on.
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
		t.strangers.Warn("cannot accept connections", "error", err, "again", wait)
		select {
		case <-time.After(wait):
		case <-t.ctx.Done():
			return
		}
		wait = min(2*wait, longest)
	}
}

// serve is the life of a connection.
func (t *Transport) serve(c *conn) {
	defer t.discard(c)
	err := t.greet(c)
	switch {
	case err == nil:
		err = t.admit(c)
	case c.dialed && !c.plain && errors.Is(err, ErrPlain):
		t.discard(c)
		t.dial(c.target, true)
		return
	}
	if err != nil {
		t.turnAway(c, err)
	} else {
		err = c.read()
		t.end(c, err)
	}
	c.farewell(err)
}

// greet makes a connection safe, exchanges hellos and checks who is there.
func (t *Transport) greet(c *conn) error {
	c.nc.SetDeadline(time.Now().Add(handshakeTimeout))
	peer := Peer{Dialed: c.dialed, Addr: c.addr, Target: c.target, Conn: c.nc}
	err := c.secure(&peer)
	if err == nil {
		err = c.exchange(&peer)
	}
	if peer.Client {
		rand.Read(peer.ID[:]) // whatever it says of itself
	}
	peer.Conn = nil
	c.peer = peer
	switch {
	case err != nil && Cause(err) != Other:
		return err // of the connection
	case err != nil:
		if errors.Is(err, net.ErrClosed) {
			return errClosedByPeer // it has the other of two connections
		}
		return rejected("handshake", err)
	case peer.ID == t.o.Self && t.o.Incarnation != 0 && peer.Incarnation != t.o.Incarnation:
		return c.disown(Peer{Incarnation: t.o.Incarnation, Started: t.began, Addr: c.nc.LocalAddr().String()}, "is in use by another process")
	case peer.ID == t.o.Self:
		return errSelf
	case c.target.ID != ID{} && c.target.ID != peer.ID:
		return rejected("wrong id", fmt.Errorf("dialled %s, found %s", idText(c.target.ID), idText(peer.ID)))
	case peer.ID == ID{}:
		return rejected("handshake", errors.New("node id is zero"))
	}
	c.reader.limit = t.o.maxFrame
	return nil
}

// secure makes a connection safe.
func (c *conn) secure(p *Peer) error {
	if c.plain {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	g := newGate(c.nc, func() bool { return c.t.turns.take(ctx, c.from.host, c.member) }, c.t.turns.give)
	var (
		safe   net.Conn
		proved any
		err    error
	)
	if c.dialed { // a listener computes nothing before it has read
		err = g.enter()
	}
	if err == nil {
		safe, proved, err = c.t.o.Security(g, c.dialed)
	}
	g.leave()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = late("hello", handshakeTimeout)
	case err != nil && Cause(err) == Other:
		err = rejected("security", err)
	}
	if safe == nil {
		c.kill(err) // there is nothing over which it could be told
		return c.ended()
	}
	c.mu.Lock()
	c.nc = safe
	c.mu.Unlock()
	p.Proved = proved
	return err
}

// exchange says hello and hears that of the other side. Who has dialled speaks first; the other one's goes when
// it has its place, or with the reason why it has none.
func (c *conn) exchange(p *Peer) error {
	if c.dialed {
		if err := c.sayHello(p, nil); err != nil {
			return err
		}
		c.signal()
	}
	theirs, err := c.next()
	if err == nil && !isArray(theirs[0]) {
		err = c.closeError(theirs, p)
	}
	if err == nil {
		return c.sayHello(p, theirs)
	}
	if err = c.explain(err); errors.Is(err, os.ErrDeadlineExceeded) {
		err = late("hello", handshakeTimeout)
	}
	return err
}

func (c *conn) sayHello(p *Peer, theirs []byte) error {
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

// turnAway ends the attempt of a connection that has no place.
func (t *Transport) turnAway(c *conn, err error) {
	if c.dialed {
		t.dialFailed(c.target, err)
	}
	if errors.Is(err, errClosed) {
		return
	}
	if endingOf(err) == nil && errors.Is(err, io.EOF) {
		t.count.add("closed", "closed before hello", 1) // a health check, or a scan
	}
	t.report(c, "connection closed before hello", err)
}
