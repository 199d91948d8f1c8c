// Package driver runs an algorithm for a host: a live node, a simulator or a search. An author of algorithms does
// not need it.
//
//	m := driver.NewMachine(&spec, self)
//	effects := m.Step(driver.Event{Kind: driver.EventStart, View: view})
//
// A [Machine] turns one [Event] into [Effects], which the host performs in their order. It is the only place where
// the contract of package algo is enforced.
package driver

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// EventKind says which method of an [algo.Algorithm] an [Event] is for.
type EventKind uint8

// The events, one for each method that changes an [algo.Algorithm].
const (
	EventStart EventKind = iota + 1
	EventReceive
	EventExpire
	EventSuspect
	EventTrust
	EventCampaign
	EventReconfigure
	EventReturned // of a Lessee; others are not told
	EventDied     // the same
)

var eventNames = [...]string{"none", "start", "receive", "expire", "suspect", "trust", "campaign", "reconfigure", "returned", "died"}

func (k EventKind) String() string {
	if int(k) >= len(eventNames) {
		return "event " + strconv.Itoa(int(k))
	}
	return eventNames[k]
}

// Event is a call of an [algo.Algorithm] as data.
type Event struct {
	Kind    EventKind
	Peer    algo.NodeID  // Receive: the sender; Suspect, Trust, Died: about whom
	Message algo.Message // Receive
	Timer   algo.Timer   // Expire
	View    algo.View    // Start, Reconfigure
	Saved   algo.Stable  // Start
}

// Effects are what one [Event] asks of the host, in the order in which they must
// be performed. They are valid until the next Step of the same Machine.
type Effects struct {
	Save     bool // Stable changed and must be durable before anything below
	Stable   algo.Stable
	Timers   []TimerChange
	Bound    algo.Timer // a deadline; empty if it is the one of before
	Watch    bool       // Monitor was called
	Monitor  []algo.NodeID
	Sends    []Envelope
	Announce []algo.Leader
	Notes    []Note
}

// TimerChange arms a timer, or stops it.
type TimerChange struct {
	Timer    algo.Timer
	Stop     bool
	Deadline bool          // it comes before what is later: see algo.LeaseEnv.SetDeadline
	Min, Max time.Duration // from now
}

// Envelope is a message and whom it is for.
type Envelope struct {
	To      algo.NodeID
	Message algo.Message
}

// Note is a remark for traces.
type Note struct {
	Format string
	Args   []any
	Missed algo.NodeID // whom it says to be missed
}

// Machine runs one [algo.Algorithm]: Step is the only switch that joins events to
// methods, and the only place where the contract is enforced. It panics with a
// [*ContractError] when the algorithm breaks it.
type Machine struct {
	self      algo.NodeID
	spec      *algo.Spec
	algorithm algo.Algorithm
	stable    algo.Stable
	announced algo.Leader
	effects   Effects
}

// NewMachine returns a machine for the node self. Its first event must be a
// start.
func NewMachine(spec *algo.Spec, self algo.NodeID) *Machine {
	return &Machine{self: self, spec: spec, algorithm: spec.New(self)}
}

// Clone returns a machine in the same state that shares nothing that changes.
func (m *Machine) Clone() *Machine {
	clone := *m
	clone.algorithm = m.algorithm.Clone()
	clone.effects = Effects{}
	return &clone
}

// Algorithm is what the machine runs, to look at.
func (m *Machine) Algorithm() algo.Algorithm { return m.algorithm }

// Stable is what the algorithm must not forget, as of now.
func (m *Machine) Stable() algo.Stable { return m.stable }

// Leader is what was announced last.
func (m *Machine) Leader() algo.Leader { return m.announced }

// Step hands the algorithm one event and returns what it asks for.
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
		message, _ := algo.Open(e.Message)
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
	case EventReturned, EventDied:
		if lessee, ok := m.algorithm.(algo.Lessee); ok && e.Kind == EventDied {
			lessee.Died(env, e.Peer)
		} else if ok {
			lessee.Returned(env)
		}
	default:
		m.broken(algo.Contract, "was stepped with "+e.Kind.String())
	}
	m.settle()
	return &m.effects
}

// settle compares what must be durable with what was, and checks what was
// announced against it.
func (m *Machine) settle() {
	stable := m.algorithm.Stable()
	if stable.Epoch < m.stable.Epoch {
		m.broken(algo.EpochsGrow, "took its epoch back from "+number(m.stable.Epoch)+" to "+number(stable.Epoch))
	}
	if extra := stable.Extra; extra != m.stable.Extra && (len(extra) > algo.MaxExtra || !utf8.ValidString(extra)) {
		m.broken(algo.Contract, "keeps an Extra of "+strconv.Itoa(len(extra))+" bytes, want UTF-8 of at most "+strconv.Itoa(algo.MaxExtra))
	}
	m.effects.Save = stable != m.stable
	m.effects.Stable = stable
	m.stable = stable
	for _, l := range m.effects.Announce {
		if l.Epoch > stable.Epoch {
			m.broken(algo.Durable, "announced a leader in epoch "+number(l.Epoch)+", but keeps epoch "+number(stable.Epoch))
		}
		if l.Epoch < m.announced.Epoch {
			m.broken(algo.EpochsGrow, "announced a leader in epoch "+number(l.Epoch)+" after one in epoch "+number(m.announced.Epoch))
		}
		m.announced = l
	}
}

func number(e algo.Epoch) string { return strconv.FormatUint(uint64(e), 10) }

func (m *Machine) broken(p algo.Property, did string) {
	panic(&ContractError{Algorithm: m.spec.Name, Node: m.self, Property: p, Did: did})
}

// env is the Machine as its algorithm sees it.
type env Machine

func (e *env) Send(to algo.NodeID, msg algo.Message) {
	m := (*Machine)(e)
	if to == m.self || to.IsZero() {
		m.broken(algo.Contract, "sent "+msg.Kind()+" to itself or to nobody")
	}
	inner, _ := algo.Open(msg)
	_, twice := algo.Open(inner)
	if twice || !slices.ContainsFunc(m.spec.Messages, func(known algo.Message) bool { return known.Kind() == msg.Kind() }) {
		m.broken(algo.Contract, "sent "+msg.Kind()+", which is not among its messages")
	}
	m.effects.Sends = append(m.effects.Sends, Envelope{To: to, Message: msg})
}

func (e *env) SetTimer(t algo.Timer, minimum, maximum time.Duration) {
	if minimum < 0 || maximum < minimum {
		(*Machine)(e).broken(algo.Contract, "set timer "+string(t)+" to a range that is empty or negative")
	}
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Min: minimum, Max: maximum})
}

func (e *env) SetDeadline(t algo.Timer, d time.Duration) {
	e.SetTimer(t, d, d)
	e.effects.Timers[len(e.effects.Timers)-1].Deadline = true
}

func (e *env) Bound(t algo.Timer) { e.effects.Bound = t }

func (e *env) StopTimer(t algo.Timer) {
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Stop: true})
}

func (e *env) Monitor(peers ...algo.NodeID) {
	m := (*Machine)(e)
	if slices.Contains(peers, m.self) {
		m.broken(algo.Contract, "monitors itself")
	}
	e.effects.Watch = true
	e.effects.Monitor = append(e.effects.Monitor[:0], peers...)
}

func (e *env) Announce(l algo.Leader) { e.effects.Announce = append(e.effects.Announce, l) }

func (e *env) Note(format string, args ...any) {
	note := Note{Format: format, Args: args}
	if format == algo.MissFormat {
		note.Missed, _ = args[0].(algo.NodeID)
	}
	e.effects.Notes = append(e.effects.Notes, note)
}
