package transport

import (
	"errors"
	"fmt"
	"time"
)

// admit finds the place of a connection that has said hello, and calls Up if it
// begins a session. Its error says why there is no place.
func (t *Transport) admit(c *conn) error {
	var asked *conn
	var shown proof
	for {
		t.mu.Lock()
		if t.closing {
			t.mu.Unlock()
			return errClosed
		}
		if err := c.ended(); err != nil {
			t.mu.Unlock()
			return err
		}
		var s *session
		if p := t.peers[c.peer.ID]; p != nil && !c.peer.Client {
			s = p.session
		}
		verdict := replace
		switch {
		case s == nil:
			if err := t.crowded(c.peer.Client); err != nil {
				t.mu.Unlock()
				return err
			}
		case s.conn != nil:
			if s.conn != asked {
				asked, shown = s.conn, unproven
			}
			verdict = judge(t.o.Self, c.peer.ID, s.conn.claim(), c.claim(), time.Since(s.conn.since), handshakeTimeout, shown)
		case s.incarnation == c.peer.Incarnation:
			verdict = takeOver
		}
		switch verdict {
		case replace:
			next := t.begin(c, s)
			t.settle(c.attempt)
			t.mu.Unlock()
			t.up(next, c)
			return nil
		case takeOver:
			t.carryOn(s, c)
			t.settle(c.attempt)
			t.mu.Unlock()
			return nil
		case yield:
			c.session = s
			c.supersede()
			t.park(c)
			t.settle(c.attempt)
			t.mu.Unlock()
			return nil
		case refuse:
			err := fmt.Errorf("node id %s is in use by incarnation %d, alive at %s; this is incarnation %d",
				idText(c.peer.ID), asked.peer.Incarnation, asked.addr, c.peer.Incarnation)
			t.mu.Unlock()
			return rejected("duplicate id", err)
		}
		if t.waiting >= t.o.maxPending {
			t.mu.Unlock()
			return rejected("too many pending", errors.New("too many connections wait for a probe"))
		}
		t.waiting++
		t.unpark(c)
		answer := asked.ask()
		t.mu.Unlock()
		shown = t.await(asked, answer, c)
	}
}

// ask sends a probe, unless one is out, and returns what its answer closes.
func (c *conn) ask() <-chan struct{} {
	if c.answered == nil {
		c.answered = make(chan struct{})
		c.say(&c.probe)
	}
	return c.answered
}

// await waits for what a probe shows. A connection that ends is no longer in the
// way, so nothing needs to be shown about it: right after a kill and a quick restart
// the end of the old connection may come just after the hello of the new one.
func (t *Transport) await(asked *conn, answer <-chan struct{}, newcomer *conn) proof {
	timer := time.NewTimer(probeTimeout)
	defer timer.Stop()
	shown := unproven
	select {
	case <-answer:
		shown = alive
	case <-asked.dead:
	case <-timer.C:
		shown = silent
	case <-newcomer.stopped:
	case <-t.ctx.Done():
	}
	t.mu.Lock()
	t.waiting--
	t.mu.Unlock()
	return shown
}

// crowded says why there is no place for one node more, or one client.
func (t *Transport) crowded(client bool) error {
	switch {
	case client && t.clients >= t.o.maxClients:
		return rejected("too many clients", fmt.Errorf("too many clients, at most %d", t.o.maxClients))
	case !client && t.sessions >= t.o.MaxPeers:
		return rejected("too many peers", fmt.Errorf("too many nodes, at most %d", t.o.MaxPeers))
	}
	return nil
}
