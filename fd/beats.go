package fd

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// Beats that come and go, and what is due when: the silence of a peer among it. What else
// is known of a peer stands in fd.go.

// Heard says that a frame of any kind came from a peer.
func (d *Detector) Heard(now time.Duration, id algo.NodeID) {
	p, ok := d.peers[id]
	if ok && p.connected && p.dead == goodbye {
		p.dead = "" // it has not gone
	}
	if !ok || !p.monitored {
		return
	}
	if p.suspected {
		if p.dead != "" {
			return // what was under way when it died
		}
		d.trust(now, p, "it was heard of")
	} else {
		d.forgive(now, p)
	}
	p.hear(now)
	if p.renewAt <= now+d.timing.Heartbeat {
		d.watch(now, p) // while the loop runs anyway
	}
	d.settle()
}

// hear gives p a whole timeout from now.
func (p *peer) hear(now time.Duration) { p.deadline, p.heardAt, p.last = now+p.timeout, now, now }

// forgive has a timeout that grew come back, but not below what the peer still needs:
// else it would be suspected again and again.
func (d *Detector) forgive(now time.Duration, p *peer) {
	p.gap = max(p.gap, now-p.last)
	if now-p.calm <= d.timing.Forgive {
		return
	}
	if excess := p.timeout - max(d.timing.Timeout, p.gap+p.gap/4); excess > 0 {
		p.timeout -= max(excess/4, min(time.Millisecond, excess))
	}
	p.calm, p.gap = now, 0
}

// Sent says that a frame of any kind went to a peer: it replaces a beat.
func (d *Detector) Sent(now time.Duration, id algo.NodeID) {
	if p, ok := d.peers[id]; ok {
		p.sentAt = now
	}
}

// Watched takes a Watch of a peer: beats are due from now on. One that asks for
// nonsense is refused with a reason.
func (d *Detector) Watched(now time.Duration, id algo.NodeID, w Watch) error {
	if w.Interval < minInterval || w.Lease < w.Interval || w.Lease > maxLease {
		return fmt.Errorf("it asks for a beat every %v for %v, want at least %v and at most %v", w.Interval, w.Lease, minInterval, maxLease)
	}
	p := d.peer(id)
	if p.leaseEnd == never || p.every != w.Interval {
		p.sentAt = now
	}
	p.every, p.leaseEnd = w.Interval, now+w.Lease
	d.due(p.beatDue())
	return nil
}

// A peer cannot make us busy, nor keep us so after it is gone.
const (
	minInterval = time.Millisecond
	maxLease    = time.Hour
)

// beatDue is when the next beat to p is due. Beats to all watchers of one
// interval fall on the same ticks, so that the loop wakes once for all of them;
// what was sent less than half an interval before a tick replaces its beat.
func (p *peer) beatDue() time.Duration {
	earliest := p.sentAt + p.every/2
	return (earliest/p.every + 1) * p.every
}

// Wake does what is due.
func (d *Detector) Wake(now time.Duration) {
	if late := now - d.next; late > d.timing.Heartbeat/2 && d.next != never {
		d.excuse(now, late)
	}
	for _, p := range d.order {
		if p.monitored && !p.suspected && p.deadline <= now {
			p.silent = true
			d.suspect(now, p, "no heartbeat for "+p.timeout.String())
		}
		if p.redialAt <= now {
			d.dial(p)
		}
		if p.renewAt <= now {
			d.watch(now, p)
		}
		if p.leaseEnd <= now {
			p.leaseEnd = never
		}
		if p.leaseEnd != never && p.beatDue() <= now {
			p.sentAt = now
			if p.connected {
				d.out.Sends = append(d.out.Sends, algo.Envelope{To: p.id, Message: Beat{View: d.view}})
			}
		}
	}
	for _, p := range d.order {
		if p.monitored && p.heardAt+2*d.timing.Heartbeat <= now {
			p.heardAt = now - d.timing.Heartbeat // look again in an interval
		}
	}
	d.settle()
}

// settle finds the next deadline.
func (d *Detector) settle() {
	d.next = never
	for _, p := range d.order {
		d.due(d.dueFor(p))
	}
}

// dueFor is the earliest of what is due for p. While p is watched and silent it is
// never more than two intervals away: how late that wake comes tells whether this
// node itself ran. While beats arrive in time they wake the loop often enough.
func (d *Detector) dueFor(p *peer) time.Duration {
	next := min(p.redialAt, p.renewAt)
	if p.monitored && !p.suspected {
		next = min(next, p.deadline, p.heardAt+2*d.timing.Heartbeat)
	}
	if p.leaseEnd != never {
		next = min(next, p.leaseEnd, p.beatDue())
	}
	return next
}

// excuse moves the deadlines of all peers by the time that this node did not run.
// That time began before the deadline that it missed, nobody knows when, so a
// peer also gets two intervals to be heard of.
func (d *Detector) excuse(now, late time.Duration) {
	for _, p := range d.order {
		if p.monitored && !p.suspected {
			p.last = now
			p.deadline = min(max(p.deadline+late, now+2*d.timing.Heartbeat), max(p.deadline, now+p.timeout))
		}
	}
}

func (d *Detector) due(at time.Duration) { d.next = min(d.next, at) }

// watch asks p for beats, and again at half the lease.
func (d *Detector) watch(now time.Duration, p *peer) {
	p.renewAt = never
	if !p.connected {
		return
	}
	term := lease * d.timing.Heartbeat
	p.renewAt = now + term/2
	d.due(p.renewAt)
	p.sentAt = now
	d.out.Sends = append(d.out.Sends, algo.Envelope{To: p.id, Message: Watch{Interval: d.timing.Heartbeat, Lease: term, View: d.view}})
}
