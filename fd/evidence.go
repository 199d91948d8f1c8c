package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// DialResult is how a dial failed.
type DialResult uint8

// The ways in which a dial fails.
const (
	DialRefused DialResult = iota + 1 // no process listens at the address
	DialReset                         // accepted, then closed before the hello: the process is dying, or just starting
	DialTimeout                       // no answer in time, no route, or rejected for another reason
)

// evidence is what connections and dials show about a peer.
type evidence struct {
	deadReason string // reason why the peer is known to have failed; empty if it is not

	connected   bool
	upAt        time.Duration // start of the last connection
	incarnation uint64        // incarnation that was last connected; 0 before the first connection
	dials       int           // since the last connection
	resets      int           // successive dials that were reset
	briefConns  int           // successive short connections to one incarnation
	redialAt    time.Duration
}

// Down records that the connection to a peer has ended. After a graceful end, the detector need not find out whether
// the peer has failed.
func (d *Detector) Down(now time.Duration, id algo.NodeID, graceful bool) {
	p := d.peer(id)
	if now-p.upAt < d.timing.MaxRedial {
		p.briefConns++
	} else {
		p.briefConns = 0
	}
	// Something may end each connection to a live peer. If the detector redialed at once without a limit, both nodes
	// would be busy with nothing else.
	p.connected, p.dials, p.resets, p.renewAt = false, max(0, p.briefConns-instantRedials), 0, never
	p.expiresAt = never // a live subscriber renews on its next connection
	p.noteState(now)
	if !graceful && p.deadReason == "" && !d.timing.TimeoutOnly && p.dials == 0 {
		d.dial(p)
	} else if p.monitored {
		d.redial(now, p)
	}
}

// HandleDialFailure records the failure of a dial to a peer, whether or not the detector requested it.
func (d *Detector) HandleDialFailure(now time.Duration, id algo.NodeID, result DialResult) {
	p := d.peer(id)
	if p.connected {
		return // the peer has dialed this node meanwhile
	}
	if result == DialReset && !d.timing.TimeoutOnly && p.resets < instantRedials {
		p.resets++
		d.dial(p)
		return
	}
	if result != DialReset {
		p.resets = 0
	}
	if result == DialRefused && !d.timing.TimeoutOnly {
		d.out.Changes = append(d.out.Changes, Change{Peer: id, Died: true, Reason: ReasonRefused})
		d.recordEvidence(now, p, ReasonRefused)
	}
	if p.monitored {
		d.redial(now, p)
	}
}

// HandleGoodbye records that a peer stops. The next frame on its connection refutes that: a live peer must not stay
// suspected.
func (d *Detector) HandleGoodbye(now time.Duration, id algo.NodeID) {
	d.recordEvidence(now, d.peer(id), ReasonGoodbye)
}

// recordEvidence records that p has failed, whether or not it is monitored.
func (d *Detector) recordEvidence(now time.Duration, p *peer, reason string) {
	p.deadReason = reason
	p.silentSince = never // a suspicion for silence was true
	if p.monitored && !p.suspected {
		d.suspect(now, p, reason)
	}
	p.noteState(now)
}

func (d *Detector) dial(p *peer) {
	p.dials++
	p.redialAt = never
	d.out.Dials = append(d.out.Dials, p.id)
}

// redial schedules a dial of p. The delay doubles with each failed dial, up to Timing.MaxRedial.
func (d *Detector) redial(now time.Duration, p *peer) {
	wait := d.timing.MinRedial
	for i := 1; i < p.dials && wait < d.timing.MaxRedial; i++ {
		wait *= 2
	}
	p.redialAt = now + min(wait, d.timing.MaxRedial)
}
