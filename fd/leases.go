package fd

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// leases are what this node and a peer have asked of each other: beats.
type leases struct {
	renewAt time.Duration // the Watch we sent

	leaseEnd time.Duration // the Watch it sent
	every    time.Duration
	beatAt   time.Duration // when the next one to it is due
}

// watch asks p for beats, and again at half the lease; who is suspected, at each heartbeat, for it may be
// back at any moment and owe this node nothing any more.
func (d *Detector) watch(now time.Duration, p *peer) {
	p.renewAt = never
	if !p.connected {
		return
	}
	term := lease * d.timing.Heartbeat
	p.renewAt = now + term/2
	if p.suspected {
		p.renewAt = now + d.timing.Heartbeat
	}
	d.Sent(now, p.id)
	d.send(p, Watch{Interval: d.timing.Heartbeat, Lease: term, View: d.view})
}

// watched takes a Watch of p: beats are due from now on.
func (d *Detector) watched(now time.Duration, p *peer, w Watch) error {
	if w.Interval < minInterval || w.Lease < w.Interval || w.Lease > maxWait {
		return fmt.Errorf("it asks for a beat every %v for %v, want at least %v and at most %v", w.Interval, w.Lease, minInterval, maxWait)
	}
	began := p.leaseEnd == never || p.every != w.Interval
	if p.every, p.leaseEnd = w.Interval, now+w.Lease; began {
		p.beatAt = p.tick(now)
	}
	return nil
}

// Watchers returns the connected peers that have asked this node for beats.
func (d *Detector) Watchers() (watchers []algo.NodeID) {
	for _, p := range d.order {
		if p.connected && p.leaseEnd != never {
			watchers = append(watchers, p.id)
		}
	}
	return watchers
}

// minInterval has no peer make this node busy. Nor does one keep it so for longer than maxWait after it is gone.
const minInterval = time.Millisecond

// Sent says that a frame of any kind went to a peer: it replaces a beat, and the next one may be half an interval
// late. So who says something every interval and a bit sends no beats.
func (d *Detector) Sent(now time.Duration, id algo.NodeID) {
	if p, ok := d.peers[id]; ok {
		p.beatAt = now + p.every*3/2
	}
}

// tick is when a beat follows one that is sent now. Those to all watchers of one interval fall on the same
// ticks, so that the loop wakes once for all of them.
func (l *leases) tick(now time.Duration) time.Duration { return (now/l.every + 1) * l.every }
