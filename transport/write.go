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
