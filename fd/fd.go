// Package fd is a heartbeat failure detector: a pure state machine that takes
// for dead those who are silent, and at once those of whom there is better
// evidence than silence. The leader is silent only when others do not hear it
// either; what one of them says of it is believed. It follows Chandra and Toueg
// (1996): what it says may be wrong, but because a timeout grows after each
// mistake it is eventually right about the living (◇P), as long as delays are
// bounded, and below Timing.MaxTimeout. It does not grow for a process that was
// stopped, and says so in its beats.
//
// Heartbeats come on demand. Monitor states whom this node watches; each of those
// gets a [Watch] with a lease, and pushes a [Beat] every interval while the lease
// lasts. Any frame to a watcher replaces a beat. So the cost of a cluster is the
// number of watched edges, not the number of pairs.
//
// Evidence beats waiting. The kernel of a killed process closes its connections
// at once, so a connection that ends without a word is followed by a dial. If that
// is refused nobody listens there: suspected now, after about a millisecond. If it
// is reset, or ends before a hello, the process may just be dying: dial again. If
// it is answered by the same incarnation nothing happened; by another, the process
// died and came back. If it is not answered at all, silence decides. A peer that
// says goodbye is suspected at once.
//
// A node that itself did not run suspects nobody for it: a [Detector.Wake] that
// comes late moves the deadlines of all peers.
//
// The detector promises nothing under a partition: each side takes the other for
// dead.
package fd

import (
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// never is later than every deadline.
const never = time.Duration(math.MaxInt64)

// State is what a detector knows of a peer.
type State uint8

// The states of a peer.
const (
	Unknown   State = iota // neither watched nor connected
	Connected              // not watched, but a connection stands
	Alive                  // watched, and heard of in time
	Suspected              // silent, or there is evidence that it is dead
	Hearsay                // watched and silent, but others hear it: the link is broken
)

var stateNames = [...]string{"unknown", "connected", "alive", "suspected", "hearsay"}

func (s State) String() string { return stateNames[s] }

// Change says that a monitored peer is suspected from now on, or trusted again; or of any that its process has ended.
type Change struct {
	Peer      algo.NodeID
	Suspected bool
	Died      bool
	Why       string        // as a sentence
	Reason    string        // of a suspicion, or an end, in a word
	Silence   time.Duration // if that is Silence
}

// The reasons of a suspicion.
const (
	Silence  = "silence"
	Refusal  = "refusal" // nobody listens at its address
	Farewell = "goodbye"
	Restart  = "restart" // it is another process than before
)

// Link says that this node does not hear its leader any more, and who does.
type Link struct{ Peer, By algo.NodeID }

// Output is what a detector asks its host for: to send, to dial, and to know.
type Output struct {
	Sends   []driver.Envelope
	Dials   []algo.NodeID
	Changes []Change
	Links   []Link
}

// Detector watches peers for one node. All times are the host's, since a zero of
// its own. It is not safe for concurrent use.
type Detector struct {
	timing algo.Timing
	peers  map[algo.NodeID]*peer
	order  []*peer // by ID: what happens at one time happens in one order
	view   uint64
	leader algo.NodeID   // that this node follows
	turn   algo.NodeID   // who was asked about it last
	stall  time.Duration // for how long this node did not run, last
	woke   time.Duration // when that ended
	next   time.Duration // the Deadline that the host was told
	out    Output
}

// peer is what a detector knows of one other node.
type peer struct {
	id        algo.NodeID
	monitored bool
	suspected bool // only while monitored
	shown     State
	since     time.Duration // when it was shown first

	silence
	evidence
	leases
}

// New returns a detector that watches nobody. Of the timing, which must pass Check, it
// needs all but what is for elections and for the first contact.
func New(timing algo.Timing) *Detector {
	return &Detector{timing: timing, peers: make(map[algo.NodeID]*peer), next: never}
}

// Digest sets what beats and watches say of the node's view.
func (d *Detector) Digest(view uint64) { d.view = view }

// Deadline is when Wake is due. How late the host is for it tells whether this node ran.
func (d *Detector) Deadline() time.Duration {
	d.next = never
	for _, p := range d.order {
		d.next = min(d.next, d.dueFor(p))
	}
	return d.next
}

// Take returns what has been asked for since the last Take. It is valid until the
// next call of any method.
func (d *Detector) Take() Output {
	out := d.out
	d.out = Output{Sends: out.Sends[:0], Dials: out.Dials[:0], Changes: out.Changes[:0], Links: out.Links[:0]}
	return out
}

// State returns what is known of a peer, since when, and after how long a silence it is suspected, if it is watched.
func (d *Detector) State(id algo.NodeID) (state State, since, timeout time.Duration) {
	p, ok := d.peers[id]
	if !ok {
		return Unknown, 0, 0
	}
	if p.monitored {
		timeout = p.timeout
	}
	return p.state(), p.since, timeout
}

func (p *peer) state() State {
	switch {
	case p.suspected || p.dead != "":
		return Suspected
	case !p.by.IsZero():
		return Hearsay
	case p.monitored:
		return Alive
	case p.connected:
		return Connected
	}
	return Unknown
}

// mark notes when the state of p changed.
func (p *peer) mark(now time.Duration) {
	if s := p.state(); s != p.shown {
		p.shown, p.since = s, now
	}
}

// peer returns the entry of id, and makes it when there is none.
func (d *Detector) peer(id algo.NodeID) *peer {
	if p, ok := d.peers[id]; ok {
		return p
	}
	p := &peer{
		id: id, silence: silence{timeout: d.timing.Timeout, deadline: never, open: never},
		evidence: evidence{redialAt: never}, leases: leases{renewAt: never, leaseEnd: never},
	}
	d.peers[id] = p
	at, _ := slices.BinarySearchFunc(d.order, id, func(p *peer, id algo.NodeID) int { return p.id.Compare(id) })
	d.order = slices.Insert(d.order, at, p)
	return p
}

// Forget drops all that is known of a peer: it is no member any more.
func (d *Detector) Forget(id algo.NodeID) {
	if p, ok := d.peers[id]; ok {
		delete(d.peers, id)
		d.order = slices.DeleteFunc(d.order, func(o *peer) bool { return o == p })
		d.unsay(id)
	}
}

// unsay takes back what was not taken yet about a peer that is watched no more: it
// would be taken for news if the peer is watched again.
func (d *Detector) unsay(id algo.NodeID) {
	d.out.Changes = slices.DeleteFunc(d.out.Changes, func(c Change) bool { return c.Peer == id })
}

// Monitor replaces the set of peers that are watched. One that is new and already
// known to be dead is suspected at once.
func (d *Detector) Monitor(now time.Duration, peers []algo.NodeID) {
	for _, p := range d.order {
		if p.monitored && !slices.Contains(peers, p.id) {
			if now-p.last > 2*d.timing.Heartbeat {
				p.open = min(p.open, p.last)
			}
			p.monitored, p.suspected, p.by = false, false, algo.NodeID{}
			p.deadline, p.renewAt, p.redialAt = never, never, never
			p.mark(now)
			d.unsay(p.id)
		}
	}
	for _, id := range peers {
		p := d.peer(id)
		if p.monitored {
			continue
		}
		p.monitored = true
		p.hear(now)
		p.mark(now)
		switch {
		case p.dead != "":
			d.suspect(now, p, p.dead)
			d.redial(now, p)
		case p.connected:
			d.watch(now, p)
		default:
			d.dial(p)
		}
	}
}

// Up says that a connection to a peer stands: it said hello, as incarnation.
func (d *Detector) Up(now time.Duration, id algo.NodeID, incarnation uint64) {
	p := d.peer(id)
	restarted := p.incarnation != 0 && p.incarnation != incarnation
	p.connected, p.upAt, p.incarnation, p.dead = true, now, incarnation, ""
	p.tries, p.redialAt = 0, never
	if restarted {
		d.out.Changes = append(d.out.Changes, Change{Peer: id, Died: true, Reason: Restart})
		p.brief = 0
		p.open = never     // it was dead indeed
		p.leaseEnd = never // the watcher of before is no more
	}
	d.regret(now, p)
	if p.monitored {
		if restarted && !p.suspected {
			d.suspect(now, p, Restart)
		}
		if p.suspected {
			d.trust(p, "it said hello")
		}
		p.hear(now)
		d.watch(now, p)
	}
	p.mark(now)
}

// Receive takes a message of a detector from a peer, and returns what that shows of its view. One that says
// nonsense is refused with a reason.
func (d *Detector) Receive(now time.Duration, id algo.NodeID, m algo.Message) (view uint64, err error) {
	p := d.peer(id)
	switch m := m.(type) {
	case Watch:
		return m.View, d.watched(now, p, m)
	case Beat:
		return m.View, d.beaten(now, p, m)
	case Doubt:
		d.answer(p, m.Peer)
		return m.View, nil
	case Vouch:
		d.vouched(now, p, m.Peer)
		return m.View, nil
	}
	return 0, nil
}

var sentences = map[string]string{Refusal: "its address refuses connections", Farewell: "it said goodbye", Restart: "it was restarted"}

func (d *Detector) suspect(now time.Duration, p *peer, reason string) {
	p.suspected, p.deadline, p.renewAt, p.by = true, never, now+d.timing.Heartbeat, algo.NodeID{}
	p.mark(now)
	c := Change{Peer: p.id, Suspected: true, Why: sentences[reason], Reason: reason}
	if reason == Silence {
		c.Why, c.Silence = "no heartbeat for "+p.timeout.String(), p.timeout
	}
	d.out.Changes = append(d.out.Changes, c)
}

// trust takes a suspicion back of a peer that is heard.
func (d *Detector) trust(p *peer, why string) {
	p.suspected = false
	d.out.Changes = append(d.out.Changes, Change{Peer: p.id, Why: why})
}

// Wake does what is due.
func (d *Detector) Wake(now time.Duration) {
	if late := d.notice(now); late > 0 {
		d.excuse(now, late)
	}
	for _, p := range d.order {
		if p.id == d.leader && p.deadline != never && p.askAt <= now {
			d.ask(p)
		}
		if p.deadline <= now {
			p.open = min(p.open, p.last)
			d.suspect(now, p, Silence)
		}
		if p.redialAt <= now {
			d.dial(p)
		}
		if p.renewAt <= now {
			d.watch(now, p)
		}
		switch {
		case p.leaseEnd <= now:
			p.leaseEnd = never
		case p.leaseEnd != never && p.beatAt <= now:
			d.beat(now, p)
		}
		if p.monitored && p.heardAt+2*d.timing.Heartbeat <= now {
			p.heardAt = now - d.timing.Heartbeat // look again in an interval
		}
	}
}

// dueFor is the earliest of what is due for p. While p is watched and silent it is
// never more than two intervals away: how late that wake comes tells whether this
// node itself ran. While beats arrive in time they wake the loop often enough.
func (d *Detector) dueFor(p *peer) time.Duration {
	next := min(p.redialAt, p.renewAt, p.deadline)
	if p.deadline != never {
		next = min(next, p.heardAt+2*d.timing.Heartbeat)
		if p.id == d.leader {
			next = min(next, p.askAt)
		}
	}
	if p.leaseEnd != never {
		next = min(next, p.leaseEnd, p.beatAt)
	}
	return next
}

// send sends p a message of detectors.
func (d *Detector) send(p *peer, m algo.Message) {
	d.out.Sends = append(d.out.Sends, driver.Envelope{To: p.id, Message: m})
}
