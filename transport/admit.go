package transport

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// admit finds the place of a connection that has said hello, and calls Up if it
// begins a session. Its error says why there is no place. Who has dialled, and may be
// refused for another process with its id, is told hello afterwards: until then it must
// not act as that node.
func (t *Transport) admit(c *conn) error {
	var asked *conn
	var shown proof
	for {
		begun, answer, err := t.place(c, &asked, shown)
		if begun != nil {
			t.up(begun, c)
		}
		if answer == nil {
			return err
		}
		shown = t.await(asked, answer, c)
	}
}

// place gives c its place, or says why there is none, or returns what the answer to a probe
// closes: that of asked, about which shown is known.
func (t *Transport) place(c *conn, asked **conn, shown proof) (begun *session, answer <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, nil, errClosed
	}
	if err := c.ended(); err != nil {
		return nil, nil, err
	}
	var s *session
	p := t.peers[c.peer.ID]
	if p != nil && !c.peer.Client {
		s = p.session
	}
	verdict := replace
	switch {
	case s == nil && c.peer.Client && t.clients >= t.o.maxClients:
		return nil, nil, rejected("too many clients", fmt.Errorf("too many clients, at most %d", t.o.maxClients))
	case s == nil && !c.peer.Client && t.sessions >= t.o.MaxPeers:
		return nil, nil, rejected("too many peers", fmt.Errorf("too many nodes, at most %d", t.o.MaxPeers))
	case s == nil:
	case s.conn != nil:
		if s.conn != *asked {
			*asked, shown = s.conn, unproven
		}
		verdict = judge(t.o.Self, s.conn.peer, c.peer, time.Since(s.conn.since), handshakeTimeout, shown)
	case s.last.peer.Incarnation == c.peer.Incarnation:
		verdict = takeOver
	}
	if verdict == replace && p != nil && !c.peer.Client && p.latest.outdates(c.peer) {
		return nil, nil, c.disown(p.latest, "had")
	}
	if verdict == replace || s.last.peer.Incarnation == c.peer.Incarnation {
		c.signal()
	}
	switch verdict {
	case replace:
		begun = t.begin(c, s)
	case takeOver:
		t.carryOn(s, c)
	case yield:
		c.session = s
		c.supersede()
		t.park(c)
	case refuse:
		return nil, nil, c.disown(s.conn.peer, "is in use by")
	case probeFirst:
		if t.waiting++; t.waiting > t.o.maxPending {
			t.waiting--
			return nil, nil, rejected("too many pending", errors.New("too many connections wait for a probe"))
		}
		t.unpark(c)
		return nil, s.conn.ask(), nil
	}
	t.settle(c.attempt)
	return begun, nil, nil
}

// outdates reports whether the start of a node that p is was not before that one. A process that
// ran already when p began has forgotten nothing: it was a copy that came.
func (p Peer) outdates(that Peer) bool {
	return !p.Started.IsZero() && p.Incarnation != that.Incarnation && p.starts() >= that.starts() && that.Started.After(p.Started)
}

// disown refuses c for another process with its id, before it is told hello. The reason begins
// with the kind: see refused. Of two that are alive the younger one is the copy.
func (c *conn) disown(other Peer, does string) error {
	kind := Duplicate
	if c.peer.Started.Before(other.Started) {
		kind = Replaced
	}
	c.mu.Lock()
	c.hello = nil
	c.mu.Unlock()
	return rejected(kind.String(), fmt.Errorf("%s: node id %s %s start %d, at %s; this is start %d, at %s: is a data folder a copy of another's, or from a backup?",
		kind, idText(c.peer.ID), does, other.starts(), cmp.Or(other.Listens, other.Addr), c.peer.starts(), cmp.Or(c.peer.Listens, c.addr)))
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
	defer func() {
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
	}()
	select {
	case <-answer:
		return alive
	case <-time.After(probeTimeout):
		return silent
	case <-asked.dead:
	case <-newcomer.stopped:
	case <-t.ctx.Done():
	}
	return unproven
}
