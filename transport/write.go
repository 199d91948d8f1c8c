package transport

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// requestControl requests a control frame from the write loop.
func (c *conn) requestControl(flag *bool) {
	c.mu.Lock()
	*flag = true
	c.mu.Unlock()
	c.signal()
}

// requestClose requests that the write loop writes the remaining frames and a close frame, and ends. The first reason
// counts.
func (c *conn) requestClose(reason string) {
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
	default: // the loop is awake, and checks again before it sleeps
	}
}

// write is the write loop. It writes nothing until it is woken, because the hello of an accepted connection must wait
// for its slot.
func (c *conn) write() {
	defer close(c.written)
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		for batch, frames, last := c.collect(); len(batch) > 0; batch, frames, last = c.collect() {
			c.spare = batch
			c.nc.SetWriteDeadline(time.Now().Add(c.t.o.writeTimeout))
			n, err := c.nc.Write(batch)
			c.t.count.add("bytes.out", "", n)
			if err != nil {
				c.t.count.add("dropped", "connection lost", frames)
				c.handleWriteError(err)
				return
			}
			if frames > 0 {
				c.noteUse()
				c.t.count.add("frames.out", "", frames)
			}
			if half, ok := c.nc.(interface{ CloseWrite() error }); ok && last {
				half.CloseWrite() // without it, the close frame alone marks the end
			}
			if last {
				return
			}
		}
	}
}

// collect builds the next batch: frames of the connection itself, queued frames of the session, and a final close
// frame.
func (c *conn) collect() (batch []byte, frames int, last bool) {
	return c.collectBatch(c.hasSession.Load())
}

// collectBatch takes queued frames if there was a session when collect began. A session may begin, and end, since.
// Then its frames come before the close frame: attach has woken the write loop, and it collects again.
func (c *conn) collectBatch(hadSession bool) (batch []byte, frames int, last bool) {
	if hadSession { // without a session, the loop of the node must not wait for this lock
		c.t.mu.Lock()
		defer c.t.mu.Unlock()
		if s := c.session; s.active == c && s.peer.session == s {
			batch, frames = s.peer.queue.takeAll(c.spare)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last = c.finishing && hadSession == c.hasSession.Load()
	if len(c.hello) == 0 && !c.pingDue && !c.pongDue && !last {
		return batch, frames, false
	}
	out := c.hello
	if c.pingDue {
		out = appendControl(out, controlPing, "")
	}
	if c.pongDue && !c.finishing {
		// A closing connection must not claim to be alive: the other side would keep it and close the one that stays.
		out = appendControl(out, controlPong, "")
	}
	out = append(out, batch...)
	if last {
		out = appendControl(out, controlClose, c.reason)
	}
	c.hello, c.pingDue, c.pongDue = nil, false, false
	return out, frames, last
}

// takeQueue moves the queued frames of p to the connection, because the session, and its queue, may end before the
// write loop runs. The caller holds Transport.mu.
func (c *conn) takeQueue(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, frames := p.queue.takeAll(nil)
	c.hello = append(c.hello, batch...)
	c.t.count.add("frames.out", "", frames)
}

// handleWriteError ends a connection after a failed write. The peer's earlier frames are still read: they may explain
// the failure.
func (c *conn) handleWriteError(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.closeNow(timeoutError("write", c.t.o.writeTimeout))
		return
	}
	c.mu.Lock()
	c.writeErr = fmt.Errorf("transport: connection lost: %w", err)
	c.mu.Unlock()
	c.readUntilClosed(nil, rejectLinger)
}

// finishClose ends a connection after its read loop, as cause requires.
func (c *conn) finishClose(cause error) {
	if c.ctx.Err() != nil {
		return // already closed
	}
	reason := ""
	if end := closeErrorOf(cause); end != nil {
		reason = end.peerReason
	}
	timeout := rejectLinger
	if reason == "" {
		switch Cause(cause) {
		case Graceful, Superseded:
			timeout = c.t.o.drainTime
		default:
			return
		}
	}
	c.t.pool.markPending(c)
	c.requestClose(reason)
	select {
	case <-c.written:
	case <-c.ctx.Done():
		return
	case <-time.After(timeout):
		return
	}
	if reason != "" {
		c.nc.SetReadDeadline(time.Now().Add(rejectLinger))
		io.CopyN(io.Discard, c.nc, rejectLingerBytes)
	}
}
