package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// silence is for how long a peer was not heard of, and for how long it may.
type silence struct {
	// open is since when it is silent, if it was suspected for that, or was silent when it ceased to be
	// watched: until it is heard of again, watched or not, or there is evidence that it is dead. Else never.
	open time.Duration

	timeout  time.Duration // of silence; grows with mistakes
	calm     time.Duration // when the timeout last changed
	gap      time.Duration // the longest silence since then that was none
	last     time.Duration // when a frame came, or could not have come before
	deadline time.Duration // when silence becomes suspicion; never for who is not watched, or suspected
	heardAt  time.Duration // when it was heard of, or looked for in vain, last
	askAt    time.Duration // when others are asked before; never once they were
	by       algo.NodeID   // who hears it while this node does not
	askers   algo.Set      // who wants to know whether this node hears it

	before       time.Duration // what the timeout was when it last grew; 0 if that was taken back
	began, ended time.Duration // the silence that it grew for
	starved      int           // how often it lately stalled for less than its timeout, less twice how often for more
}

// Heard says that a frame of any kind came from a peer.
func (d *Detector) Heard(now time.Duration, id algo.NodeID) {
	d.notice(now)
	p, ok := d.peers[id]
	if !ok {
		return
	}
	if p.connected {
		p.dead = "" // it said goodbye, and has not gone
	}
	d.regret(now, p)
	d.vouch(p)
	if !p.monitored {
		return
	}
	if p.suspected {
		if p.dead != "" {
			return // what was under way when it died
		}
		d.trust(p, "it was heard of")
	} else {
		d.forgive(now, p)
	}
	p.hear(now)
	p.mark(now)
	if p.renewAt <= now+d.timing.Heartbeat {
		d.watch(now, p) // while the loop runs anyway
	}
}

// hear takes that p was heard of.
func (s *silence) hear(now time.Duration) {
	s.patient(now)
	s.heardAt, s.last, s.by = now, now, algo.NodeID{}
}

// patient gives p a whole timeout from now.
func (s *silence) patient(now time.Duration) { s.deadline, s.askAt = now+s.timeout, now+s.timeout*3/4 }

// regret has the timeout of a peer grow that was suspected for its silence and is heard of, or would have been
// had this node not heard from others first that it was. Only silence can have been a mistake of timing, and
// only one that a longer timeout would have borne: not that of a stopped process. The first time it grows by
// half; after that to what would have borne it, and a quarter more.
func (d *Detector) regret(now time.Duration, p *peer) {
	if p.open == never {
		return
	}
	p.before = 0
	if silent := now - p.open; silent >= p.timeout && silent < d.timing.MaxTimeout {
		p.before, p.began, p.ended = p.timeout, p.open, now
		if p.timeout > d.timing.Timeout {
			p.timeout = max(p.timeout, silent*5/6)
		}
		p.timeout = min(p.timeout+p.timeout/2, d.timing.MaxTimeout)
	}
	p.calm, p.gap, p.open = now, 0, never
}

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
	p.calm, p.gap, p.starved = now, 0, p.starved/2
}
