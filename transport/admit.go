package transport

import (
	"cmp"
	"fmt"
	"time"
)

// admitConn assigns a slot to a connection that has received a hello. An accepted connection sends its own hello only
// afterwards: if the peer is rejected because another process has its ID, it must not act as that node until then.
func (t *Transport) admitConn(c *conn) error {
	var silent *session
	for {
		other, err := t.assignSlot(c, silent)
		switch {
		case err != nil:
			return err
		case other == nil:
			return c.session.deliver(c, nil)
		case other == silent:
			other.peer.calls <- struct{}{}
			t.closeSession(other, errSuperseded)
			<-other.peer.calls
		default:
			if answers := t.ping(other, c); answers != nil {
				return c.rejectDuplicate(answers.peer, "is in use by another process")
			}
			silent = other
		}
	}
}

// assignSlot assigns a slot to c. If another incarnation holds the ID, it returns the session of that incarnation. If
// that session is silent, assignSlot closes its connections first.
func (t *Transport) assignSlot(c *conn, silent *session) (other *session, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := c.closeCause(); err != nil { // Close ends all connections without a slot
		return nil, err
	}
	if p := t.peers[c.peer.ID]; p != nil {
		s := p.session
		switch {
		case s != nil && s.active.peer.Incarnation == c.peer.Incarnation:
			if was := s.active.peer.Identity; was != c.peer.Identity {
				return nil, rejectedError("identity", fmt.Errorf("node id %s belongs to %q here, and this is %q", idText(c.peer.ID), was, c.peer.Identity))
			}
			t.attach(s, c)
			return nil, nil
		case s != nil && s != silent:
			return s, nil
		case p.latest.supersedes(c.peer):
			return nil, c.rejectDuplicate(p.latest, "was started later")
		case s != nil:
			for _, old := range append(s.conns, s.active) {
				old.closeNow(errSuperseded)
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
	t.attach(p.session, c)
	t.makeRoom(c.peer.Client)
	return nil, nil
}

// makeRoom ends one session if clients, or nodes without a reserved slot, have too many. It picks the session that
// was idle for longest, of the host with the most, of the identity with the most.
func (t *Transport) makeRoom(clients bool) {
	limit, label := t.o.MaxPeers, "too many peers"
	if clients {
		limit, label = t.o.maxClients, "too many clients"
	}
	var taken []*conn
	for _, p := range t.peers {
		if s := p.session; s != nil && s.active.peer.Client == clients && !p.isReserved() && s.active.closeCause() == nil {
			taken = append(taken, s.active)
		}
	}
	if len(taken) > limit {
		evicted := longestIdle(taken)
		evicted.takeQueue(evicted.session.peer)
		evicted.readUntilClosed(rejectedError(label, fmt.Errorf("%s, at most %d: this one was idle for longest", label, limit)), 0)
		t.pool.markPending(evicted)
	}
}

// isReserved reports whether the peer has its own slot: it is a member, or this side has dialed it.
func (p *peer) isReserved() bool { return p.addr != "" || p.session.active.dialed }

// supersedes reports whether newcomer continues from an older state of the node than p: it has no more starts than p,
// but was started later. A process that was already running when p started is not stale: then p runs on a copy of the
// data.
func (p Peer) supersedes(newcomer Peer) bool {
	return !p.Started.IsZero() && p.Incarnation != newcomer.Incarnation && p.starts() >= newcomer.starts() && newcomer.Started.After(p.Started)
}

// rejectDuplicate rejects c, before this side has sent its hello, because another process has its ID. The reason
// begins with the kind: see rejectedByPeer. Of two live processes, the younger one counts as the copy.
func (c *conn) rejectDuplicate(other Peer, state string) error {
	kind := Duplicate
	if c.peer.Started.Before(other.Started) {
		kind = Replaced
	}
	c.mu.Lock()
	c.hello = nil
	c.mu.Unlock()
	return rejectedError(kind.String(), fmt.Errorf("%s: node id %s %s, at %s; this process is at %s: is a data directory a copy of another's, or from a backup?",
		kind, idText(c.peer.ID), state, cmp.Or(other.ListenAddr, other.Addr), cmp.Or(c.peer.ListenAddr, c.addr)))
}

// ping tests whether the connection of another session is alive. It returns the connection if the pong comes in time,
// and nil if the connection ends. Right after a kill and a quick restart, the old connection may end just after the
// hello of the new one.
func (t *Transport) ping(other *session, newcomer *conn) (answers *conn) {
	t.mu.Lock()
	c := other.active
	if c.pong == nil { // otherwise a ping is under way
		c.pong = make(chan struct{})
		c.requestControl(&c.pingDue)
	}
	answered := c.pong
	t.mu.Unlock()
	select {
	case <-answered:
		return c
	case <-time.After(pingTimeout):
	case <-c.dead:
	case <-newcomer.ctx.Done():
	case <-t.ctx.Done():
	}
	return nil
}
