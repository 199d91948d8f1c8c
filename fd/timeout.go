package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// timeoutState is how long a peer has been silent, and how long it may be.
type timeoutState struct {
	// silentSince is the start of the peer's silence. It is set if the peer was suspected for silence, or was silent
	// when monitoring ended. It is never if the peer has since been heard from, or has been shown to have failed.
	silentSince time.Duration

	timeout    time.Duration // silence after which the peer is suspected; grows with false suspicions
	changedAt  time.Duration // time at which timeout last changed
	longestGap time.Duration // longest silence since then that was no failure
	lastHeard  time.Duration // time of the last frame, or the end of the last stall of this node
	deadline   time.Duration // time at which the peer is suspected; never if it is not monitored, or suspected already
	checkedAt  time.Duration // time of the last frame, or of the last check for one
	probeAt    time.Duration // time at which other peers are asked about this one; never after that
	heardBy    algo.NodeID   // peer that hears this one while this node does not
	probers    algo.Set      // peers that wait for an ack from this node about this one

	previousTimeout          time.Duration // timeout before it last grew; 0 if the growth was undone
	silenceStart, silenceEnd time.Duration // start and end of the silence after which timeout last grew
	shortStalls              int           // recent stalls shorter than timeout, minus twice the longer ones
}

// HandleFrame records that a frame of any kind came from a peer.
func (d *Detector) HandleFrame(now time.Duration, id algo.NodeID) {
	d.detectStall(now)
	p, ok := d.peers[id]
	if !ok {
		return
	}
	if p.connected {
		p.deadReason = "" // the peer said goodbye, and still runs
	}
	d.raiseTimeout(now, p)
	d.ackProbes(p)
	if !p.monitored {
		return // a frame that was sent before the failure
	}
	if p.suspected {
		if p.deadReason != "" {
			return // the frame was sent before the peer failed
		}
		d.trust(p, "it was heard of")
	} else {
		d.decayTimeout(now, p)
	}
	p.recordHeard(now)
	p.noteState(now)
	if p.renewAt <= now+d.timing.Heartbeat {
		d.subscribe(now, p) // ahead of time, because the loop runs anyway
	}
}

// recordHeard records that the peer was heard from.
func (s *timeoutState) recordHeard(now time.Duration) {
	s.resetDeadline(now)
	s.checkedAt, s.lastHeard, s.heardBy = now, now, algo.NodeID{}
}

// resetDeadline gives the peer a whole timeout from now.
func (s *timeoutState) resetDeadline(now time.Duration) {
	s.deadline, s.probeAt = now+s.timeout, now+s.timeout*3/4
}

// raiseTimeout increases p's timeout after a false suspicion. It also does so if this node would have suspected p,
// but stopped monitoring it because other peers suspected it first. A silence as long as MaxTimeout does not count:
// no timeout would have been long enough, so p was probably stopped. The first increase is by half. Later ones
// are by half as well, or to a quarter more than the silence, if that is more.
func (d *Detector) raiseTimeout(now time.Duration, p *peer) {
	if p.silentSince == never {
		return
	}
	p.previousTimeout = 0
	if silent := now - p.silentSince; silent >= p.timeout && silent < d.timing.MaxTimeout {
		p.previousTimeout, p.silenceStart, p.silenceEnd = p.timeout, p.silentSince, now
		if p.timeout > d.timing.Timeout {
			p.timeout = max(p.timeout, silent*5/6)
		}
		p.timeout = min(p.timeout+p.timeout/2, d.timing.MaxTimeout)
	}
	p.changedAt, p.longestGap, p.silentSince = now, 0, never
}

// decayTimeout lowers a raised timeout step by step, but not below a quarter more than the longest recent gap:
// otherwise p would be suspected again and again.
func (d *Detector) decayTimeout(now time.Duration, p *peer) {
	p.longestGap = max(p.longestGap, now-p.lastHeard)
	if now-p.changedAt <= d.timing.TimeoutDecay {
		return
	}
	if excess := p.timeout - max(d.timing.Timeout, p.longestGap+p.longestGap/4); excess > 0 {
		p.timeout -= max(excess/4, min(time.Millisecond, excess))
	}
	p.changedAt, p.longestGap, p.shortStalls = now, 0, p.shortStalls/2
}
