package transport

import (
	"bytes"
	"cmp"
	"log/slog"
	"runtime"
	"slices"
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
	conns []*conn // of its process, the latest last
	conn  *conn   // of these, the one that carries it: its end is that of the session
	over  bool    // nothing carries it any more
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
	s := &session{queue: new(queue), done: make(chan struct{})}
	s.calls.Lock()
	if c.peer.Client {
		t.clients++
		t.join(s, c)
		return s
	}
	p := t.peerOf(c.peer.ID)
	if earlier != nil {
		// What waits was meant for another process.
		earlier.over = true
		t.count.add("dropped", "connection lost", p.queue.drop())
		for _, old := range append(earlier.conns, earlier.conn) {
			old.kill(errSuperseded)
		}
	}
	s.peer, s.queue, s.after = p, p.queue, p.last
	p.session, p.last = s, s.done
	if c.peer.starts() > p.latest.starts() {
		p.latest = Peer{Incarnation: c.peer.Incarnation, Started: c.peer.Started, Listens: c.peer.Listens, Addr: c.peer.Addr}
	}
	t.sessions++
	t.join(s, c)
	return s
}

// join adds c, which has said hello, to a session. The hello to who has dialled goes now.
func (t *Transport) join(s *session, c *conn) {
	c.session, c.since = s, time.Now()
	c.use()
	c.reader.reserve(readBuffer)
	if c.dialed {
		delete(t.dialing, c.target.whom()) // its place is decided
	}
	c.signal()
	s.conns = append(s.conns, c)
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
	t.unpark(best)
	for _, c := range s.conns {
		if c != best {
			if t.park(c); best.dialed {
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
// called; but after a polite end another connection may carry it on.
func (t *Transport) end(c *conn, why error) {
	t.mu.Lock()
	close(c.dead)
	s := c.session
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	polite := Cause(why) == Polite
	if polite && s.conn == c {
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
	if s.conn != c {
		t.mu.Unlock()
		return
	}
	s.over = true
	for _, other := range s.conns {
		other.leave(errSuperseded)
	}
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
		t.count.add("dropped", "connection lost", s.queue.drop())
		return
	}
	t.sessions--
	if p.session != s {
		return // another incarnation has its place
	}
	p.session = nil
	if polite && !t.closing && p.queue.frames > 0 && (p.addr != "" || t.dials(p.id)) {
		// A polite end is no sign of death, and what came too late for this
		// connection deserves the next one.
		t.startDial(Target{ID: p.id, Addr: p.addr})
		return
	}
	t.count.add("dropped", "connection lost", p.queue.drop())
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
