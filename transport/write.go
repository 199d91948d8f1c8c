package transport

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

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
	if c.direct != nil && c.turn.TryLock() {
		_, err := c.writeBatch(false)
		done := err == nil && len(c.rest) == 0
		c.turn.Unlock()
		if done {
			return
		}
	}
	c.signal()
}

// write is the write loop.
func (c *conn) write() {
	defer close(c.written)
	defer c.giveUp()
	for {
		select {
		case <-c.wake:
			if c.writeAll() {
				return
			}
		case <-c.stopped:
			return
		}
	}
}

// writeAll writes what there is, waiting for the socket, and reports whether that was the end.
func (c *conn) writeAll() (ended bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	for {
		wrote, err := c.writeBatch(true)
		switch {
		case err != nil:
			c.cannotWrite(err)
			return true
		case c.last:
			return true
		case !wrote:
			return false
		}
	}
}

// giveUp accounts for what was still to be written when the write loop ends.
func (c *conn) giveUp() {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.t.count.drop("connection lost", c.owed)
	c.rest, c.owed, c.last = nil, 0, true
}

// writeBatch writes one batch, which may be what is left of the one before, and reports
// whether there was any. If it may not wait, it leaves what the socket does not take at
// once.
func (c *conn) writeBatch(wait bool) (wrote bool, err error) {
	if len(c.rest) == 0 && !c.last {
		c.collect()
	}
	if len(c.rest) == 0 {
		return false, nil
	}
	n, err := c.flush(c.rest, wait)
	if c.rest = c.rest[n:]; err != nil || len(c.rest) > 0 {
		return true, err
	}
	if c.owed > 0 {
		c.used.Store(true)
		c.t.count.framesOut.Add(uint64(c.owed))
		c.owed = 0
	}
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok && c.last {
		half.CloseWrite() // where there is none the close frame says it alone
	}
	return true, nil
}

// collect makes the next batch: what the connection itself has to say, what waits in its
// queue, and the close frame if that is all.
func (c *conn) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare, c.owed = c.spare[:0], 0
	if c.queue != nil {
		c.spare, c.owed = c.queue.take(c, c.spare)
	}
	c.rest = c.spare
	if len(c.hello) == 0 && !c.probe && !c.answer && !c.finishing {
		return
	}
	out := c.hello
	if c.probe {
		out = appendControl(out, controlProbe, "")
	}
	if c.answer && !c.finishing {
		// One that closes must not claim to live: the other side would keep it and
		// give up the one that stays here.
		out = appendControl(out, controlAnswer, "")
	}
	out = append(out, c.spare...)
	if c.finishing {
		out = appendControl(out, controlClose, c.reason)
	}
	c.rest, c.last = out, c.finishing
	c.hello, c.probe, c.answer = nil, false, false
}

// flush gives out to the kernel and returns how much it took. Only what the socket does
// not take at once needs a deadline.
func (c *conn) flush(out []byte, wait bool) (n int, err error) {
	if c.direct != nil {
		n, err = c.direct.write(out)
	}
	if wait && err == nil && n < len(out) {
		var more int
		c.nc.SetWriteDeadline(time.Now().Add(c.t.o.writeTimeout))
		more, err = c.nc.Write(out[n:])
		n += more
		if c.direct != nil {
			c.nc.SetWriteDeadline(time.Time{}) // a later try must not find it passed
		}
	}
	c.t.count.bytesOut.Add(uint64(n))
	return n, err
}

// cannotWrite ends a connection that takes nothing more. What the peer has said
// before is still read: it may say why.
func (c *conn) cannotWrite(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.kill(late("write", c.t.o.writeTimeout))
		return
	}
	c.mu.Lock()
	c.writeErr = fmt.Errorf("transport: connection lost: %w", err)
	c.mu.Unlock()
	c.linger(nil, refuseTime)
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
	select {
	case <-c.written:
	case <-c.stopped:
		return
	case <-time.After(patience):
		return
	}
	if reason != "" {
		c.nc.SetReadDeadline(time.Now().Add(refuseTime))
		io.CopyN(io.Discard, c.nc, refuseBytes)
	}
}
