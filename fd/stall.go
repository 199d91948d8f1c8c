package fd

import (
	"fmt"
	"time"
)

// A process that is stopped, or that has no processor, says nothing and hears nothing. That of this node is
// no silence of others, and that of a peer says nothing about how long its frames take.

// notice returns by how much this node is late for what was due, if that is so much that it did not run. Who
// watches it is told at once, also if the lease ended meanwhile: there may be another leader by now.
func (d *Detector) notice(now time.Duration) (late time.Duration) {
	if late = now - d.next; late <= d.timing.Heartbeat/2 {
		return 0
	}
	if d.next > d.woke { // else it is the same stall: frames that waited come before the Wake
		d.stall, d.woke = min(late, maxWait), now
		for _, p := range d.order {
			if p.leaseEnd != never {
				d.beat(now, p)
			}
		}
	}
	return late
}

// excuse moves the deadlines of all peers by the time that this node did not run.
// That time began before the deadline that it missed, nobody knows when, so a
// peer also gets two intervals to be heard of.
func (d *Detector) excuse(now, late time.Duration) {
	for _, p := range d.order {
		if p.deadline != never {
			p.last = now
			p.deadline = min(max(p.deadline+late, now+2*d.timing.Heartbeat), max(p.deadline, now+p.timeout))
		}
	}
}

// beat sends a Beat to p. That this node did not run is said for as long as a lease lasts.
func (d *Detector) beat(now time.Duration, p *peer) {
	p.beatAt = p.tick(now)
	b := Beat{View: d.view}
	if ago := now - d.woke; d.stall > 0 && ago <= lease*d.timing.Heartbeat {
		b.Stalled, b.Ago = d.stall, ago
	}
	if p.connected {
		d.send(p, b)
	}
}

// beaten takes a Beat of p. If what its process does not account for of the silence for which its timeout
// grew would have been borne without, then it was stopped, not slow: it has its timeout of before. But not
// who stalls for less as well, and more often: that is how it is for want of a processor, and so it goes on.
func (d *Detector) beaten(now time.Duration, p *peer, b Beat) error {
	if b.Stalled < 0 || b.Stalled > maxWait || b.Ago < 0 || b.Ago > maxWait {
		return fmt.Errorf("it did not run for %v until %v ago, want both from 0 to %v", b.Stalled, b.Ago, maxWait)
	}
	ran := now - b.Ago
	silent := max(0, ran-b.Stalled-p.began) + max(0, p.ended-ran)
	switch {
	case b.Stalled == 0:
	case silent < p.before:
		if p.starved < 2 {
			p.timeout = p.before
			if p.deadline != never {
				p.hear(now)
			}
		}
		p.before, p.starved = 0, max(p.starved-2, 0)
	case b.Ago == 0 && b.Stalled < p.timeout: // else it has said so before
		p.starved = min(p.starved+1, 4)
	}
	return nil
}
