package fd

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// The indirect probe of SWIM (Das, Gupta and Motivala 2002) detects a broken link between two live nodes. Before this
// node suspects its leader for silence, it asks other peers whether they hear the leader. A peer that is asked probes
// the leader itself, and answers only after it has heard from it. So a leader that does not run gets no answers, and
// no node passes on an answer of another one. Each answer counts like a frame of the leader at that time.
//
// Only the leader is probed. A node monitors its other peers because it needs the link to them.

// indirectProbes is the number of peers that are asked at once.
const indirectProbes = 3

// SetLeader sets the leader that this node follows; zero for none. Probe acks about the previous leader no longer
// count.
func (d *Detector) SetLeader(now time.Duration, leader algo.NodeID) {
	if p, ok := d.peers[d.leader]; ok && leader != d.leader && !p.heardBy.IsZero() {
		p.heardBy, p.deadline = algo.NodeID{}, max(now, p.lastHeard+p.timeout)
		p.noteState(now)
	}
	if leader != d.leader {
		d.leader, d.lastProber = leader, leader
	}
}

// sendProbes asks peers about the leader p. Successive calls ask different peers, in the order of IDs, because those
// asked last may be silent too.
func (d *Detector) sendProbes(p *peer) {
	p.probeAt = never
	remaining, at := indirectProbes, slices.IndexFunc(d.order, func(o *peer) bool { return o.id.Compare(d.lastProber) > 0 })
	for _, o := range slices.Concat(d.order[max(0, at):], d.order[:max(0, at)]) {
		if remaining > 0 && o != p && o.connected && o.deadReason == "" && !o.suspected {
			remaining, d.lastProber = remaining-1, o.id
			d.send(o, Probe{Peer: p.id, Digest: d.digest})
		}
	}
}

// handleProbe handles a probe of p about target, or about this node if target is zero.
func (d *Detector) handleProbe(p *peer, target algo.NodeID) {
	if target.IsZero() {
		d.send(p, ProbeAck{Digest: d.digest})
	} else if o, ok := d.peers[target]; ok && o != p && o.connected {
		o.probers.Add(p.id)
		d.send(o, Probe{Digest: d.digest})
	}
}

// ackProbes tells the peers that have probed p that this node hears it.
func (d *Detector) ackProbes(p *peer) {
	for _, id := range p.probers {
		if o, ok := d.peers[id]; ok && o.connected {
			d.send(o, ProbeAck{Peer: p.id, Digest: d.digest})
		}
	}
	p.probers = nil
}

// handleProbeAck records that p hears the leader. An ack counts only if this node has sent probes, and does not
// suspect the leader yet.
func (d *Detector) handleProbeAck(now time.Duration, p *peer, leader algo.NodeID) {
	l, ok := d.peers[leader]
	if !ok || leader != d.leader || !l.monitored || l.suspected || l.probeAt != never {
		return
	}
	l.resetDeadline(now)
	if l.heardBy.IsZero() {
		d.out.BrokenLinks = append(d.out.BrokenLinks, BrokenLink{Peer: leader, HeardBy: p.id})
	}
	l.heardBy = p.id
	l.noteState(now)
}
