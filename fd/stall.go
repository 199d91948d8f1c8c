package fd

import (
	"fmt"
	"time"
)

// A process that is stopped, or gets no processor, neither sends nor receives. A stall of this node must not look
// like silence of its peers. A stall of a peer must not look like slow delivery of its frames.

// detectStall returns how late this node is, if that is so much that it did not run; otherwise 0. After a stall it
// sends a heartbeat to each subscriber at once, even if the subscription has ended meanwhile: the cluster may have
// elected another leader.
func (d *Detector) detectStall(now time.Duration) (late time.Duration) {
	if late = now - d.nextWake; late <= d.timing.Heartbeat/2 {
		return 0
	}
	if d.nextWake > d.stallEnd { // not the same stall again: frames that waited are handled before Wake
		d.stallLength, d.stallEnd = min(late, maxDuration), now
		for _, p := range d.order {
			if p.expiresAt != never {
				d.sendHeartbeat(now, p)
			}
		}
	}
	return late
}

// extendDeadlines extends the deadlines of all peers by the time that this node did not run. The stall began at an
// unknown time before the deadline that it missed. So each peer also gets two intervals from now.
func (d *Detector) extendDeadlines(now, late time.Duration) {
	for _, p := range d.order {
		if p.deadline != never {
			p.lastHeard = now
			p.deadline = min(max(p.deadline+late, now+2*d.timing.Heartbeat), max(p.deadline, now+p.timeout))
		}
	}
}

// sendHeartbeat sends a Heartbeat to p. It reports a stall of this node for as long as a subscription lasts.
func (d *Detector) sendHeartbeat(now time.Duration, p *peer) {
	p.nextBeatAt = p.nextBeat(now)
	m := Heartbeat{Digest: d.digest}
	if ago := now - d.stallEnd; d.stallLength > 0 && ago <= ttlIntervals*d.timing.Heartbeat {
		m.Stalled, m.StalledAgo = d.stallLength, ago
	}
	if p.connected {
		d.send(p, m)
	}
}

// handleHeartbeat handles a Heartbeat of p, which may explain the silence that raised p's timeout. If the rest of
// that silence, without the stall, is shorter than the previous timeout, then p was stopped, not slow, and the
// previous timeout is restored. The exception is a peer that has also stalled often for less than its timeout: it
// lacks processor time, and will be slow again.
func (d *Detector) handleHeartbeat(now time.Duration, p *peer, m Heartbeat) error {
	if m.Stalled < 0 || m.Stalled > maxDuration || m.StalledAgo < 0 || m.StalledAgo > maxDuration {
		return fmt.Errorf("it did not run for %v until %v ago, want both from 0 to %v", m.Stalled, m.StalledAgo, maxDuration)
	}
	stallEnd := now - m.StalledAgo
	unexplained := max(0, stallEnd-m.Stalled-p.silenceStart) + max(0, p.silenceEnd-stallEnd)
	switch {
	case m.Stalled == 0:
	case unexplained < p.previousTimeout:
		if p.shortStalls < 2 {
			p.timeout = p.previousTimeout
			if p.deadline != never {
				p.recordHeard(now)
			}
		}
		p.previousTimeout, p.shortStalls = 0, max(p.shortStalls-2, 0)
	case m.StalledAgo == 0 && m.Stalled < p.timeout: // other heartbeats report a stall that is known already
		p.shortStalls = min(p.shortStalls+1, 4)
	}
	return nil
}
