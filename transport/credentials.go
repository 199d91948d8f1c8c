package transport

import (
	"fmt"
	"time"
)

// Credentials are those of this side, and those that it accepts. They may be replaced while connections stand.
type Credentials interface {
	// Version returns a number that changes when the credentials have changed. It is called every few seconds.
	Version() uint64
	// Check returns the reason why a connection could not be made any more as it was made, or nil. The principal is
	// that of Security.
	Check(principal any) error
}

// A connection that was made with replaced credentials ends within a minute of the change. Usually it ends at once: the
// peer is dialed again, and the new connection takes over the session. So the layer above notices nothing. Until
// renewGrace is over, the dial is repeated: the peer may receive its new credentials later. The rest of the minute is
// for two rechecks, because the first may find a file half written, and for a handshake that began before the change.
const (
	recheckInterval = 5 * time.Second
	renewGrace      = 30 * time.Second
	renewSpacing    = 50 * time.Millisecond // between two dials; all handshakes at once would delay heartbeats
	renewSpread     = 2 * time.Second       // for all dials of one recheck; with many, the spacing is shorter
)

// renewals are the connections that a transport has rechecked since the last change of the credentials.
type renewals struct {
	version   uint64
	changedAt time.Time           // zero: never
	valid     map[*conn]bool      // with the present credentials
	invalid   map[*conn]time.Time // times at which they were found
}

// watchCredentials ends connections that were made with credentials that have been replaced since. The version is that
// before the first connection.
func (t *Transport) watchCredentials(version uint64) {
	ticker := time.NewTicker(recheckInterval)
	defer ticker.Stop()
	r := renewals{version: version}
	for {
		select {
		case <-ticker.C:
			t.recheck(&r, time.Now())
		case <-t.ctx.Done():
			return
		}
	}
}

// recheck redials the peers of connections that could not be made any more, and ends those for which renewGrace is
// over. At rest it does nothing.
func (t *Transport) recheck(r *renewals, now time.Time) {
	if version := t.o.Credentials.Version(); version != r.version {
		r.version, r.changedAt, r.valid = version, now, nil
	}
	if now.Sub(r.changedAt) > renewGrace && len(r.invalid) == 0 {
		r.valid = nil
		return
	}
	valid, invalid := make(map[*conn]bool), make(map[*conn]time.Time)
	var redial []*conn
	for _, c := range t.sessionConns() {
		var err error
		if !r.valid[c] {
			err = t.o.Credentials.Check(c.peer.Principal)
		}
		if err == nil {
			valid[c] = true
			continue
		}
		since, known := r.invalid[c]
		if !known {
			since = now
		}
		invalid[c] = since
		if now.Sub(since) >= renewGrace {
			t.endReplaced(c, err)
		} else {
			redial = append(redial, c)
		}
	}
	r.valid, r.invalid = valid, invalid
	t.redial(redial)
}

// sessionConns returns the connections that have a session.
func (t *Transport) sessionConns() (all []*conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.peers {
		if p.session == nil {
			continue
		}
		for _, c := range p.session.conns {
			if c.closeCause() == nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// redial dials the peers of these connections, one after the other.
func (t *Transport) redial(all []*conn) {
	for _, c := range all {
		t.renew(c)
		select {
		case <-time.After(min(renewSpacing, renewSpread/time.Duration(len(all)))):
		case <-t.ctx.Done():
			return
		}
	}
}

// endReplaced rejects the peer of a connection that no other one has taken over.
func (t *Transport) endReplaced(c *conn, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := c.session; s.active == c && s.peer.session == s {
		c.takeQueue(s.peer)
	}
	c.readUntilClosed(rejectedError("old credentials", fmt.Errorf("the credentials with which this connection was made have been replaced: %w", cause)), 0)
}
