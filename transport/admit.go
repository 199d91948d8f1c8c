package transport

import (
	"cmp"
	"fmt"
	"time"
)

// admit finds the place of a connection that has said hello. Its error says why there is none. Who has
// dialled, and may be refused for another process with its id, is told hello afterwards: until then it must
// not act as that node.
func (t *Transport) admit(c *conn) error {
	var silent *session
	for {
		other, err := t.place(c, silent)
		switch {
		case err != nil:
			return err
		case other == nil:
			return c.session.tell(c, nil)
		case other == silent:
			other.peer.calls <- struct{}{}
			t.over(other, errSuperseded)
			<-other.peer.calls
		default:
			if answers := t.probe(other, c); answers != nil {
				return c.disown(answers.peer, "is in use by another process")
			}
			silent = other
		}
	}
}

// place gives c its place, or says why there is none, or returns the session of another process with its id.
// If that is silent, its connections are closed.
func (t *Transport) place(c *conn, silent *session) (other *session, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := c.ended(); err != nil { // Close ends all that have no place
		return nil, err
	}
	if p := t.peers[c.peer.ID]; p != nil {
		s := p.session
		switch {
		case s != nil && s.conn.peer.Incarnation == c.peer.Incarnation:
			if was := s.conn.peer.Identity; was != c.peer.Identity {
				return nil, rejected("identity", fmt.Errorf("node id %s belongs to %q here, and this is %q", idText(c.peer.ID), was, c.peer.Identity))
			}
			t.join(s, c)
			return nil, nil
		case s != nil && s != silent:
			return s, nil
		case p.latest.outdates(c.peer):
			return nil, c.disown(p.latest, "was started later")
		case s != nil:
			for _, old := range append(s.conns, s.conn) {
				old.kill(errSuperseded)
			}
			return s, nil
		}
	}
	p := t.peerOf(c.peer.ID)
	p.session = &session{peer: p}
	if c.peer.starts() > p.latest.starts() {
		p.latest = c.peer
	}
	if !c.peer.Client {
		t.sessions++
	}
	t.join(p.session, c)
	t.makeRoom(c.peer.Client)
	return nil, nil
}

// makeRoom ends one session if there are too many of clients, or of nodes without a reserved place: the one that was idle
// for longest, of the host with the most, of the identity with the most.
func (t *Transport) makeRoom(clients bool) {
	limit, label := t.o.MaxPeers, "too many peers"
	if clients {
		limit, label = t.o.maxClients, "too many clients"
	}
	var taken []*conn
	for _, p := range t.peers {
		if s := p.session; s != nil && s.conn.peer.Client == clients && !p.isReserved() && s.conn.ended() == nil {
			taken = append(taken, s.conn)
		}
	}
	if len(taken) > limit {
		evicted := longestIdle(taken)
		evicted.takeQueue(evicted.session.peer)
		evicted.linger(rejected(label, fmt.Errorf("%s, at most %d: this one was idle for longest", label, limit)), 0)
		t.pool.park(evicted)
	}
}

// isReserved reports whether the place of a node is its own: it is a member, or this side has dialed it.
func (p *peer) isReserved() bool { return p.addr != "" || p.session.conn.dialed }

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
	return rejected(kind.String(), fmt.Errorf("%s: node id %s %s, at %s; this process is at %s: is a data folder a copy of another's, or from a backup?",
		kind, idText(c.peer.ID), does, cmp.Or(other.Listens, other.Addr), cmp.Or(c.peer.Listens, c.addr)))
}

// probe asks the connection of another session whether it is alive, and returns it if it answers in time. One that
// ends is not in the way: right after a kill and a quick restart the end of the old connection may come just after
// the hello of the new one.
func (t *Transport) probe(other *session, newcomer *conn) (answers *conn) {
	t.mu.Lock()
	c := other.conn
	if c.answered == nil { // else one is out
		c.answered = make(chan struct{})
		c.say(&c.probe)
	}
	answered := c.answered
	t.mu.Unlock()
	select {
	case <-answered:
		return c
	case <-time.After(probeTimeout):
	case <-c.dead:
	case <-newcomer.ctx.Done():
	case <-t.ctx.Done():
	}
	return nil
}
