package fd

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// subscription is the state of the two subscriptions between this node and a peer.
type subscription struct {
	renewAt time.Duration // time to renew this node's subscription at the peer

	expiresAt  time.Duration // end of the peer's subscription at this node
	interval   time.Duration // between two heartbeats to the peer
	nextBeatAt time.Duration // time of the next heartbeat to the peer
}

// subscribe requests heartbeats from p, and schedules the renewal at half the TTL. If p is suspected, the renewal
// follows after one interval: p may have restarted, and know of no subscription.
func (d *Detector) subscribe(now time.Duration, p *peer) {
	p.renewAt = never
	if !p.connected {
		return
	}
	ttl := ttlIntervals * d.timing.Heartbeat
	p.renewAt = now + ttl/2
	if p.suspected {
		p.renewAt = now + d.timing.Heartbeat
	}
	d.RecordSend(now, p.id)
	d.send(p, Subscribe{Interval: d.timing.Heartbeat, TTL: ttl, Digest: d.digest})
}

// handleSubscribe starts or extends the subscription of p.
func (d *Detector) handleSubscribe(now time.Duration, p *peer, m Subscribe) error {
	if m.Interval < minInterval || m.TTL < m.Interval || m.TTL > maxDuration {
		return fmt.Errorf("it asks for a beat every %v for %v, want at least %v and at most %v", m.Interval, m.TTL, minInterval, maxDuration)
	}
	restarts := p.expiresAt == never || p.interval != m.Interval
	if p.interval, p.expiresAt = m.Interval, now+m.TTL; restarts {
		p.nextBeatAt = p.nextBeat(now)
	}
	return nil
}

// Subscribers returns the connected peers that subscribe to the heartbeats of this node.
func (d *Detector) Subscribers() (watchers []algo.NodeID) {
	for _, p := range d.order {
		if p.connected && p.expiresAt != never {
			watchers = append(watchers, p.id)
		}
	}
	return watchers
}

// minInterval limits the heartbeats that a peer can request.
const minInterval = time.Millisecond

// RecordSend records that a frame was sent to a peer. The frame replaces a heartbeat, and the next one may be half an
// interval late. So a node that sends other frames a little less often than each interval sends no heartbeats.
func (d *Detector) RecordSend(now time.Duration, id algo.NodeID) {
	if p, ok := d.peers[id]; ok {
		p.nextBeatAt = now + p.interval*3/2
	}
}

// nextBeat returns the time of the next heartbeat if one is sent now. Heartbeats of one interval fall on the same
// ticks for all subscribers, so that the loop wakes once for all of them.
func (l *subscription) nextBeat(now time.Duration) time.Duration {
	return (now/l.interval + 1) * l.interval
}
