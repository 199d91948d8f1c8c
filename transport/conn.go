package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection. Its read loop is also where it is dialled or accepted,
// says hello, gets its place and ends; its write loop (write.go) is the only writer.
type conn struct {
	t      *Transport
	target Target // zero of one that was accepted
	dialed bool
	plain  bool     // Security has no part in it
	nc     net.Conn // safe when that is done; it replaces it under mu
	addr   string
	from   origin
	member bool // it comes from the host of a member, or this side has dialed
	reader frameReader
	timed  bool   // a deadline runs for the frame that has begun
	newer  bool   // a connection was dialed that may be valid for longer
	spare  []byte // the last batch, for the queue to collect the next but one in

	joined  atomic.Bool     // it has a session
	used    atomic.Int64    // when a frame came or went last, since the beginning of t
	wake    chan struct{}   // something is there to be written
	written chan struct{}   // closed when the write loop has ended
	ctx     context.Context // ends when it is closed
	stop    context.CancelFunc
	dead    chan struct{} // closed when the read loop has ended and given up its place

	// Guarded by pool.mu.
	pending          bool // it has no session, not yet or no more
	ofHost, ofPrefix *int // pending connections of the same origin

	peer Peer // of the read loop until it has a session; does not change afterwards

	// Guarded by Transport.mu; since does not change once it has a session.
	since    time.Time
	session  *session
	answered chan struct{} // a probe is out; closed by its answer

	mu        sync.Mutex
	cause     error  // why this side ends it; the first one stays
	writeErr  error  // why nothing more can be written
	lingering bool   // the read deadline is the end: nobody moves it
	hello     []byte // frames of the handshake
	probe     bool   // to be written
	answer    bool   // to be written
	finishing bool   // the write loop ends with a close frame
	reason    string // the text of it
}

// newConn takes a connection in. It returns nil when the transport closes. It does not take Transport.mu: before a
// connection has proved something, the loop of the node does not wait for it.
func (t *Transport) newConn(nc net.Conn, target Target, dialed, plain bool) *conn {
	c := &conn{
		t: t, target: target, dialed: dialed, plain: plain, nc: nc,
		wake: make(chan struct{}, 1), written: make(chan struct{}), dead: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.reader = frameReader{src: c, limit: t.o.MaxHello}
	boundAcknowledgement(nc, t.o.writeTimeout)
	if dialed {
		c.addr = target.Addr
	} else if remote := nc.RemoteAddr(); remote != nil {
		c.addr = remote.String()
	}
	c.from = originOf(c.addr)
	if !t.pool.add(c) {
		nc.Close()
		return nil
	}
	if !dialed {
		t.pool.park(c)
	}
	t.wg.Go(c.write)
	return c
}

// isLocal reports whether c comes from the address that it goes to, so from this machine.
func (c *conn) isLocal() bool {
	local := c.nc.LocalAddr()
	if local == nil {
		return false
	}
	from, ok := hostIP(c.addr)
	to, _ := hostIP(local.String())
	return ok && from == to
}

// discard is the end of a connection.
func (t *Transport) discard(c *conn) {
	c.kill(nil)
	t.pool.remove(c)
}

// Read counts what comes. It is for the frame reader.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.nc.Read(b)
	c.t.count.add("bytes.in", "", n)
	return n, err
}

// read takes frames until the connection ends, and returns why.
func (c *conn) read() error {
	for {
		frame, err := c.next()
		if err == nil {
			err = c.handle(frame)
		}
		if err != nil {
			return c.explain(err)
		}
	}
}

// next waits for a frame.
func (c *conn) next() ([]byte, error) {
	for {
		if frame, ok, err := c.reader.next(); ok || err != nil {
			c.timed = false
			return frame, err
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once. A frame that has begun must be whole in time, and who carries none for long is closed.
func (c *conn) fill() error {
	partial := c.reader.partial()
	switch {
	case c.session == nil: // greet has its own limit
		return c.reader.fill()
	case !partial:
		c.deadline(c.nextAt())
	case !c.timed:
		c.deadline(time.Now().Add(frameTimeout))
	}
	c.timed = partial
	err := c.reader.fill()
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.ended() != nil {
		return err
	}
	if partial {
		return cmp.Or(c.peer.checkValid(time.Now()), err)
	}
	return c.act(time.Now())
}

// idleAt is when c has carried no frame for too long, unless it does until then.
func (c *conn) idleAt() time.Time {
	return c.t.began.Add(time.Duration(c.used.Load()) + c.t.o.idleTimeout)
}

// use notes that c carries a frame.
func (c *conn) use() { c.used.Store(int64(time.Since(c.t.began))) }

func (c *conn) handle(frame []byte) error {
	if err := c.peer.checkValid(time.Now()); err != nil {
		return err
	}
	switch first := frame[0]; {
	case isArray(first):
		c.use()
		c.t.count.add("frames.in", "", 1)
		if err := c.session.tell(c, frame); err != nil {
			return rejected("handler", err)
		}
		return nil
	case first == controlProbe && len(frame) == 1:
		c.say(&c.answer) // one flag: a flood of probes costs one answer at a time
		return nil
	case first == controlAnswer && len(frame) == 1:
		c.t.mu.Lock()
		if c.answered != nil {
			close(c.answered)
			c.answered = nil
		}
		c.t.mu.Unlock()
		return nil
	}
	return c.closeError(frame, &c.peer)
}

// closeError tells the meaning of a close frame. It keeps the reason, which the log quotes, only of a node that has proved
// its identity. Where no node proves anything, it keeps that of a node that is up, or that this side has dialed.
func (c *conn) closeError(frame []byte, p *Peer) error {
	err := parseClose(frame)
	quoted := !p.Client && (p.Proved != nil || c.t.o.Security == nil && (c.dialed || c.session != nil))
	if kind := endingOf(err).kind; !quoted && kind >= Refused && kind <= Replaced {
		return refused(withheld)
	}
	return err
}

// explain tells why the connection ends, given what the read loop ran into.
func (c *conn) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if c.writeErr != nil {
			return c.writeErr
		}
		return late("frame", frameTimeout)
	case errors.Is(err, io.EOF) && c.reader.partial():
		return &ending{kind: EOF, text: "connection ended within a frame", label: "truncated frame", err: io.ErrUnexpectedEOF}
	case errors.Is(err, io.EOF):
		return fmt.Errorf("transport: connection ended without a goodbye: %w", io.EOF)
	case Cause(err) == Reset, Cause(err) == Timeout:
		return fmt.Errorf("transport: connection lost: %w", err)
	}
	return err
}

// deadline moves the read deadline, unless the connection is about to end.
func (c *conn) deadline(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lingering {
		c.nc.SetReadDeadline(at)
	}
}

// linger has the connection read for d at most, then end because of cause.
func (c *conn) linger(cause error, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	if !c.lingering {
		c.lingering = true
		c.nc.SetReadDeadline(time.Now().Add(d))
	}
}

// leave closes politely: what is on its way both ways still arrives.
func (c *conn) leave(cause error) {
	c.linger(cause, drainTime)
	c.finish("")
}

// kill closes the connection.
func (c *conn) kill(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	c.stop()
	c.nc.Close()
}

// ended returns why this side ended the connection, if it did.
func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}
