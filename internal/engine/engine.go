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
	dynamic  *membership.Dynamic // members, if it is one
	static   *membership.Static  // members, if it is one
	now      time.Duration       // of the call that is on

	running bool // the algorithm was started
	kept    Kept // as it is saved
	missed  map[algo.NodeID]trace.Event
	timers  []timer
	until   time.Duration
	made    uint64 // timers made so far
	before  uint64 // timers made before this call

	vacantSince time.Duration // when this node began to know no leader; never if it knows one
	leadsSince  time.Duration // when this node became the leader last

	monitored []algo.NodeID // by the algorithm
	watched   []algo.NodeID // by it, or for the membership
	news      []fd.Change   // of those monitored, yet to be handed to the algorithm
	links     map[algo.NodeID]*link
	view      algo.View // what algorithm and detector know
	digest    uint64    // what the detector shows
	saved     uint64    // the digest before this call: a crash does not take it back

	kinds   map[string]string
	counted map[string]uint64
	out     Output
	control []driver.Envelope // sent after what the algorithm sends
}

// link is a connection.
type link struct {
	incarnation uint64
	watch       fd.Subscribe // of a peer that is no member yet
	early       algo.Message // the last message for the algorithm before that has started
}

// link is the connection to a peer. Of who is not connected nothing is kept.
func (e *Engine) link(peer algo.NodeID) *link { return cmp.Or(e.links[peer], &link{}) }

// New returns an engine that goes on from the records that were saved, if any.
func New(config Config, saved ...algo.Message) *Engine {
	e := &Engine{
		config:   config,
		machine:  driver.NewMachine(&config.Spec, config.Self.ID),
		detector: config.Detector,
		links:    make(map[algo.NodeID]*link),
		missed:   make(map[algo.NodeID]trace.Event),
		kinds:    kinds(config.Spec.Messages),
		kept:     recall(saved, config.Spec.Name),
		counted:  map[string]uint64{"sent.beat": 0, "received.beat": 0, "refused": 0},
	}
	e.makeMembers(saved)
	return e
}

// Start is the first call.
func (e *Engine) Start(now time.Duration) *Output {
	e.begin(now)
	e.vacantSince = now
	e.members.Start(now)
	return e.finish(now)
}

// Receive takes a message from the peer at the other end of a connection.
func (e *Engine) Receive(now time.Duration, from algo.NodeID, m algo.Message) *Output {
	e.begin(now)
	e.receive(now, from, m)
	return e.finish(now)
}

func (e *Engine) receive(now time.Duration, from algo.NodeID, said algo.Message) {
	m, _ := algo.Open(said)
	if from.IsZero() || from == e.config.Self.ID {
		e.refuse(now, from, m, errors.New("its sender is this node itself, or nobody"))
		return
	}
	e.Count("received", said, 1)
	if e.View().Contains(from) {
		e.detector.HandleFrame(now, from)
		e.settle(now) // trust first: an algorithm does not believe whom it suspects
	}
	switch {
	case e.members.Receive(now, from, m):
		return
	case !e.View().Contains(from):
		e.receiveFromNonMember(now, from, said)
		return
	}
	switch m := m.(type) {
	case fd.Heartbeat, fd.Subscribe, fd.Probe, fd.ProbeAck:
		view, why := e.detector.Receive(now, from, m)
		if why != nil {
			e.refuse(now, from, m, why)
			return
		}
		e.members.HandleDigest(now, from, view)
		if _, beats := m.(fd.Heartbeat); beats && e.running && !slices.Contains(e.monitored, from) {
			e.step(now, driver.Event{Kind: driver.EventTrust, Peer: from})
		}
	case Goodbye:
		e.detector.HandleGoodbye(now, from)
	default:
		if !e.running {
			e.keepEarly(now, from, said)
			return
		}
		e.hear(now, from, m)
		e.trace(trace.Event{At: now, Kind: trace.Deliver, Peer: from, Message: said})
		e.step(now, driver.Event{Kind: driver.EventReceive, Peer: from, Message: m})
	}
}

// Wake does what is due. The host calls it when Deadline has come, after it has
// delivered what was waiting: at equal times deliveries come before timers.
func (e *Engine) Wake(now time.Duration) *Output {
	e.begin(now)
	e.detector.Wake(now)
	e.settle(now) // suspicions first: they may stop a timer that is due as well
	e.members.Wake(now)
	e.proceed(now)
	made := e.made // later ones wait for the next Wake: an algorithm that arms one for at once lets messages come in between
	e.elapse(now, func(t timer) bool { return t.made <= made })
	return e.finish(now)
}

// Lapse ends the lease of this node, which the host has found to be over.
func (e *Engine) Lapse(now time.Duration) *Output {
	for i := range e.timers {
		if e.timers[i].deadline {
			e.timers[i].at = now
		}
	}
	e.begin(now)
	return e.finish(now)
}

// Deadline is when Wake is due; false when nothing is.
func (e *Engine) Deadline() (time.Duration, bool) {
	next := min(e.detector.Deadline(), e.members.Deadline())
	for _, t := range e.timers {
		next = min(next, t.at)
	}
	return next, next != never
}

// Up handles a new connection.
func (e *Engine) Up(now time.Duration, p Peer) *Output {
	e.begin(now)
	if p.ID.IsZero() || p.ID == e.config.Self.ID {
		return e.finish(now)
	}
	e.links[p.ID] = &link{incarnation: p.Incarnation}
	if e.View().Contains(p.ID) {
		e.detector.Up(now, p.ID, p.Incarnation)
	}
	e.members.Up(now, p)
	return e.finish(now)
}

// Down says that the connection to a peer ended; politely means that the other
// side, or this one, had said so.
func (e *Engine) Down(now time.Duration, peer algo.NodeID, politely bool) *Output {
	e.begin(now)
	delete(e.links, peer)
	if e.View().Contains(peer) {
		e.detector.Down(now, peer, politely)
	}
	e.members.Down(now, peer)
	return e.finish(now)
}

// DialFailed says how a dial ended that brought no connection.
func (e *Engine) DialFailed(now time.Duration, target Target, fact fd.DialResult) *Output {
	e.begin(now)
	if m, ok := e.View().Member(target.ID); ok {
		about := fact
		if m.Addr != target.Addr {
			about = fd.DialTimeout // it moved meanwhile: who is at its old address says nothing
		}
		e.detector.HandleDialFailure(now, target.ID, about)
	}
	states := map[fd.DialResult]membership.SeedState{fd.DialTimeout: membership.SeedSilent, fd.DialRefused: membership.SeedRefused, fd.DialReset: membership.SeedPending}
	e.members.DialFailed(now, target.Addr, states[fact])
	return e.finish(now)
}

// Resolved says which addresses are behind a name of the configuration. Where there are several
// each is dialled.
func (e *Engine) Resolved(now time.Duration, name string, addrs []string) *Output {
	e.begin(now)
	e.members.HandleResolved(now, name, addrs)
	return e.finish(now)
}

// Reached says who is at an address that was dialled, also if the two were connected before:
// this node itself, under another name; or nobody whom it can be with, one of another list of
// members, if the ID is zero. A member that was dialled at an address of this node's own has
// moved, and may move back.
func (e *Engine) Reached(now time.Duration, addr string, peer algo.NodeID) *Output {
	e.begin(now)
	if peer.IsZero() {
		e.members.DialFailed(now, addr, membership.SeedRejected)
	} else {
		e.members.HandleReached(now, addr, peer)
	}
	for m := range e.View().All() {
		if m.Addr == addr && peer == e.config.Self.ID && m.ID != peer {
			e.detector.HandleDialFailure(now, m.ID, fd.DialTimeout)
		}
	}
	return e.finish(now)
}

// Campaign calls for an election. Any process can. A node that has not been let in
// yet has nobody to elect; it does nothing.
func (e *Engine) Campaign(now time.Duration) *Output {
	e.begin(now)
	if e.running {
		e.step(now, driver.Event{Kind: driver.EventCampaign})
	}
	return e.finish(now)
}

// Returned says that the work of the application has ended, after a leadership of this node has.
func (e *Engine) Returned(now time.Duration) *Output {
	e.begin(now)
	e.step(now, driver.Event{Kind: driver.EventReturned})
	return e.finish(now)
}

// Stop says goodbye to whoever is connected.
func (e *Engine) Stop(now time.Duration) *Output {
	e.begin(now)
	for id := range e.View().Others(e.config.Self.ID) {
		if _, connected := e.links[id]; connected {
			e.send(now, id, Goodbye{})
		}
	}
	return e.finish(now)
}

// Beats returns a heartbeat for each peer that watches this node. The host sends them after each heartbeat interval
// for which a save lasts, up to Timing.MaxTimeout: a slow disk is no crash. They show nothing that is not saved yet.
func (e *Engine) Beats() (beats []driver.Envelope) {
	for _, peer := range e.detector.Subscribers() {
		beat := fd.Heartbeat{Digest: e.saved}
		e.Count("sent", beat, 1)
		beats = append(beats, driver.Envelope{To: peer, Message: beat})
	}
	return beats
}

// Member is one member as this node sees it.
type Member struct {
	algo.Member
	Standby bool          // ineligible for a while because it resigned
	State   fd.State      // Alive for this node itself
	Since   time.Duration // when the state began
	Timeout time.Duration // of its silence, while it is watched
}

// Until is when the leadership of this node ends, whatever its host does; 0 for never.
func (e *Engine) Until() time.Duration { return e.until }

// Lessee is the algorithm, if it has a lease.
func (e *Engine) Lessee() (algo.Lessee, bool) {
	lessee, ok := e.machine.Algorithm().(algo.Lessee)
	return lessee, ok
}

// Members returns the membership in the order of IDs.
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

// Leader is what was announced last; false before the algorithm was started.
func (e *Engine) Leader() (algo.Leader, bool) { return e.machine.Leader(), e.running }

// Missed is the last note that an election misses somebody, since there is no leader; its Number is how often.
func (e *Engine) Missed(id algo.NodeID) trace.Event { return e.missed[id] }

func (e *Engine) begin(now time.Duration) {
	o := &e.out
	*o = Output{
		Save: o.Save[:0], Dial: o.Dial[:0], Send: o.Send[:0], Refuse: o.Refuse[:0], Leaders: o.Leaders[:0], Called: o.Called[:0], Links: o.Links[:0],
	}
	e.control = e.control[:0]
	e.now, e.saved, e.before = now, e.digest, e.made
	e.elapse(now, func(t timer) bool { return t.deadline })
}

func (e *Engine) finish(now time.Duration) *Output {
	e.settle(now)
	e.proceed(now)
	e.save(now)
	e.out.Send = append(e.out.Send, e.control...)
	e.out.End = e.members.End()
	e.noteVacancy(now)
	for _, c := range e.out.Called {
		e.counted["elections."+c.Why]++
	}
	return &e.out
}

func (e *Engine) send(now time.Duration, to algo.NodeID, m algo.Message) {
	e.trace(trace.Event{At: now, Kind: trace.Send, Peer: to, Message: m})
	e.Count("sent", m, 1)
	if _, beats := m.(fd.Heartbeat); !beats { // one that shows a digest replaces none: those of the detector come on their ticks
		e.detector.RecordSend(now, to)
	}
	e.out.Send = append(e.out.Send, driver.Envelope{To: to, Message: m})
}

// ignore drops a message.
func (e *Engine) ignore(now time.Duration, from algo.NodeID, m algo.Message, why error) {
	e.trace(trace.Event{At: now, Kind: trace.Drop, Peer: from, Message: m, Format: "%v", Args: []any{why}})
}

// refuse drops a message and has the connection of its sender closed.
func (e *Engine) refuse(now time.Duration, from algo.NodeID, m algo.Message, why error) {
	e.ignore(now, from, m, why)
	e.counted["refused"]++
	e.out.Refuse = append(e.out.Refuse, Refusal{Peer: from, Reason: fmt.Errorf("engine: refused %s: %w", m.Kind(), why)})
}

// save puts all records that changed into one transaction.
func (e *Engine) save(now time.Duration) {
	stable := e.machine.Stable()
	if k := (Kept{Epoch: stable.Epoch, Vote: stable.Vote, Extra: stable.Extra, Algorithm: e.config.Spec.Name}); e.running && k != e.kept {
		e.kept = k
		e.out.Save = append(e.out.Save, k)
	}
	e.out.Save = append(e.out.Save, e.members.Unsaved()...)
	if len(e.out.Save) > 0 {
		e.trace(trace.Event{At: now, Kind: trace.Save, Epoch: e.kept.Epoch})
	}
}

func (e *Engine) trace(event trace.Event) {
	if e.config.Trace != nil {
		event.Node = e.config.Self.ID
		e.config.Trace(event)
	}
}
