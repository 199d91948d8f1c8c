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

// conn is one connection. Its read loop also dials or accepts it, performs the handshake, assigns the slot and ends
// the connection. Only its write loop (write.go) writes.
type conn struct {
	t                *Transport
	target           Target // zero if accepted
	dialed           bool
	plain            bool     // without Security
	nc               net.Conn // replaced under mu by the connection that Security returns
	addr             string
	origin           origin
	ofMember         bool // it comes from the host of a member, or this side has dialed
	reader           frameReader
	hasFrameDeadline bool   // the read deadline is for the rest of a frame
	renewed          bool   // a replacement has been dialed, which may be valid for longer
	spare            []byte // the last batch, which the queue reuses as its buffer

	hasSession atomic.Bool
	lastUse    atomic.Int64    // time of the last frame, since Transport.started
	wake       chan struct{}   // signals the write loop
	written    chan struct{}   // closed when the write loop has ended
	ctx        context.Context // ends when the connection is closed
	stop       context.CancelFunc
	dead       chan struct{} // closed when the read loop has ended and released its slot

	// Guarded by pool.mu.
	pending          bool // without a session, not yet or no longer
	ofHost, ofPrefix *int // pending connections of the same origin

	peer Peer // owned by the read loop until there is a session; constant afterwards

	// Guarded by Transport.mu; since is constant once there is a session.
	since   time.Time
	session *session
	pong    chan struct{} // closed by the answer to a ping; nil if no ping is under way

	mu        sync.Mutex
	cause     error  // first reason why this side ends the connection
	writeErr  error  // reason why writing is impossible
	lingering bool   // the read deadline is final
	hello     []byte // frames of the handshake that are to be written
	pingDue   bool   // a ping is to be written
	pongDue   bool   // a pong is to be written
	finishing bool   // the write loop ends with a close frame
	reason    string // text of the close frame
}

// newConn registers a connection and starts its write loop. It returns nil if the transport is closing. It does not
// take Transport.mu: the loop of the node must not wait for a connection that has proved nothing yet.
func (t *Transport) newConn(nc net.Conn, target Target, dialed, plain bool) *conn {
	c := &conn{
		t: t, target: target, dialed: dialed, plain: plain, nc: nc,
		wake: make(chan struct{}, 1), written: make(chan struct{}), dead: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.reader = frameReader{src: c, limit: t.o.MaxHello}
	limitAckTime(nc, t.o.writeTimeout)
	if dialed {
		c.addr = target.Addr
	} else if remote := nc.RemoteAddr(); remote != nil {
		c.addr = remote.String()
	}
	c.origin = originOf(c.addr)
	if !t.pool.add(c) {
		nc.Close()
		return nil
	}
	if !dialed {
		t.pool.markPending(c)
	}
	t.wg.Go(c.write)
	return c
}

// isLocal reports whether c comes from the address that it goes to, and so from this machine.
func (c *conn) isLocal() bool {
	local := c.nc.LocalAddr()
	if local == nil {
		return false
	}
	from, ok := hostIP(c.addr)
	to, _ := hostIP(local.String())
	return ok && from == to
}

// discard closes and unregisters a connection.
func (t *Transport) discard(c *conn) {
	c.closeNow(nil)
	t.pool.remove(c)
}

// Read reads for the frame reader, and counts the bytes.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.nc.Read(b)
	c.t.count.add("bytes.in", "", n)
	return n, err
}

// read handles frames until the connection ends, and returns the reason.
func (c *conn) read() error {
	for {
		frame, err := c.nextFrame()
		if err == nil {
			err = c.handle(frame)
		}
		if err != nil {
			return c.closeReason(err)
		}
	}
}

// nextFrame waits for a frame.
func (c *conn) nextFrame() ([]byte, error) {
	for {
		if frame, ok, err := c.reader.next(); ok || err != nil {
			c.hasFrameDeadline = false
			return frame, err
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once. It limits the time for the rest of a frame, and the time without any frame.
func (c *conn) fill() error {
	partial := c.reader.partial()
	switch {
	case c.session == nil: // the handshake has its own limit
		return c.reader.fill()
	case !partial:
		c.setReadDeadline(c.nextTimeout())
	case !c.hasFrameDeadline:
		c.setReadDeadline(time.Now().Add(frameTimeout))
	}
	c.hasFrameDeadline = partial
	err := c.reader.fill()
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.isEnding() {
		return err
	}
	if partial {
		return cmp.Or(c.peer.checkValid(time.Now()), err)
	}
	return c.handleTimeout(time.Now())
}

// idleAt returns the time at which c is closed as idle, unless it carries a frame before.
func (c *conn) idleAt() time.Time {
	return c.t.started.Add(time.Duration(c.lastUse.Load()) + c.t.o.idleTimeout)
}

// noteUse records that c carries a frame.
func (c *conn) noteUse() { c.lastUse.Store(int64(time.Since(c.t.started))) }

func (c *conn) handle(frame []byte) error {
	if err := c.peer.checkValid(time.Now()); err != nil {
		return err
	}
	switch first := frame[0]; {
	case isArray(first):
		c.noteUse()
		c.t.count.add("frames.in", "", 1)
		if err := c.session.deliver(c, frame); err != nil {
			return rejectedError("handler", err)
		}
		return nil
	case first == controlPing && len(frame) == 1:
		c.requestControl(&c.pongDue) // one flag: a flood of pings costs one pong at a time
		return nil
	case first == controlPong && len(frame) == 1:
		c.t.mu.Lock()
		if c.pong != nil {
			close(c.pong)
			c.pong = nil
		}
		c.t.mu.Unlock()
		return nil
	}
	return c.parsePeerClose(frame, &c.peer)
}

// parsePeerClose returns the meaning of a close frame. It keeps the reason, which the log quotes, only if the peer
// has proved that it is a node. Without Security, the peer must be up or dialed by this side.
func (c *conn) parsePeerClose(frame []byte, p *Peer) error {
	err := parseClose(frame)
	quoted := !p.Client && (p.Principal != nil || c.t.o.Security == nil && (c.dialed || c.session != nil))
	if kind := closeErrorOf(err).kind; !quoted && kind >= RejectedByPeer && kind <= Replaced {
		return rejectedByPeer(withheldReason)
	}
	return err
}

// closeReason returns the reason for the end of the connection, given the error of the read loop.
func (c *conn) closeReason(err error) error {
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
		return timeoutError("frame", frameTimeout)
	case errors.Is(err, io.EOF) && c.reader.partial():
		return &closeError{kind: EOF, text: "connection ended within a frame", counter: "truncated frame", err: io.ErrUnexpectedEOF}
	case errors.Is(err, io.EOF):
		return fmt.Errorf("transport: connection ended without a goodbye: %w", io.EOF)
	case Cause(err) == Reset, Cause(err) == Timeout:
		return fmt.Errorf("transport: connection lost: %w", err)
	}
	return err
}

// setReadDeadline moves the read deadline, unless the connection is about to end.
func (c *conn) setReadDeadline(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lingering {
		c.nc.SetReadDeadline(at)
	}
}

// readUntilClosed reads on for at most d, and then ends the connection with cause.
func (c *conn) readUntilClosed(cause error, d time.Duration) {
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

// isEnding reports whether the read deadline is final.
func (c *conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lingering
}

// closeGracefully closes the connection after all frames in flight have arrived on both sides.
func (c *conn) closeGracefully(cause error) {
	c.readUntilClosed(cause, c.t.o.drainTime)
	c.requestClose("")
}

// closeNow closes the connection at once.
func (c *conn) closeNow(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	c.stop()
	c.nc.Close()
}

// closeCause returns the reason why this side ends the connection, or nil.
func (c *conn) closeCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}
