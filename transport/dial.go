package transport

import (
	"cmp"
	"context"
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
	if t.dialing[target.whom()] {
		return
	}
	t.dialing[target.whom()] = true
	t.count.add("dials", "", 1)
	t.wg.Go(func() { t.dial(target) })
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

func (t *Transport) dial(target Target) {
	if nc, err := t.connect(target); err != nil {
		t.dialFailed(target, err)
	} else if c := t.newConn(nc, target, true); c != nil {
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
	t.mu.Lock()
	delete(t.dialing, target.whom())
	var p *peer
	if target.ID != (ID{}) {
		p = t.peerOf(target.ID)
	}
	if t.closing || p != nil && p.session != nil {
		t.mu.Unlock()
		return
	}
	var before <-chan struct{}
	done := make(chan struct{})
	if p != nil {
		t.count.add("dropped", "dial failed", p.queue.drop())
		before, p.last = p.last, done
	}
	t.mu.Unlock()
	if before != nil {
		<-before
	}
	t.o.Handler.DialFailed(target, why)
	close(done)
	if p != nil {
		t.mu.Lock()
		t.forget(p)
		t.mu.Unlock()
	}
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
			if c := t.newConn(nc, Target{}, false); c != nil {
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
	if err == nil {
		err = t.admit(c)
	}
	if err != nil {
		t.turnAway(c, err)
		c.farewell(err)
		return
	}
	why := c.read()
	t.end(c, why)
	c.farewell(why)
}

// greet runs the handshake and checks who is there.
func (t *Transport) greet(c *conn) error {
	c.deadline(time.Now().Add(handshakeTimeout))
	peer, err := t.o.Handshake(c.sendHello, c.recvHello, c.dialed, c.target)
	peer.Dialed, peer.Addr, peer.conn = c.dialed, c.addr, c
	t.mu.Lock()
	c.peer = peer
	t.mu.Unlock()
	switch {
	case err != nil && Cause(err) != Other:
		return err // of the connection
	case err != nil:
		return rejected("handshake", err)
	case peer.ID == t.o.Self && !peer.Client && t.o.Incarnation != 0 && peer.Incarnation != t.o.Incarnation:
		return c.disown(Peer{Incarnation: t.o.Incarnation, Started: t.began, Addr: c.nc.LocalAddr().String()}, "is in use by")
	case peer.ID == t.o.Self && !peer.Client:
		return errSelf
	case c.target.ID != ID{} && c.target.ID != peer.ID:
		return rejected("wrong id", fmt.Errorf("dialled %s, found %s", idText(c.target.ID), idText(peer.ID)))
	case peer.ID == ID{} && !peer.Client:
		return rejected("handshake", errors.New("node id is zero"))
	}
	c.reader.limit = t.o.maxFrame
	return nil
}

// sendHello queues a frame of the handshake: two nodes that both speak first do not
// block each other, also where a write waits for its reader.
func (c *conn) sendHello(frame []byte) error {
	if len(frame) == 0 || !isArray(frame[0]) {
		return errors.New("transport: a hello does not begin like a msgpack array")
	}
	if len(frame) > c.t.o.MaxHello {
		return fmt.Errorf("transport: hello of %d bytes, at most %d", len(frame), c.t.o.MaxHello)
	}
	c.mu.Lock()
	held := !c.dialed && len(c.hello) == 0 // its hello; with more the place does not matter
	c.hello = appendFrame(c.hello, frame)
	c.mu.Unlock()
	if !held {
		c.signal()
	}
	return nil
}

func (c *conn) recvHello() ([]byte, error) {
	frame, err := c.next()
	if err == nil && !isArray(frame[0]) {
		err = parseClose(frame)
	}
	if err == nil {
		return frame, nil
	}
	if err = c.explain(err); errors.Is(err, os.ErrDeadlineExceeded) {
		err = late("hello", handshakeTimeout)
	}
	return nil, err
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
