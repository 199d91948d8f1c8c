package fd

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// The indirect probe of SWIM (Das, Gupta and Motivala 2002): a link may be broken where its ends are well. So
// before this node suspects the leader that it follows for its silence it asks others whether they hear it.
// Who is asked asks the leader in turn, and answers when it hears it itself: a process that does not run answers
// nobody, and nobody passes on what it was told. Each answer counts like a frame of the leader at that time.
//
// It is for the leader alone: others are watched for what they do on the link to them.

// asked is how many others are asked.
const asked = 3

// Follow says whom this node takes for leader; zero for nobody. What others say of the one before counts no more.
func (d *Detector) Follow(now time.Duration, leader algo.NodeID) {
	if p, ok := d.peers[d.leader]; ok && leader != d.leader && !p.by.IsZero() {
		p.by, p.deadline = algo.NodeID{}, max(now, p.last+p.timeout)
		p.mark(now)
	}
	if leader != d.leader {
		d.leader, d.turn = leader, leader
	}
}

// ask asks others about the leader p, in turn in the order of IDs: who was asked last may be silent as well.
func (d *Detector) ask(p *peer) {
	p.askAt = never
	left, at := asked, slices.IndexFunc(d.order, func(o *peer) bool { return o.id.Compare(d.turn) > 0 })
	for _, o := range slices.Concat(d.order[max(0, at):], d.order[:max(0, at)]) {
		if left > 0 && o != p && o.connected && o.dead == "" && !o.suspected {
			left, d.turn = left-1, o.id
			d.send(o, Doubt{Peer: p.id, View: d.view})
		}
	}
}

// answer takes the question of p about another, or about this node itself.
func (d *Detector) answer(p *peer, about algo.NodeID) {
	if about.IsZero() {
		d.send(p, Vouch{View: d.view})
	} else if o, ok := d.peers[about]; ok && o != p && o.connected {
		o.askers.Add(p.id)
		d.send(o, Doubt{View: d.view})
	}
}

// vouch answers who has asked about p, which this node hears.
func (d *Detector) vouch(p *peer) {
	for _, id := range p.askers {
		if o, ok := d.peers[id]; ok && o.connected {
			d.send(o, Vouch{Peer: p.id, View: d.view})
		}
	}
	p.askers = nil
}

// vouched takes that p hears the leader, if this node has asked and does not suspect the leader yet.
func (d *Detector) vouched(now time.Duration, p *peer, leader algo.NodeID) {
	l, ok := d.peers[leader]
	if !ok || leader != d.leader || !l.monitored || l.suspected || l.askAt != never {
		return
	}
	l.patient(now)
	if l.by.IsZero() {
		d.out.Links = append(d.out.Links, Link{Peer: leader, By: p.id})
	}
	l.by = p.id
	l.mark(now)
}
