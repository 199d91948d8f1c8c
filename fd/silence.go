package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// silence is for how long a peer was not heard of, and for how long it may.
type silence struct {
	silent bool // suspected for its silence, not by evidence

	timeout  time.Duration // of silence; grows with mistakes
	calm     time.Duration // when the timeout last changed
	gap      time.Duration // the longest silence since then that was none
	last     time.Duration // when a frame came, or could not have come before
	deadline time.Duration // when silence becomes suspicion
	heardAt  time.Duration // when it was heard of, or looked for in vain, last
}

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
func (s *silence) hear(now time.Duration) { s.deadline, s.heardAt, s.last = now+s.timeout, now, now }

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
