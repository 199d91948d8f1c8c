package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/trace"
)

const never = time.Duration(math.MaxInt64)

// Engine is one node. It is not safe for concurrent use.
type Engine struct {
	config   Config
	machine  *driver.Machine
	detector Detector
	members  machine
	dynamic  *membership.Dynamic // equal to members, if the algorithm needs a quorum
	static   *membership.Static  // equal to members, if the algorithm needs no quorum
	now      time.Duration       // time of the current call

	running       bool       // the algorithm has been started
	savedState    SavedState // last saved
	unresponsive  map[algo.NodeID]unresponsive
	timers        []timer
	leadershipEnd time.Duration
	timersMade    uint64 // number of timers made so far
	timersBefore  uint64 // number of timers made before the current call

	vacantSince time.Duration // start of the time without a known leader; never while a leader is known
	leadsSince  time.Duration // start of this node's last leadership

	monitored      []algo.NodeID // peers that the algorithm monitors
	monitorSet     []algo.NodeID // peers that the algorithm or the membership monitors
	pendingChanges []fd.Change   // changes of monitored peers that the algorithm does not know yet
	conns          map[algo.NodeID]*connState
	view           algo.View // known to the algorithm and the detector
	digest         uint64    // in the detector's messages
	savedDigest    uint64    // the digest before the current call: a crash does not undo it

	kinds         map[string]string
	counters      map[counter]uint64
	out           Output
	detectorSends []driver.Envelope // sent after the messages of the algorithm
}

// connState is the state of a connection.
type connState struct {
	incarnation uint64
	subscribe   fd.Subscribe // subscription of a peer that is not a member yet
	heldMessage algo.Message // the last message for the algorithm before its start
}

// connState returns the state of peer's connection, or a temporary value if peer is not connected.
func (e *Engine) connState(peer algo.NodeID) *connState { return cmp.Or(e.conns[peer], &connState{}) }

// New returns an engine that continues from the saved records, if there are any.
func New(config Config, saved ...algo.Message) *Engine {
	e := &Engine{
		config:       config,
		machine:      driver.NewMachine(&config.Spec, config.Self.ID),
		detector:     config.Detector,
		conns:        make(map[algo.NodeID]*connState),
		unresponsive: make(map[algo.NodeID]unresponsive),
		kinds:        kinds(config.Spec.Messages),
		savedState:   findSaved(saved, config.Spec.Name),
		counters:     map[counter]uint64{{"sent", "heartbeat"}: 0, {"received", "heartbeat"}: 0, {event: "rejected"}: 0},
	}
	e.makeMembers(saved)
	return e
}

// Start starts the node. The driver must call it first.
func (e *Engine) Start(now time.Duration) *Output {
	e.startCall(now)
	e.vacantSince = now
	e.members.Start(now)
	return e.finishCall(now)
}

// Receive handles a message from a connected peer.
func (e *Engine) Receive(now time.Duration, from algo.NodeID, m algo.Message) *Output {
	e.startCall(now)
	e.receive(now, from, m)
	return e.finishCall(now)
}

func (e *Engine) receive(now time.Duration, from algo.NodeID, said algo.Message) {
	m, _ := algo.Unwrap(said)
	if from.IsZero() || from == e.config.Self.ID {
		e.rejectMessage(now, from, m, errors.New("its sender is this node itself, or has no ID"))
		return
	}
	e.Count("received", said, 1)
	if e.View().Contains(from) {
		e.detector.HandleFrame(now, from)
		e.deliverSuspicions(now) // trust first: an algorithm does not believe a peer that it suspects
	}
	switch {
	case e.members.Receive(now, from, m):
		return
	case !e.View().Contains(from):
		e.handleNonMember(now, from, said)
		return
	}
	switch m := m.(type) {
	case fd.Heartbeat, fd.Subscribe, fd.Probe, fd.ProbeAck:
		digest, why := e.detector.Receive(now, from, m)
		if why != nil {
			e.rejectMessage(now, from, m, why)
			return
		}
		e.members.HandleDigest(now, from, digest)
		if _, beats := m.(fd.Heartbeat); beats && e.running && !slices.Contains(e.monitored, from) {
			e.stepAlgorithm(now, driver.Event{Kind: driver.EventTrust, Peer: from})
		}
	case Goodbye:
		e.detector.HandleGoodbye(now, from)
	default:
		if !e.running {
			e.holdMessage(now, from, said)
			return
		}
		e.handleDigest(now, from, m)
		e.trace(trace.Event{At: now, Kind: trace.Deliver, Peer: from, Message: said})
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventReceive, Peer: from, Message: m})
	}
}

// Wake performs what is due. The driver calls it at Deadline, after it has delivered all waiting messages: at equal
// times, messages precede timers.
func (e *Engine) Wake(now time.Duration) *Output {
	e.startCall(now)
	e.detector.Wake(now)
	e.deliverSuspicions(now) // suspicions first: they may stop a timer that is due as well
	e.members.Wake(now)
	e.advance(now)
	made := e.timersMade // later timers wait for the next Wake: messages come before a timer without a delay
	e.fireTimers(now, func(t timer) bool { return t.seq <= made })
	return e.finishCall(now)
}

// ExpireLease ends the lease of this node. The driver calls it when the lease has expired.
func (e *Engine) ExpireLease(now time.Duration) *Output {
	for i := range e.timers {
		if e.timers[i].isDeadline {
			e.timers[i].at = now
		}
	}
	e.startCall(now)
	return e.finishCall(now)
}

// Deadline returns the time at which Wake is due; false if nothing is.
func (e *Engine) Deadline() (time.Duration, bool) {
	next := min(e.detector.Deadline(), e.members.Deadline())
	for _, t := range e.timers {
		next = min(next, t.at)
	}
	return next, next != never
}

// Up handles a new connection.
func (e *Engine) Up(now time.Duration, p Peer) *Output {
	e.startCall(now)
	if p.ID.IsZero() || p.ID == e.config.Self.ID {
		return e.finishCall(now)
	}
	e.conns[p.ID] = &connState{incarnation: p.Incarnation}
	if e.View().Contains(p.ID) {
		e.detector.Up(now, p.ID, p.Incarnation)
	}
	e.members.Up(now, p)
	return e.finishCall(now)
}

// Down handles the end of a connection. It is graceful if one of the two sides has announced it.
func (e *Engine) Down(now time.Duration, peer algo.NodeID, graceful bool) *Output {
	e.startCall(now)
	delete(e.conns, peer)
	if e.View().Contains(peer) {
		e.detector.Down(now, peer, graceful)
	}
	e.members.Down(now, peer)
	return e.finishCall(now)
}

// HandleDialFailure handles a dial that has failed.
func (e *Engine) HandleDialFailure(now time.Duration, target Target, result fd.DialResult) *Output {
	e.startCall(now)
	if m, ok := e.View().Member(target.ID); ok {
		evidence := result
		if m.Addr != target.Addr {
			evidence = fd.DialTimeout // the member has moved: its old address proves nothing
		}
		e.detector.HandleDialFailure(now, target.ID, evidence)
	}
	states := map[fd.DialResult]membership.SeedState{fd.DialTimeout: membership.SeedSilent, fd.DialRefused: membership.SeedRefused, fd.DialReset: membership.SeedPending}
	e.members.HandleDialFailure(now, target.Addr, states[result])
	return e.finishCall(now)
}

// HandleResolved records the addresses behind a name of the settings. If there are several, each is dialed.
func (e *Engine) HandleResolved(now time.Duration, name string, addrs []string) *Output {
	e.startCall(now)
	e.members.HandleResolved(now, name, addrs)
	return e.finishCall(now)
}

// HandleReached records the node at a dialed address, even if the two nodes were connected before. It may be this
// node itself, under another name. A zero ID stands for a node that has another list of members, and rejects this
// one.
//
// If a member was dialed at an address that now leads to this node, it has moved, and may move back.
func (e *Engine) HandleReached(now time.Duration, addr string, peer algo.NodeID) *Output {
	e.startCall(now)
	if peer.IsZero() {
		e.members.HandleDialFailure(now, addr, membership.SeedRejected)
	} else {
		e.members.HandleReached(now, addr, peer)
	}
	for m := range e.View().All() {
		if m.Addr == addr && peer == e.config.Self.ID && m.ID != peer {
			e.detector.HandleDialFailure(now, m.ID, fd.DialTimeout)
		}
	}
	return e.finishCall(now)
}

// HandleEnd handles the proof that an incarnation of a member has ended, and with it all Lead callbacks of its
// leaderships up to epoch. It reports whether this node could use it: the member must not run again.
func (e *Engine) HandleEnd(now time.Duration, peer algo.NodeID, incarnation uint64, epoch algo.Epoch) (out *Output, used bool) {
	e.startCall(now)
	c := e.connState(peer)
	if used = e.running && e.View().Contains(peer) && peer != e.config.Self.ID && c.incarnation <= incarnation; used {
		e.detector.HandleGoodbye(now, peer)
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventPeerDied, Peer: peer, Ended: epoch})
	}
	return e.finishCall(now), used
}

// Campaign starts an election. It does nothing before the algorithm runs: such a node is not a member yet.
func (e *Engine) Campaign(now time.Duration) *Output {
	e.startCall(now)
	if e.running {
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventCampaign})
	}
	return e.finishCall(now)
}

// HandleWorkReturned records that the Lead callbacks have returned, after the leadership of this node has ended.
func (e *Engine) HandleWorkReturned(now time.Duration) *Output {
	e.startCall(now)
	e.stepAlgorithm(now, driver.Event{Kind: driver.EventWorkReturned})
	return e.finishCall(now)
}

// HandleDrainEnded records that the driver waits no longer for the Lead callbacks of an ended leadership of this node.
func (e *Engine) HandleDrainEnded(now time.Duration) *Output {
	e.startCall(now)
	e.stepAlgorithm(now, driver.Event{Kind: driver.EventDrainEnded})
	return e.finishCall(now)
}

// Stop sends a goodbye to each connected member.
func (e *Engine) Stop(now time.Duration) *Output {
	e.startCall(now)
	for id := range e.View().Others(e.config.Self.ID) {
		if _, connected := e.conns[id]; connected {
			e.send(now, id, Goodbye{})
		}
	}
	return e.finishCall(now)
}

// Heartbeats returns a heartbeat for each subscriber. During a long save, the driver sends them after each heartbeat
// interval, until Timing.MaxTimeout: a slow disk is not a crash. They contain only what is saved already.
func (e *Engine) Heartbeats() (beats []driver.Envelope) {
	for _, peer := range e.detector.Subscribers() {
		beat := fd.Heartbeat{Digest: e.savedDigest}
		e.Count("sent", beat, 1)
		beats = append(beats, driver.Envelope{To: peer, Message: beat})
	}
	return beats
}

// Member is a member as this node sees it.
type Member struct {
	algo.Member
	Standby bool          // ineligible for a while, because it resigned
	State   fd.State      // Alive for this node itself
	Since   time.Duration // start of State
	Timeout time.Duration // silence after which it is suspected, if it is monitored
}

// LeadershipEnd returns the time at which the leadership of this node ends, whatever the driver does; 0 for never.
func (e *Engine) LeadershipEnd() time.Duration { return e.leadershipEnd }

// LeaseHolder returns the algorithm, if it has a lease.
func (e *Engine) LeaseHolder() (algo.LeaseHolder, bool) {
	holder, ok := e.machine.Algorithm().(algo.LeaseHolder)
	return holder, ok
}

// Members returns the members, ordered by ID.
func (e *Engine) Members() []Member {
	var members []Member
	for m := range e.View().All() {
		state, since, timeout := e.detector.State(m.ID)
		if m.ID == e.config.Self.ID {
			state, since = fd.Alive, 0
		}
		members = append(members, Member{Member: m, Standby: e.members.IsStandby(m.ID), State: state, Since: since, Timeout: timeout})
	}
	return members
}

// Leader returns the leader that was announced last; false before the algorithm was started.
func (e *Engine) Leader() (algo.Leader, bool) { return e.machine.Leader(), e.running }

// unresponsive has the notes that a member did not respond in an election, since there was a leader.
type unresponsive struct {
	last  trace.Event
	count uint64
}

// Unresponsive returns the last note that a member did not respond in an election, since there was a leader, and the
// number of these notes.
func (e *Engine) Unresponsive(id algo.NodeID) (last trace.Event, count uint64) {
	notes := e.unresponsive[id]
	return notes.last, notes.count
}

func (e *Engine) startCall(now time.Duration) {
	o := &e.out
	*o = Output{
		Save: o.Save[:0], Dial: o.Dial[:0], Send: o.Send[:0], Rejections: o.Rejections[:0], Leaders: o.Leaders[:0], Elections: o.Elections[:0], BrokenLinks: o.BrokenLinks[:0],
	}
	e.detectorSends = e.detectorSends[:0]
	e.now, e.savedDigest, e.timersBefore = now, e.digest, e.timersMade
	e.fireTimers(now, func(t timer) bool { return t.isDeadline })
}

func (e *Engine) finishCall(now time.Duration) *Output {
	e.deliverSuspicions(now)
	e.advance(now)
	e.save(now)
	e.out.Send = append(e.out.Send, e.detectorSends...)
	e.out.End = e.members.End()
	e.noteVacancy(now)
	for _, c := range e.out.Elections {
		e.counters[counter{"elections", c.Reason}]++
	}
	return &e.out
}

func (e *Engine) send(now time.Duration, to algo.NodeID, m algo.Message) {
	e.trace(trace.Event{At: now, Kind: trace.Send, Peer: to, Message: m})
	e.Count("sent", m, 1)
	if _, beats := m.(fd.Heartbeat); !beats { // such a heartbeat replaces none: the detector keeps its ticks
		e.detector.RecordSend(now, to)
	}
	e.out.Send = append(e.out.Send, driver.Envelope{To: to, Message: m})
}

// ignore drops a message.
func (e *Engine) ignore(now time.Duration, from algo.NodeID, m algo.Message, why error) {
	e.trace(trace.Event{At: now, Kind: trace.Drop, Peer: from, Message: m, Format: "%v", Args: []any{why}})
}

// rejectMessage drops a message, and requests that the driver closes the connection of its sender.
func (e *Engine) rejectMessage(now time.Duration, from algo.NodeID, m algo.Message, why error) {
	e.ignore(now, from, m, why)
	e.counters[counter{event: "rejected"}]++
	e.out.Rejections = append(e.out.Rejections, Rejection{Peer: from, Reason: fmt.Errorf("engine: refused %s: %w", m.Kind(), why)})
}

// save collects all records that have changed in one transaction.
func (e *Engine) save(now time.Duration) {
	stable := e.machine.HardState()
	if k := (SavedState{Epoch: stable.Epoch, Vote: stable.Vote, Extra: stable.Extra, Algorithm: e.config.Spec.Name}); e.running && k != e.savedState {
		e.savedState = k
		e.out.Save = append(e.out.Save, k)
	}
	e.out.Save = append(e.out.Save, e.members.Unsaved()...)
	if len(e.out.Save) > 0 {
		e.trace(trace.Event{At: now, Kind: trace.Save, Epoch: e.savedState.Epoch})
	}
}

func (e *Engine) trace(event trace.Event) {
	if e.config.Trace != nil {
		event.Node = e.config.Self.ID
		e.config.Trace(event)
	}
}
