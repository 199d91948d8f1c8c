// Package fd is a failure detector: it tells a node which of its peers have failed.
//
//	d := fd.New(timing)
//	d.Monitor(now, []algo.NodeID{leader})
//	d.HandleFrame(now, leader) // a frame has arrived
//	d.Wake(now)                // the time that Deadline returned has come
//	out := d.TakeOutput()      // messages to send, peers to dial, and suspicions
//
// A [Detector] is a pure state machine. Its driver passes frames, connections and the time to it, and performs its
// output.
//
// A peer is suspected when no frame has come from it for a timeout. Evidence of a failure replaces the wait:
//
//   - The kernel of a killed process closes its connections at once. So the detector dials a peer after its connection
//     has ended without a goodbye. If the dial is refused, no process listens there, and the peer is suspected after
//     about 1 ms. If the dial is reset, or ends before a hello, the process may just be dying: the detector dials
//     again.
//   - If a new incarnation of the peer says hello, the previous one has failed.
//   - A peer that says goodbye is suspected at once.
//
// Before the leader is suspected for silence, the detector asks other peers whether they hear it: see [Probe].
//
// Guarantees: the detector is eventually perfect (◇P in Chandra and Toueg 1996) as long as delays are bounded, and
// shorter than Timing.MaxTimeout. A suspicion may be false. Each false suspicion raises the timeout of the peer, so
// that false suspicions end. The timeout is not raised for a stall: a period in which a process did not run.
// Heartbeats report stalls of their sender. A node that has stalled itself waits longer for all peers; see
// [Detector.Wake].
//
// Non-guarantees: under a partition, each side suspects the other.
//
// Cost: heartbeats flow on demand. A node sends [Subscribe] to each peer that it monitors. The peer then sends a
// [Heartbeat] each interval until the subscription ends, and any other frame replaces a heartbeat. So the cost of a
// cluster grows with the number of monitored pairs, not with the number of all pairs.
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

// State is what a detector knows about a peer.
type State uint8

// The states of a peer.
const (
	Unknown   State = iota // neither monitored nor connected
	Connected              // connected, and not monitored
	Alive                  // monitored, and heard from within its timeout
	Suspected              // silent for its timeout, or there is evidence of its failure
	Indirect               // monitored and silent, but other peers hear it: the link to it is broken
)

var stateNames = [...]string{"unknown", "connected", "alive", "suspected", "indirect"}

func (s State) String() string { return stateNames[s] }

// Change reports that a monitored peer is suspected or trusted. If Died is set, it reports instead that an
// incarnation of any peer has ended.
type Change struct {
	Peer        algo.NodeID
	Suspected   bool
	Died        bool
	Explanation string        // a clause with the peer as its subject
	Reason      string        // reason of the suspicion, or of the end of the incarnation
	SilentFor   time.Duration // length of the silence, if that is the reason
}

// The reasons of a suspicion.
const (
	ReasonSilence = "silence"
	ReasonRefused = "refused" // no process listens at the peer's address
	ReasonGoodbye = "goodbye"
	ReasonRestart = "restart" // a new incarnation has said hello
)

// BrokenLink reports that this node does not hear its leader, and names a peer that does.
type BrokenLink struct{ Peer, HeardBy algo.NodeID }

// Output is what the driver must do: send messages, dial peers, and report changes.
type Output struct {
	Sends       []driver.Envelope
	Dials       []algo.NodeID
	Changes     []Change
	BrokenLinks []BrokenLink
}

// Detector monitors the peers of one node. All times count from an arbitrary moment, on the driver's clock. A Detector
// is not safe for concurrent use.
type Detector struct {
	timing      algo.Timing
	peers       map[algo.NodeID]*peer
	order       []*peer       // all peers by ID: those with equal deadlines are handled in this order
	digest      uint64        // digest of the node's config
	leader      algo.NodeID   // leader that this node follows
	lastProber  algo.NodeID   // peer that was last sent a probe about the leader
	stallLength time.Duration // length of this node's last stall
	stallEnd    time.Duration // end of this node's last stall
	nextWake    time.Duration // last result of Deadline
	out         Output
}

// peer is what a detector knows about one other node.
type peer struct {
	id         algo.NodeID
	monitored  bool
	suspected  bool // only while monitored
	lastState  State
	stateSince time.Duration // time at which lastState began

	timeoutState
	evidence
	subscription
}

// New returns a detector that monitors no peer. The timing must pass [Check], which checks the fields that a detector
// uses.
func New(timing algo.Timing) *Detector {
	return &Detector{timing: timing, peers: make(map[algo.NodeID]*peer), nextWake: never}
}

// SetDigest sets the config digest that the detector's messages carry.
func (d *Detector) SetDigest(digest uint64) { d.digest = digest }

// Deadline returns the time at which the driver must call Wake. The detector measures its own stalls by how late that
// call comes.
func (d *Detector) Deadline() time.Duration {
	d.nextWake = never
	for _, p := range d.order {
		d.nextWake = min(d.nextWake, d.nextDeadline(p))
	}
	return d.nextWake
}

// TakeOutput returns the output since its last call. The result is valid until the next call of any method.
func (d *Detector) TakeOutput() Output {
	out := d.out
	if len(out.Sends)+len(out.Dials)+len(out.Changes)+len(out.BrokenLinks) == 0 {
		return Output{}
	}
	d.out = Output{Sends: out.Sends[:0], Dials: out.Dials[:0], Changes: out.Changes[:0], BrokenLinks: out.BrokenLinks[:0]}
	return out
}

// State returns what is known about a peer and since when. If the peer is monitored, timeout is the silence after
// which it is suspected.
func (d *Detector) State(id algo.NodeID) (state State, since, timeout time.Duration) {
	p, ok := d.peers[id]
	if !ok {
		return Unknown, 0, 0
	}
	if p.monitored {
		timeout = p.timeout
	}
	return p.state(), p.stateSince, timeout
}

func (p *peer) state() State {
	switch {
	case p.suspected || p.deadReason != "":
		return Suspected
	case !p.heardBy.IsZero():
		return Indirect
	case p.monitored:
		return Alive
	case p.connected:
		return Connected
	}
	return Unknown
}

// noteState records the time at which p's state changed.
func (p *peer) noteState(now time.Duration) {
	if s := p.state(); s != p.lastState {
		p.lastState, p.stateSince = s, now
	}
}

// peer returns the entry of id, which it creates if there is none.
func (d *Detector) peer(id algo.NodeID) *peer {
	if p, ok := d.peers[id]; ok {
		return p
	}
	p := &peer{
		id: id, timeoutState: timeoutState{timeout: d.timing.Timeout, deadline: never, silentSince: never},
		evidence: evidence{redialAt: never}, subscription: subscription{renewAt: never, expiresAt: never},
	}
	d.peers[id] = p
	at, _ := slices.BinarySearchFunc(d.order, id, func(p *peer, id algo.NodeID) int { return p.id.Compare(id) })
	d.order = slices.Insert(d.order, at, p)
	return p
}

// Forget drops the state of a peer that is no longer a member.
func (d *Detector) Forget(id algo.NodeID) {
	if p, ok := d.peers[id]; ok {
		delete(d.peers, id)
		d.order = slices.DeleteFunc(d.order, func(o *peer) bool { return o == p })
		d.dropPendingChange(id)
	}
}

// dropPendingChange removes the changes of a peer that the driver has not taken yet. Otherwise the driver would receive
// an old change if the peer were monitored again.
func (d *Detector) dropPendingChange(id algo.NodeID) {
	d.out.Changes = slices.DeleteFunc(d.out.Changes, func(c Change) bool { return c.Peer == id })
}

// Monitor replaces the set of monitored peers. A newly monitored peer is suspected at once if there is evidence of its
// failure.
func (d *Detector) Monitor(now time.Duration, peers []algo.NodeID) {
	for _, p := range d.order {
		if p.monitored && !slices.Contains(peers, p.id) {
			if now-p.lastHeard > 2*d.timing.Heartbeat {
				p.silentSince = min(p.silentSince, p.lastHeard)
			}
			p.monitored, p.suspected, p.heardBy = false, false, algo.NodeID{}
			p.deadline, p.renewAt, p.redialAt = never, never, never
			p.noteState(now)
			d.dropPendingChange(p.id)
		}
	}
	for _, id := range peers {
		p := d.peer(id)
		if p.monitored {
			continue
		}
		p.monitored = true
		p.recordHeard(now)
		p.noteState(now)
		switch {
		case p.deadReason != "":
			d.suspect(now, p, p.deadReason)
			d.redial(now, p)
		case p.connected:
			d.subscribe(now, p)
		default:
			d.dial(p)
		}
	}
}

// Up records a new connection to a peer, over which incarnation has said hello.
func (d *Detector) Up(now time.Duration, id algo.NodeID, incarnation uint64) {
	p := d.peer(id)
	restarted := p.incarnation != 0 && p.incarnation != incarnation
	p.connected, p.upAt, p.incarnation, p.deadReason = true, now, incarnation, ""
	p.dials, p.redialAt = 0, never
	if restarted {
		d.out.Changes = append(d.out.Changes, Change{Peer: id, Died: true, Reason: ReasonRestart})
		p.briefConns = 0
		p.silentSince = never // the previous incarnation was silent because it had failed
		p.expiresAt = never   // the subscriber has ended
	}
	d.raiseTimeout(now, p)
	if p.monitored {
		if restarted && !p.suspected {
			d.suspect(now, p, ReasonRestart)
		}
		if p.suspected {
			d.trust(p, "it said hello")
		}
		p.recordHeard(now)
		d.subscribe(now, p)
	}
	p.noteState(now)
}

// Receive handles a message of the detector, and returns the config digest that it carries. It returns an error if
// the message is invalid.
func (d *Detector) Receive(now time.Duration, id algo.NodeID, m algo.Message) (digest uint64, err error) {
	p := d.peer(id)
	switch m := m.(type) {
	case Subscribe:
		return m.Digest, d.handleSubscribe(now, p, m)
	case Heartbeat:
		return m.Digest, d.handleHeartbeat(now, p, m)
	case Probe:
		d.handleProbe(p, m.Peer)
		return m.Digest, nil
	case ProbeAck:
		d.handleProbeAck(now, p, m.Peer)
		return m.Digest, nil
	}
	return 0, nil
}

var explanations = map[string]string{ReasonRefused: "its address refuses connections", ReasonGoodbye: "it said goodbye", ReasonRestart: "it was restarted"}

func (d *Detector) suspect(now time.Duration, p *peer, reason string) {
	p.suspected, p.deadline, p.renewAt, p.heardBy = true, never, now+d.timing.Heartbeat, algo.NodeID{}
	p.noteState(now)
	c := Change{Peer: p.id, Suspected: true, Explanation: explanations[reason], Reason: reason}
	if reason == ReasonSilence {
		c.Explanation, c.SilentFor = "no heartbeat for "+p.timeout.String(), p.timeout
	}
	d.out.Changes = append(d.out.Changes, c)
}

// trust withdraws the suspicion of p.
func (d *Detector) trust(p *peer, explanation string) {
	p.suspected = false
	d.out.Changes = append(d.out.Changes, Change{Peer: p.id, Explanation: explanation})
}

// Wake performs what is due. If it is called late, this node has stalled, and each peer gets more time; see
// extendDeadlines.
func (d *Detector) Wake(now time.Duration) {
	if late := d.detectStall(now); late > 0 {
		d.extendDeadlines(now, late)
	}
	for _, p := range d.order {
		if p.id == d.leader && p.deadline != never && p.probeAt <= now {
			d.sendProbes(p)
		}
		if p.deadline <= now {
			p.silentSince = min(p.silentSince, p.lastHeard)
			d.suspect(now, p, ReasonSilence)
		}
		if p.redialAt <= now {
			d.dial(p)
		}
		if p.renewAt <= now {
			d.subscribe(now, p)
		}
		switch {
		case p.expiresAt <= now:
			p.expiresAt = never
		case p.expiresAt != never && p.nextBeatAt <= now:
			d.sendHeartbeat(now, p)
		}
		if p.monitored && p.checkedAt+2*d.timing.Heartbeat <= now {
			p.checkedAt = now - d.timing.Heartbeat // check again in an interval
		}
	}
}

// nextDeadline returns the earliest time at which something is due for p. While p is monitored and silent, that is at
// most two intervals away, so that a late wake reveals a stall of this node. While heartbeats arrive in time, they
// wake the loop often enough.
func (d *Detector) nextDeadline(p *peer) time.Duration {
	next := min(p.redialAt, p.renewAt, p.deadline)
	if p.deadline != never {
		next = min(next, p.checkedAt+2*d.timing.Heartbeat)
		if p.id == d.leader {
			next = min(next, p.probeAt)
		}
	}
	if p.expiresAt != never {
		next = min(next, p.expiresAt, p.nextBeatAt)
	}
	return next
}

func (d *Detector) send(p *peer, m algo.Message) {
	d.out.Sends = append(d.out.Sends, driver.Envelope{To: p.id, Message: m})
}
