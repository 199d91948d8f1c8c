package transport

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection. Its read loop is also where it is dialled or accepted,
// says hello, gets its place and ends; its write loop is the only writer.
type conn struct {
	t      *Transport
	nc     net.Conn
	addr   string
	dialed bool
	target Target
	reader frameReader
	timed  bool // a deadline runs for the frame that has begun
	armed  bool // a read deadline is set

	used    atomic.Bool   // frames came or went since the last look
	wake    chan struct{} // something is there to be written
	written chan struct{} // closed when the write loop has ended
	stopped chan struct{} // closed by kill
	dead    chan struct{} // closed when the read loop has ended and given up its place

	// Guarded by Transport.mu; peer and since do not change once it has a session.
	peer     Peer
	since    time.Time
	session  *session
	answered chan struct{} // a probe is out; closed by its answer
	place    *list.Element // in Transport.parked
	idle     int           // looks at which it was not used

	// turn is held by who writes: the write loop, or who has a frame to send while the
	// write loop sleeps. It is taken before mu.
	turn   sync.Mutex
	direct *direct // nil where a write cannot be tried
	spare  []byte  // for the next batch
	rest   []byte  // what the kernel did not take of a batch
	owed   int     // the frames of that batch
	failed error   // of a write that was tried
	last   bool    // the close frame is out

	mu        sync.Mutex
	cause     error // why this side ends it; the first one stays
	writeErr  error // why nothing more can be written
	lingering bool  // the read deadline is the end: nobody moves it
	killed    bool
	queue     *queue
	hello     []byte // frames of the handshake
	probe     bool   // to be written
	answer    bool   // to be written
	finishing bool   // the write loop ends with a close frame
	reason    string // the text of it
}

// newConn takes a connection in. It returns nil when the transport closes.
func (t *Transport) newConn(nc net.Conn, a *attempt) *conn {
	if tcp, ok := nc.(interface{ SetNoDelay(bool) error }); ok {
		tcp.SetNoDelay(true) // a heartbeat must not wait for the next one
	}
	if socket, ok := nc.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			boundAcknowledgement(raw, t.o.WriteTimeout)
		}
	}
	c := &conn{
		t: t, nc: nc, dialed: a.dialed, target: a.target,
		wake: make(chan struct{}, 1), written: make(chan struct{}), stopped: make(chan struct{}), dead: make(chan struct{}),
	}
	c.reader = frameReader{src: c, limit: t.o.MaxHello}
	c.direct = newDirect(nc)
	if a.dialed {
		c.addr = a.target.Addr
	} else if remote := nc.RemoteAddr(); remote != nil {
		c.addr = remote.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		nc.Close()
		return nil
	}
	t.conns[c] = struct{}{}
	if !a.dialed {
		t.attempts[a] = struct{}{}
		t.park(c)
	}
	t.wg.Go(c.write)
	return c
}

// park enters c among the connections without a place, of which there are so many.
func (t *Transport) park(c *conn) {
	if c.place != nil || t.closing || c.isKilled() {
		return // when the transport closes, each connection has its goodbye
	}
	c.place = t.parked.PushBack(c)
	if t.parked.Len() > t.o.MaxPending {
		oldest := t.parked.Front().Value.(*conn)
		t.unpark(oldest)
		oldest.kill(rejected("too many pending", errors.New("too many connections without a hello")))
	}
}

func (t *Transport) unpark(c *conn) {
	if c.place != nil {
		t.parked.Remove(c.place)
		c.place = nil
	}
}

// discard is the end of a connection.
func (t *Transport) discard(c *conn) {
	c.kill(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unpark(c)
	delete(t.conns, c)
}

// Read counts what comes. It is for the frame reader.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.nc.Read(b)
	c.t.count.bytesIn.Add(uint64(n))
	return n, err
}

// read takes frames until the connection ends, and returns why.
func (c *conn) read() error {
	for {
		frame, ok, err := c.reader.next()
		switch {
		case err != nil:
		case ok:
			c.timed = false
			err = c.handle(frame)
		default:
			err = c.fill()
		}
		if err != nil {
			return c.explain(err)
		}
	}
}

// fill reads once. A frame that has begun must be whole in time; between frames
// there is no limit.
func (c *conn) fill() error {
	switch partial := c.reader.partial(); {
	case partial && !c.timed:
		c.deadline(time.Now().Add(c.t.o.FrameTimeout))
		c.timed, c.armed = true, true
	case !partial && c.armed:
		c.deadline(time.Time{})
		c.timed, c.armed = false, false
	}
	return c.reader.fill()
}

func (c *conn) handle(frame []byte) error {
	switch first := frame[0]; {
	case isArray(first):
		c.used.Store(true)
		c.t.count.framesIn.Add(1)
		if err := c.session.deliver(c.t.o.Handler, c.peer, frame); err != nil {
			return rejected("handler", err)
		}
		return nil
	case first == controlClose:
		return parseClose(frame)
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
	return unknownFrame(frame)
}

func unknownFrame(frame []byte) error {
	return noProtocol("frame of %d bytes begins with %02x", len(frame), frame[0])
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
		return late("frame", c.t.o.FrameTimeout)
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

// cancel ends reading now.
func (c *conn) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	c.lingering = true
	c.nc.SetReadDeadline(time.Unix(1, 0))
}

// kill closes the connection.
func (c *conn) kill(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	if !c.killed {
		c.killed = true
		close(c.stopped)
		c.nc.Close()
	}
}

func (c *conn) isKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// ended returns why this side ended the connection, if it did.
func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// say asks the write loop for a control frame.
func (c *conn) say(flag *bool) {
	c.mu.Lock()
	*flag = true
	c.mu.Unlock()
	c.signal()
}

// finish asks the write loop to write what is left, say that this side closes, and
// end. The first reason stays.
func (c *conn) finish(reason string) {
	c.mu.Lock()
	if !c.finishing {
		c.finishing, c.reason = true, reason
	}
	c.mu.Unlock()
	c.signal()
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // it is awake, and looks again before it sleeps
	}
}

// poke has what is queued written: at once if that does not make the caller wait,
// else by the write loop. To wake another goroutine for each frame costs more than to
// write it.
func (c *conn) poke() {
	if !c.writeNow() {
		c.signal()
	}
}

// writeNow writes what is queued and reports whether nothing is left to do.
func (c *conn) writeNow() bool {
	if c.direct == nil || !c.turn.TryLock() {
		return false
	}
	defer c.turn.Unlock()
	c.mu.Lock()
	q := c.queue
	ready := q != nil && len(c.hello) == 0 && !c.probe && !c.answer && !c.finishing && !c.killed && c.writeErr == nil
	c.mu.Unlock()
	if !ready || c.owed > 0 {
		return false
	}
	batch, frames := q.take(c, c.spare)
	c.spare = batch
	if frames == 0 {
		return true
	}
	n, err := c.direct.write(batch)
	c.t.count.bytesOut.Add(uint64(n))
	if err == nil && n == len(batch) {
		c.left(frames, nil)
		return true
	}
	c.rest, c.owed, c.failed = append(c.rest[:0], batch[n:]...), frames, err
	return false
}

// left accounts for frames that were handed to the kernel, or were not.
func (c *conn) left(frames int, err error) {
	c.used.Store(true)
	if err == nil {
		c.t.count.framesOut.Add(uint64(frames))
	} else {
		c.t.count.drop("connection lost", frames)
	}
}

// write is the write loop.
func (c *conn) write() {
	defer close(c.written)
	defer c.giveUp()
	var control []byte
	for {
		select {
		case <-c.wake:
		case <-c.stopped:
			return
		}
		for more := true; more; {
			var err error
			if control, more, err = c.writeBatch(control[:0]); err != nil {
				c.cannotWrite(err)
				return
			}
			if c.last {
				return
			}
		}
	}
}

// giveUp accounts for what was still to be written when the write loop ends.
func (c *conn) giveUp() {
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.owed > 0 {
		c.left(c.owed, errClosed)
		c.owed = 0
	}
}

// writeBatch writes what there is, waiting for the socket, and reports whether there
// was anything.
func (c *conn) writeBatch(control []byte) (_ []byte, more bool, err error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	control, q, last := c.controls(control)
	if c.owed > 0 {
		err := c.failed
		if err == nil {
			err = c.flush(c.rest)
		}
		c.left(c.owed, err)
		c.rest, c.owed = c.rest[:0], 0
		if err != nil {
			return control, false, err
		}
	}
	frames := 0
	if q != nil {
		c.spare, frames = q.take(c, c.spare)
	} else {
		c.spare = c.spare[:0]
	}
	if frames == 0 && len(control) == 0 && !last {
		return control, false, nil
	}
	out := c.spare
	if len(control) > 0 {
		out = append(control, c.spare...)
	}
	if last {
		c.last = true
		c.mu.Lock()
		out = appendControl(out, controlClose, c.reason)
		c.mu.Unlock()
	}
	err = c.flush(out)
	if frames > 0 {
		c.left(frames, err)
	}
	if err == nil && last {
		if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
			half.CloseWrite() // where there is none the close frame says it alone
		}
	}
	return control, true, err
}

// controls collects what the connection itself has to say, and tells from which
// queue to go on and whether that is the last.
func (c *conn) controls(to []byte) (control []byte, q *queue, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to = append(to, c.hello...)
	c.hello = c.hello[:0]
	if c.probe {
		to = appendControl(to, controlProbe, "")
	}
	if c.answer && !c.finishing {
		// One that closes must not claim to live: the other side would keep it and
		// give up the one that stays here.
		to = appendControl(to, controlAnswer, "")
	}
	c.probe, c.answer = false, false
	return to, c.queue, c.finishing
}

// flush writes out, in one piece where it can. Only what the socket does not take at
// once needs a deadline.
func (c *conn) flush(out []byte) error {
	if c.direct != nil {
		n, err := c.direct.write(out)
		c.t.count.bytesOut.Add(uint64(n))
		if err != nil || n == len(out) {
			return err
		}
		out = out[n:]
	}
	c.nc.SetWriteDeadline(time.Now().Add(c.t.o.WriteTimeout))
	n, err := c.nc.Write(out)
	c.t.count.bytesOut.Add(uint64(n))
	if c.direct != nil {
		c.nc.SetWriteDeadline(time.Time{}) // a later try must not find it passed
	}
	return err
}

// cannotWrite ends a connection that takes nothing more. What the peer has said
// before is still read: it may say why.
func (c *conn) cannotWrite(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.kill(late("write", c.t.o.WriteTimeout))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeErr = fmt.Errorf("transport: connection lost: %w", err)
	if !c.lingering {
		c.lingering = true
		c.nc.SetReadDeadline(time.Now().Add(refuseTime))
	}
}

// farewell ends a connection after its read loop, in the way that the reason asks for.
func (c *conn) farewell(why error) {
	reason := ""
	if end := endingOf(why); end != nil {
		reason = end.told
	}
	patience := refuseTime
	if reason == "" {
		switch Cause(why) {
		case Polite, Superseded:
			patience = drainTime // what is being written on it must arrive
		default:
			return
		}
	}
	c.t.mu.Lock()
	c.t.park(c)
	c.t.mu.Unlock()
	c.finish(reason)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.written:
	case <-c.stopped:
		return
	case <-timer.C:
		return
	}
	if reason != "" {
		c.nc.SetReadDeadline(time.Now().Add(refuseTime))
		io.CopyN(io.Discard, c.nc, refuseBytes)
	}
}
