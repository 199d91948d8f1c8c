package transport

import (
	"cmp"
	"fmt"
	"time"
)

// admit finds the place of a connection that has said hello, and calls Up if it
// begins a session. Its error says why there is no place. Who has dialled, and may be
// refused for another process with its id, is told hello afterwards: until then it must
// not act as that node.
func (t *Transport) admit(c *conn) error {
	var silent *conn
	for {
		begun, asked, err := t.place(c, silent)
		if begun != nil {
			t.up(begun, c)
		}
		if asked == nil {
			return err
		}
		if t.await(asked, c) {
			return c.disown(asked.of.peer, "is in use by")
		}
		silent = asked.of
	}
}

// place gives c its place, or says why there is none, or asks another process with its id whether
// it lives, unless that was silent before.
func (t *Transport) place(c, silent *conn) (begun *session, asked *probe, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := c.ended(); err != nil { // Close ends all that have no place
		return nil, nil, err
	}
	var s *session
	p := t.peers[c.peer.ID]
	if p != nil && !c.peer.Client {
		s = p.session
	}
	switch {
	case s == nil && c.peer.Client && t.clients >= t.o.maxClients:
		return nil, nil, rejected("too many clients", fmt.Errorf("too many clients, at most %d", t.o.maxClients))
	case s == nil && !c.peer.Client && t.sessions >= t.o.MaxPeers:
		return nil, nil, rejected("too many peers", fmt.Errorf("too many nodes, at most %d", t.o.MaxPeers))
	case s == nil:
	case s.conn.peer.Incarnation == c.peer.Incarnation:
		t.join(s, c)
		return nil, nil, nil
	case s.conn != silent:
		return nil, s.conn.ask(), nil
	}
	if p != nil && !c.peer.Client && p.latest.outdates(c.peer) {
		return nil, nil, c.disown(p.latest, "had")
	}
	return t.begin(c, s), nil, nil
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

// probe is the question to a connection whether it is alive; its answer closes a channel.
type probe struct {
	of     *conn
	answer <-chan struct{}
}

// ask sends a probe, unless one is out.
func (c *conn) ask() *probe {
	if c.answered == nil {
		c.answered = make(chan struct{})
		c.say(&c.probe)
	}
	return &probe{c, c.answered}
}

// await reports whether a probe is answered. A connection that ends is not in the way: right after a kill
// and a quick restart the end of the old connection may come just after the hello of the new one.
func (t *Transport) await(asked *probe, newcomer *conn) (alive bool) {
	select {
	case <-asked.answer:
		return true
	case <-time.After(probeTimeout):
	case <-asked.of.dead:
	case <-newcomer.ctx.Done():
	case <-t.ctx.Done():
	}
	return false
}
