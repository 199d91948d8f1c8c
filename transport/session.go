package transport

import (
	"bytes"
	"cmp"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// session is a peer between Up and Down: the connections of one process, which may follow each other within it.
type session struct {
	peer *peer

	up, ended bool // guarded by peer.calls: Up was called; no call comes any more

	// Guarded by Transport.mu.
	conns []*conn // the latest last
	conn  *conn   // of these, the one that carries it: its end is that of the session
}

// tell calls Up, unless it was called before, and hands a frame up if there is one. What a connection
// brings after the end is dropped: there is nobody whose it is.
func (s *session) tell(c *conn, frame []byte) error {
	s.peer.calls <- struct{}{}
	defer func() { <-s.peer.calls }()
	if s.ended {
		return nil
	}
	if !s.up {
		s.up = true
		c.t.log(slog.LevelDebug, nil, "peer up", c)
		c.t.o.Handler.Up(c.peer)
	}
	if frame == nil {
		return nil
	}
	return c.t.o.Handler.Frame(c.peer, frame)
}

// join adds c, which has said hello, to a session. The hello to who has dialled goes now.
func (t *Transport) join(s *session, c *conn) {
	c.session, c.since = s, time.Now()
	c.joined.Store(true)
	c.use()
	c.reader.reserve(readBuffer)
	if c.dialed {
		delete(t.dialing, c.target.whom()) // its place is decided
	}
	c.signal()
	s.conns = append(s.conns, c)
	if remote := c.nc.RemoteAddr(); remote != nil && !c.peer.Client {
		if host, ok := hostIP(remote.String()); ok && host != s.peer.host {
			s.peer.host = host
			t.reserveHosts()
		}
	}
	t.carry(s)
	s.conn = cmp.Or(s.conn, c) // one that has just ended
}

// carry has the newest connection of a session carry it, for who has dialled that knows of no other one that
// lives; but of those that both sides have dialled at once, one of the lower id. Only who has dialled the one
// that carries closes the others: who was dialled has it in its place first.
func (t *Transport) carry(s *session) {
	best := t.best(s)
	if best == nil {
		return
	}
	s.conn = best
	best.signal()
	t.pool.unpark(best)
	for _, c := range s.conns {
		if c != best {
			if t.pool.park(c); best.dialed {
				c.leave(errSuperseded)
			}
		}
	}
}

// best is the connection that is to carry a session; nil if none lives.
func (t *Transport) best(s *session) (best *conn) {
	for _, c := range slices.Backward(s.conns) {
		lower := c.dialed == (bytes.Compare(t.o.Self[:], c.peer.ID[:]) < 0)
		switch {
		case c.ended() != nil:
		case lower && (best == nil || best.since.Sub(c.since) < atOnce):
			return c
		case best == nil:
			best = c
		}
	}
	return best
}

// end takes c out of its place. If it carried its session, that is over; but after a polite end another
// connection may carry it on.
func (t *Transport) end(c *conn, why error) {
	close(c.dead)
	s := c.session
	s.peer.calls <- struct{}{}
	defer func() { <-s.peer.calls }()
	t.mu.Lock()
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	if s.conn == c && Cause(why) == Polite {
		c.finish("") // the other side waits for it, and still reads what was queued
		if t.carry(s); s.conn == c {
			t.mu.Unlock()
			select {
			case <-c.written:
			case <-time.After(probeTimeout):
			}
			t.mu.Lock()
		}
	}
	carried := s.conn == c
	t.mu.Unlock()
	if carried {
		t.over(s, why)
	}
}

// over ends a session, unless that was done, and decides about what waits. Its caller holds calls.
func (t *Transport) over(s *session, why error) {
	p := s.peer
	t.mu.Lock()
	if p.session != s {
		t.mu.Unlock()
		return
	}
	carrier := s.conn
	p.session, p.telling = nil, true
	if !carrier.peer.Client {
		t.sessions--
	}
	for _, other := range s.conns {
		other.leave(errSuperseded)
	}
	polite := Cause(why) == Polite && carrier.ctx.Err() == nil // else it was closed for another process
	if polite && !t.closing && p.queue.frames > 0 && (p.addr != "" || t.dials(p.id)) {
		// A polite end is no sign of death, and what came too late for this
		// connection deserves the next one.
		t.startDial(Target{ID: p.id, Addr: p.addr})
	} else {
		t.count.add("dropped", "connection lost", p.queue.drop())
	}
	t.mu.Unlock()

	s.ended = true
	if s.up {
		t.o.Handler.Down(carrier.peer, why)
	}
	runtime.Gosched() // what Down has set going, a dial above all, comes before tidying up
	t.told(p)
	t.report(carrier, "peer down", why)
}

// report logs the end of a connection, and counts it if it was closed with blame.
func (t *Transport) report(c *conn, text string, why error) {
	end := endingOf(why)
	switch {
	case end != nil && end.kind >= Refused && end.kind <= Replaced:
		t.log(slog.LevelWarn, &t.alarms, "refused by the peer", c, "says", end.err)
		return
	case end == nil || end.label == "":
		t.log(slog.LevelDebug, nil, text, c, "error", why)
		return
	}
	t.count.add("closed", end.label, 1)
	level, limit := slog.LevelWarn, &t.strangers
	switch end.label {
	case "self", "disconnected":
		level = slog.LevelDebug // a node among its own seeds, and what the caller knows
	case Duplicate.String(), Replaced.String():
		level, limit = slog.LevelError, &t.alarms // must not drown among strangers
		if t.claimed.Swap(c.peer.Incarnation) == c.peer.Incarnation {
			level = slog.LevelDebug // it has been said
		}
	}
	t.log(level, limit, "connection closed", c, "reason", end.label, "error", why)
}
