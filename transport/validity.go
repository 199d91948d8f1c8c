package transport

import (
	"fmt"
	"time"
)

// A proof, such as a certificate, may be valid only for a time. A connection ends with the validity of the proof,
// because TLS checks a certificate only once. A peer that has renewed its certificate in time does not notice: by
// then another connection carries its session.

// checkValid returns the reason why frames of the peer are no longer accepted, or nil.
func (p Peer) checkValid(now time.Time) error {
	if p.ValidUntil.IsZero() || !now.After(p.ValidUntil) {
		return nil
	}
	return rejectedError("expired", fmt.Errorf("the certificate with which this connection was made ended at %s", p.ValidUntil.UTC().Format(time.RFC3339)))
}

// renewAt returns the time at which this side makes another connection to the peer of c; zero: never.
func (c *conn) renewAt() time.Time {
	at := c.peer.ValidUntil.Add(-renewAhead)
	if c.renewed || c.peer.Client || c.peer.ValidUntil.IsZero() || !c.since.Before(at) {
		return time.Time{}
	}
	return at
}

// nextTimeout returns the time at which handleTimeout must be called, if no frame comes before.
func (c *conn) nextTimeout() time.Time {
	at := c.idleAt()
	if renew := c.renewAt(); !renew.IsZero() && renew.Before(at) {
		at = renew
	}
	if until := c.peer.ValidUntil; !until.IsZero() && until.Before(at) {
		at = until.Add(1) // a certificate is valid through its end: see RFC 5280, 4.1.2.5
	}
	return at
}

// handleTimeout closes an idle connection, or renews a connection with a proof that will expire. Its error ends c.
func (c *conn) handleTimeout(now time.Time) error {
	if err := c.peer.checkValid(now); err != nil {
		return err
	}
	renew := c.renewAt()
	switch {
	case !now.Before(c.idleAt()):
		c.closeGracefully(errIdle)
	case !renew.IsZero() && !now.Before(renew):
		c.renewed = true
		c.t.renew(c)
	}
	return nil
}

// renew dials the peer of c again. If the peer has renewed its certificate, the new connection is valid for longer.
// Otherwise both connections end together.
func (t *Transport) renew(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := c.session.peer
	if p.session == c.session && c.session.active == c && p.addr != "" {
		t.beginDial(Target{ID: p.id, Addr: p.addr})
	}
}
