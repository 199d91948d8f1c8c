// Package driver contains the [Machine], which runs one algorithm. It is for authors of drivers: code
// that feeds events to an algorithm and performs its effects, such as a live node, a simulator or a
// search. Authors of algorithms need only package algo.
//
//	m := driver.NewMachine(&spec, self)
//	effects := m.Step(driver.Event{Kind: driver.EventStart, View: view})
//
// A Machine turns one [Event] into [Effects], and checks them against the contract of package algo. No
// other code does that. The driver performs the effects in order. A Machine performs no I/O and has no
// clock: if the driver performs the effects in a different order, or loses one, the guarantees of the
// algorithm do not hold.
package driver

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// EventKind selects the method of an [algo.Algorithm] that an [Event] calls.
type EventKind uint8

// The kinds of events, one for each method that changes an [algo.Algorithm].
const (
	EventStart EventKind = iota + 1
	EventReceive
	EventExpire
	EventSuspect
	EventTrust
	EventCampaign
	EventReconfigure
	EventWorkReturned // for an algo.LeaseHolder; other algorithms do not receive it
	EventPeerDied     // for an algo.LeaseHolder as well
	EventDrainEnded   // for an algo.LeaseHolder as well
)

var eventNames = [...]string{"none", "start", "receive", "expire", "suspect", "trust", "campaign", "reconfigure", "work-returned", "peer-died", "drain-ended"}

func (k EventKind) String() string {
	if int(k) >= len(eventNames) {
		return "event " + strconv.Itoa(int(k))
	}
	return eventNames[k]
}

// Event is a call of an [algo.Algorithm] as data.
type Event struct {
	Kind    EventKind
	Peer    algo.NodeID    // Receive: the sender; Suspect, Trust, PeerDied: the subject
	Ended   algo.Epoch     // PeerDied: all Lead callbacks up to this epoch have ended; 0 if unknown
	Message algo.Message   // Receive
	Timer   algo.Timer     // Expire
	View    algo.View      // Start, Reconfigure
	Saved   algo.HardState // Start
}

// Effects are the effects of one [Event], in the order in which the driver must perform them. They
// are valid until the next Step of the same Machine.
type Effects struct {
	Save       bool // HardState has changed and must be durable before the effects below
	HardState  algo.HardState
	Timers     []TimerChange
	LeadUntil  algo.Timer // deadline of the leadership; empty if unchanged
	MonitorSet bool       // Monitor has changed
	Monitor    []algo.NodeID
	Sends      []Envelope
	Announce   []algo.Leader
	Notes      []Note
}

// TimerChange arms a timer, or stops it.
type TimerChange struct {
	Timer    algo.Timer
	Stop     bool
	Deadline bool          // it expires before later events: see algo.LeaseEnv.SetDeadline
	Min, Max time.Duration // from now
}

// Envelope is a message and its receiver.
type Envelope struct {
	To      algo.NodeID
	Message algo.Message
}

// Note is an explanation for traces.
type Note struct {
	Format       string
	Args         []any
	Unresponsive algo.NodeID // member that the note reports as unresponsive, or zero
}

// Machine runs one [algo.Algorithm]. It panics with a [*ContractError] if the algorithm violates the
// contract.
type Machine struct {
	self      algo.NodeID
	spec      *algo.Spec
	algorithm algo.Algorithm
	stable    algo.HardState
	announced algo.Leader
	effects   Effects
}

// NewMachine returns a machine for the node self. Its first event must be EventStart.
func NewMachine(spec *algo.Spec, self algo.NodeID) *Machine {
	return &Machine{self: self, spec: spec, algorithm: spec.New(self)}
}

// Clone returns a machine in the same state. It shares no state that changes.
func (m *Machine) Clone() *Machine {
	clone := *m
	clone.algorithm = m.algorithm.Clone()
	clone.effects = Effects{}
	return &clone
}

// Algorithm returns the algorithm that the machine runs, for inspection.
func (m *Machine) Algorithm() algo.Algorithm { return m.algorithm }

// HardState returns the current state that must survive a crash.
func (m *Machine) HardState() algo.HardState { return m.stable }

// Leader returns the last announcement.
func (m *Machine) Leader() algo.Leader { return m.announced }

// Step passes one event to the algorithm and returns its effects.
func (m *Machine) Step(e Event) *Effects {
	m.effects = Effects{
		Timers: m.effects.Timers[:0], Monitor: m.effects.Monitor[:0],
		Sends: m.effects.Sends[:0], Announce: m.effects.Announce[:0], Notes: m.effects.Notes[:0],
	}
	env := (*env)(m)
	switch e.Kind {
	case EventStart:
		m.stable = e.Saved
		m.algorithm.Start(env, e.View, e.Saved)
	case EventReceive:
		message, _ := algo.Unwrap(e.Message)
		m.algorithm.Receive(env, e.Peer, message)
	case EventExpire:
		m.algorithm.Expire(env, e.Timer)
	case EventSuspect:
		m.algorithm.Suspect(env, e.Peer)
	case EventTrust:
		m.algorithm.Trust(env, e.Peer)
	case EventCampaign:
		m.algorithm.Campaign(env)
	case EventReconfigure:
		m.algorithm.Reconfigure(env, e.View)
	case EventWorkReturned, EventPeerDied, EventDrainEnded:
		if holder, ok := m.algorithm.(algo.LeaseHolder); ok {
			stepHolder(holder, env, e)
		}
	default:
		m.violate(algo.Contract, "was stepped with "+e.Kind.String())
	}
	m.checkEffects()
	return &m.effects
}

// stepHolder passes an event to a holder of a lease.
func stepHolder(holder algo.LeaseHolder, env algo.Env, e Event) {
	switch e.Kind {
	case EventWorkReturned:
		holder.WorkReturned(env)
	case EventPeerDied:
		holder.PeerDied(env, e.Peer, e.Ended)
	case EventDrainEnded:
		holder.DrainEnded(env)
	}
}

// checkEffects determines whether HardState must be saved, and checks HardState and the announcements
// against the contract.
func (m *Machine) checkEffects() {
	stable := m.algorithm.HardState()
	if stable.Epoch < m.stable.Epoch {
		m.violate(algo.MonotonicEpochs, "took its epoch back from "+formatEpoch(m.stable.Epoch)+" to "+formatEpoch(stable.Epoch))
	}
	if extra := stable.Extra; extra != m.stable.Extra && (len(extra) > algo.MaxExtra || !utf8.ValidString(extra)) {
		m.violate(algo.Contract, "keeps an Extra of "+strconv.Itoa(len(extra))+" bytes, want UTF-8 of at most "+strconv.Itoa(algo.MaxExtra))
	}
	m.effects.Save = stable != m.stable
	m.effects.HardState = stable
	m.stable = stable
	for _, l := range m.effects.Announce {
		if l.Epoch > stable.Epoch {
			m.violate(algo.Durable, "announced a leader in epoch "+formatEpoch(l.Epoch)+", but keeps epoch "+formatEpoch(stable.Epoch))
		}
		if l.Epoch < m.announced.Epoch {
			m.violate(algo.MonotonicEpochs, "announced a leader in epoch "+formatEpoch(l.Epoch)+" after one in epoch "+formatEpoch(m.announced.Epoch))
		}
		m.announced = l
	}
}

func formatEpoch(e algo.Epoch) string { return strconv.FormatUint(uint64(e), 10) }

func (m *Machine) violate(p algo.Property, did string) {
	panic(&ContractError{Algorithm: m.spec.Name, Node: m.self, Property: p, Action: did})
}

// env is the Machine as the [algo.LeaseEnv] of its algorithm.
type env Machine

func (e *env) Send(to algo.NodeID, msg algo.Message) {
	m := (*Machine)(e)
	if to == m.self || to.IsZero() {
		m.violate(algo.Contract, "sent "+msg.Kind()+" to itself or to the zero ID")
	}
	inner, _ := algo.Unwrap(msg)
	_, twice := algo.Unwrap(inner)
	if twice || !slices.ContainsFunc(m.spec.Messages, func(known algo.Message) bool { return known.Kind() == msg.Kind() }) {
		m.violate(algo.Contract, "sent "+msg.Kind()+", which is not among its messages")
	}
	m.effects.Sends = append(m.effects.Sends, Envelope{To: to, Message: msg})
}

func (e *env) SetTimer(t algo.Timer, minimum, maximum time.Duration) {
	if minimum < 0 || maximum < minimum {
		(*Machine)(e).violate(algo.Contract, "set timer "+string(t)+" to a range that is empty or negative")
	}
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Min: minimum, Max: maximum})
}

func (e *env) SetDeadline(t algo.Timer, d time.Duration) {
	e.SetTimer(t, d, d)
	e.effects.Timers[len(e.effects.Timers)-1].Deadline = true
}

func (e *env) LeadUntil(t algo.Timer) { e.effects.LeadUntil = t }

func (e *env) StopTimer(t algo.Timer) {
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Stop: true})
}

func (e *env) Monitor(peers ...algo.NodeID) {
	m := (*Machine)(e)
	if slices.Contains(peers, m.self) {
		m.violate(algo.Contract, "monitors itself")
	}
	e.effects.MonitorSet = true
	e.effects.Monitor = append(e.effects.Monitor[:0], peers...)
}

func (e *env) Announce(l algo.Leader) { e.effects.Announce = append(e.effects.Announce, l) }

func (e *env) Note(format string, args ...any) {
	note := Note{Format: format, Args: args}
	if format == algo.UnresponsiveFormat {
		note.Unresponsive, _ = args[0].(algo.NodeID)
	}
	e.effects.Notes = append(e.effects.Notes, note)
}
