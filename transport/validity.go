package transport

import (
	"fmt"
	"time"
)

// What a peer has proved may be valid for a time only, as a certificate is. Its connections end with it: TLS alone
// looks at a certificate once, when a connection is made. A peer that has renewed its certificate meanwhile notices
// nothing, because another connection carries its session on by then.

// checkValid returns why no frame of the peer counts any more, or nil.
func (p Peer) checkValid(now time.Time) error {
	if p.Until.IsZero() || !now.After(p.Until) {
		return nil
	}
	return rejected("expired", fmt.Errorf("the certificate with which this connection was made ended at %s", p.Until.UTC().Format(time.RFC3339)))
}

// renewAt is when this side makes another connection to the peer of c; zero: never.
func (c *conn) renewAt() time.Time {
	at := c.peer.Until.Add(-renewAhead)
	if c.newer || c.peer.Client || c.peer.Until.IsZero() || !c.since.Before(at) {
		return time.Time{}
	}
	return at
}

// nextAt is when c has something to do if no frame comes until then.
func (c *conn) nextAt() time.Time {
	at := c.idleAt()
	if renew := c.renewAt(); !renew.IsZero() && renew.Before(at) {
		at = renew
	}
	if until := c.peer.Until; !until.IsZero() && until.Before(at) {
		at = until.Add(1) // a certificate is valid through its end: see RFC 5280, 4.1.2.5
	}
	return at
}

// act does what nextAt has waited for. Its error ends c.
func (c *conn) act(now time.Time) error {
	if err := c.peer.checkValid(now); err != nil {
		return err
	}
	renew := c.renewAt()
	switch {
	case !now.Before(c.idleAt()):
		c.leave(errIdle)
	case !renew.IsZero() && !now.Before(renew):
		c.newer = true
		c.t.renew(c)
	}
	return nil
}

// renew dials the peer of c, which carries its session. A renewed certificate makes the new connection valid for
// longer. With the same one nothing changes, and both end together.
func (t *Transport) renew(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := c.session.peer
	if p.session == c.session && c.session.conn == c && p.addr != "" {
		t.beginDial(Target{ID: p.id, Addr: p.addr})
	}
}
