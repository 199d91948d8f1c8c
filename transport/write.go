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

// write is the write loop. It looks only when it is woken: what a hello waits for must not slip out.
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
				c.cannotWrite(err)
				return
			}
			if frames > 0 {
				c.use()
				c.t.count.add("frames.out", "", frames)
			}
			if half, ok := c.nc.(interface{ CloseWrite() error }); ok && last {
				half.CloseWrite() // where there is none the close frame says it alone
			}
			if last {
				return
			}
		}
	}
}

// collect makes the next batch: what the connection itself has to say, what waits in its
// queue, and the close frame, which is the last.
func (c *conn) collect() (batch []byte, frames int, last bool) {
	if c.joined.Load() { // otherwise it takes no lock that the loop of the node waits for
		c.t.mu.Lock()
		defer c.t.mu.Unlock()
		if s := c.session; s.conn == c && s.peer.session == s {
			batch, frames = s.peer.queue.take(c.spare)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hello) == 0 && !c.probe && !c.answer && !c.finishing {
		return batch, frames, false
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
	out = append(out, batch...)
	if c.finishing {
		out = appendControl(out, controlClose, c.reason)
	}
	c.hello, c.probe, c.answer = nil, false, false
	return out, frames, c.finishing
}

// takeQueue makes what is queued for the peer part of what the connection itself has to say: the queue
// ends with the session, which may be before the writer runs. The caller holds Transport.mu.
func (c *conn) takeQueue(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, frames := p.queue.take(nil)
	c.hello = append(c.hello, batch...)
	c.t.count.add("frames.out", "", frames)
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
	if c.ctx.Err() != nil {
		return // it is closed
	}
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
	c.t.pool.park(c)
	c.finish(reason)
	select {
	case <-c.written:
	case <-c.ctx.Done():
		return
	case <-time.After(patience):
		return
	}
	if reason != "" {
		c.nc.SetReadDeadline(time.Now().Add(refuseTime))
		io.CopyN(io.Discard, c.nc, refuseBytes)
	}
}
