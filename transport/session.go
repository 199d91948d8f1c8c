package transport

import (
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// session is a peer between Up and Down. Connections of one incarnation may follow
// each other within it.
type session struct {
	peer  *peer // nil for a client
	queue *queue
	after <-chan struct{} // the calls that must return before Up
	done  chan struct{}   // closed when Down has returned

	calls sync.Mutex // held during each call of the Handler; from the start until Up has returned
	ended bool       // guarded by calls: Down was called

	// Guarded by Transport.mu.
	conn *conn         // the one that carries it; nil while it hopes for another
	last *conn         // the one that carried it last: it ends the session
	over bool          // nothing carries it any more
	wake chan struct{} // closed when that hope is settled
}

// deliver hands a frame up. Frames that a superseded connection still brings after
// the end are dropped: there is nobody whose they are.
func (s *session) deliver(h Handler, p Peer, frame []byte) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.ended {
		return nil
	}
	return h.Frame(p, frame)
}

// begin starts a session on c, in the place of an earlier one if there is one.
func (t *Transport) begin(c *conn, earlier *session) *session {
	if c.peer.Client {
		s := &session{queue: &queue{max: &t.o.limits}, done: make(chan struct{})}
		s.calls.Lock()
		t.clients++
		t.attach(s, c)
		return s
	}
	p := t.peerOf(c.peer.ID)
	if earlier != nil {
		// What waits was meant for another process.
		t.count.drop("connection lost", p.queue.drop())
		if earlier.conn != nil {
			earlier.conn.kill(errSuperseded)
		} else {
			close(earlier.wake)
		}
	}
	s := &session{peer: p, queue: p.queue, after: p.last, done: make(chan struct{}), wake: make(chan struct{})}
	s.calls.Lock()
	p.session, p.last = s, s.done
	if c.peer.starts() > p.latest.starts() {
		p.latest = Peer{Incarnation: c.peer.Incarnation, Started: c.peer.Started, Listens: c.peer.Listens, Addr: c.peer.Addr}
	}
	t.sessions++
	t.attach(s, c)
	return s
}

// carryOn moves a session to c.
func (t *Transport) carryOn(s *session, c *conn) {
	old := s.conn
	t.attach(s, c)
	if old == nil {
		close(s.wake)
		s.wake = make(chan struct{})
		return
	}
	old.supersede()
	t.park(old)
}

// attach makes c the connection of s.
func (t *Transport) attach(s *session, c *conn) {
	s.conn, s.last, c.session, c.since = c, c, s, time.Now()
	c.used.Store(true)
	c.reader.reserve(readBuffer)
	t.unpark(c)
	c.mu.Lock()
	c.queue = s.queue
	c.mu.Unlock()
	s.queue.give(c)
}

// supersede closes c politely: what is on its way both ways still arrives.
func (c *conn) supersede() {
	c.linger(errSuperseded, drainTime)
	c.finish("")
}

// up calls Up, after the last call about the session before.
func (t *Transport) up(s *session, c *conn) {
	if s.after != nil {
		<-s.after
	}
	t.log(slog.LevelDebug, nil, "peer up", c)
	t.o.Handler.Up(c.peer)
	s.calls.Unlock()
}

// end takes c out of its place. If it carried its session, that is over, and Down is
// called.
func (t *Transport) end(c *conn, why error) {
	t.mu.Lock()
	close(c.dead)
	s := c.session
	if s.conn != c {
		t.mu.Unlock()
		return
	}
	s.conn = nil
	polite := Cause(why) == Polite
	if polite {
		t.hope(s, c)
		if s.last != c {
			t.mu.Unlock()
			return
		}
	}
	s.queue.release(c)
	s.over = true
	t.leave(s, polite)
	t.mu.Unlock()

	s.calls.Lock()
	s.ended = true
	t.o.Handler.Down(c.peer, why)
	s.calls.Unlock()
	close(s.done)
	runtime.Gosched() // what Down has set going, a dial above all, comes before tidying up

	if s.peer != nil {
		t.mu.Lock()
		t.forget(s.peer)
		t.mu.Unlock()
	}
	t.report(c, "peer down", why)
}

// leave gives up the place of a session that is over, and decides about what waits.
func (t *Transport) leave(s *session, polite bool) {
	p := s.peer
	if p == nil {
		t.clients--
		t.count.drop("connection lost", s.queue.drop())
		return
	}
	t.sessions--
	if p.session != s {
		return // another incarnation has its place
	}
	p.session = nil
	if polite && !t.closing && p.queue.len() > 0 && (p.addr != "" || t.dials(p.id)) {
		// A polite end is no sign of death, and what came too late for this
		// connection deserves the next one.
		t.startDial(Target{ID: p.id, Addr: p.addr})
		return
	}
	t.count.drop("connection lost", p.queue.drop())
}

// hope waits, after a polite end of c, until what was queued is written on it, for
// the other side still reads; and for the connections in the making that may carry
// the session on: when two nodes dial at once, the one that closes the loser may be
// ahead of the other. It is called and returns with the lock held.
func (t *Transport) hope(s *session, c *conn) {
	c.finish("") // the other side waits for it
	waits := []<-chan struct{}{c.written}
	if s.peer != nil && !t.closing {
		for a := range t.attempts {
			if !a.dialed || a.target.ID == s.peer.id || a.target.ID == (ID{}) {
				waits = append(waits, a.done) // all end when the transport closes
			}
		}
	}
	wake := s.wake
	t.mu.Unlock()
	defer t.mu.Lock()
	patience := time.After(probeTimeout)
	for _, done := range waits {
		select {
		case <-done:
		case <-wake:
			return
		case <-patience:
			return
		}
	}
}

// report logs the end of a connection, and counts it if it was closed with blame.
func (t *Transport) report(c *conn, text string, why error) {
	end := endingOf(why)
	switch {
	case end != nil && end.kind >= Refused && end.kind <= Replaced:
		t.log(slog.LevelWarn, &t.alarms, "refused by the peer", c, "reason", end.err)
		return
	case end == nil || end.label == "":
		t.log(slog.LevelDebug, nil, text, c, "error", why)
		return
	}
	t.count.refuse(end.label)
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
