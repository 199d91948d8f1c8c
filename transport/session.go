package transport

import (
	"bytes"
	"cmp"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// session is the time of one peer between Up and Down: one incarnation, over one or more connections.
type session struct {
	peer *peer

	isUp, isClosed bool // isUp: Up has been called; isClosed: no call follows. Guarded by peer.calls

	// Guarded by Transport.mu.
	conns  []*conn // the latest last
	active *conn   // the connection that carries the session, which ends with it
}

// deliver calls Up, unless it has been called before, and delivers frame if it is not nil. It drops frames that
// arrive after the end of the session.
func (s *session) deliver(c *conn, frame []byte) error {
	s.peer.calls <- struct{}{}
	defer func() { <-s.peer.calls }()
	if s.isClosed {
		return nil
	}
	if !s.isUp {
		s.isUp = true
		c.t.log(slog.LevelDebug, nil, "peer up", c)
		c.t.o.Handler.Up(c.peer)
	}
	if frame == nil {
		return nil
	}
	return c.t.o.Handler.Frame(c.peer, frame)
}

// attach adds c to a session. An accepted connection may now send its hello.
func (t *Transport) attach(s *session, c *conn) {
	c.session, c.since = s, time.Now()
	c.hasSession.Store(true)
	c.noteUse()
	c.reader.reserve(readBuffer)
	if c.dialed {
		delete(t.dialing, c.target.dialKey()) // the dial has ended
	}
	c.signal()
	s.conns = append(s.conns, c)
	if remote := c.nc.RemoteAddr(); remote != nil && !c.peer.Client {
		if host, ok := hostIP(remote.String()); ok && host != s.peer.host {
			s.peer.host = host
			t.reserveHosts()
		}
	}
	t.selectActive(s)
	s.active = cmp.Or(s.active, c) // if none was selected, c has ended already
}

// selectActive picks the connection that carries s. The newest wins, because its dialer knew of no live one. After a
// simultaneous open, the connection dialed by the lower ID wins. Only the dialer of the winner closes the others,
// because the dialed side has assigned the slot first.
func (t *Transport) selectActive(s *session) {
	best := t.preferredConn(s)
	if best == nil {
		return
	}
	s.active = best
	best.signal()
	t.pool.unmarkPending(best)
	for _, c := range s.conns {
		if c != best {
			if t.pool.markPending(c); best.dialed {
				c.closeGracefully(errSuperseded)
			}
		}
	}
}

// preferredConn returns the connection that should carry s, or nil if none is alive.
func (t *Transport) preferredConn(s *session) (preferredConn *conn) {
	for _, c := range slices.Backward(s.conns) {
		lower := c.dialed == (bytes.Compare(t.o.Self[:], c.peer.ID[:]) < 0)
		switch {
		case c.closeCause() != nil:
		case lower && (preferredConn == nil || preferredConn.since.Sub(c.since) < simultaneousOpen):
			return c
		case preferredConn == nil:
			preferredConn = c
		}
	}
	return preferredConn
}

// detach removes c from its session. If c carried the session, the session ends, unless c was closed gracefully and
// another connection can carry it.
func (t *Transport) detach(c *conn, cause error) {
	close(c.dead)
	s := c.session
	s.peer.calls <- struct{}{}
	defer func() { <-s.peer.calls }()
	t.mu.Lock()
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	if s.active == c && Cause(cause) == Graceful {
		c.requestClose("") // the other side waits for it, and still reads queued frames
		if t.selectActive(s); s.active == c {
			t.mu.Unlock()
			select {
			case <-c.written:
			case <-time.After(t.o.closeTimeout):
			}
			t.mu.Lock()
		}
	}
	wasActive := s.active == c
	t.mu.Unlock()
	if wasActive {
		t.closeSession(s, cause)
	}
}

// closeSession ends a session once, and keeps or drops the queued frames. Its caller holds peer.calls.
func (t *Transport) closeSession(s *session, cause error) {
	p := s.peer
	t.mu.Lock()
	if p.session != s {
		t.mu.Unlock()
		return
	}
	active := s.active
	p.session, p.notifying = nil, true
	if !active.peer.Client {
		t.sessions--
	}
	for _, other := range s.conns {
		other.closeGracefully(errSuperseded)
	}
	graceful := Cause(cause) == Graceful && active.ctx.Err() == nil // without ctx.Err, another process has taken over
	if graceful && !t.closing && p.queue.frames > 0 && (p.addr != "" || t.isDialing(p.id)) {
		// A graceful end is no sign of a failure, so the next connection carries the frames that came too late for
		// this one.
		t.startDial(Target{ID: p.id, Addr: p.addr})
	} else {
		t.count.add("dropped", "connection lost", p.queue.drop())
	}
	t.mu.Unlock()

	s.isClosed = true
	if s.isUp {
		t.o.Handler.Down(active.peer, cause)
	}
	runtime.Gosched() // Down may have started a dial, which matters more than the cleanup
	t.finishNotify(p)
	t.logClose(active, "peer down", cause)
}

// logClose logs the end of a connection, and counts it if this side blames the peer.
func (t *Transport) logClose(c *conn, event string, cause error) {
	end := closeErrorOf(cause)
	switch {
	case end != nil && end.kind >= RejectedByPeer && end.kind <= Replaced:
		t.log(slog.LevelWarn, &t.alertLog, "connection rejected by peer", c, "says", end.err)
		return
	case end == nil || end.counter == "":
		t.log(slog.LevelDebug, nil, event, c, "error", cause)
		return
	}
	t.count.add("closed", end.counter, 1)
	level, limit := slog.LevelWarn, &t.pendingLog
	switch end.counter {
	case "self", "disconnected":
		level = slog.LevelDebug // this node is among its own seeds, or the caller has disconnected the peer
	case Duplicate.String(), Replaced.String():
		level, limit = slog.LevelError, &t.alertLog // must not be suppressed because of pending connections
		if t.duplicateIncarnation.Swap(c.peer.Incarnation) == c.peer.Incarnation {
			level = slog.LevelDebug // it has been logged before
		}
	}
	t.log(level, limit, "connection closed", c, "reason", end.counter, "error", cause)
}
