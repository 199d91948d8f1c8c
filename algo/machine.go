package algo

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// EventKind says which method of an [Algorithm] an [Event] is for.
type EventKind uint8

// The events, one for each method that changes an [Algorithm].
const (
	EventStart EventKind = iota + 1
	EventReceive
	EventExpire
	EventSuspect
	EventTrust
	EventCampaign
	EventReconfigure
)

var eventNames = [...]string{"none", "start", "receive", "expire", "suspect", "trust", "campaign", "reconfigure"}

func (k EventKind) String() string {
	if int(k) >= len(eventNames) {
		return "event " + strconv.Itoa(int(k))
	}
	return eventNames[k]
}

// Event is a call of an [Algorithm] as data.
type Event struct {
	Kind    EventKind
	Peer    NodeID  // Receive: the sender; Suspect, Trust: about whom
	Message Message // Receive
	Timer   Timer   // Expire
	View    View    // Start, Reconfigure
	Saved   Stable  // Start
}

// Effects are what one [Event] asks of the host, in the order in which they must
// be performed. They are valid until the next Step of the same Machine.
type Effects struct {
	Save     bool // Stable changed and must be durable before anything below
	Stable   Stable
	Timers   []TimerChange
	Watch    bool // Monitor was called
	Monitor  []NodeID
	Sends    []Envelope
	Announce []Leader
	Notes    []Note
	// Refused says why a message was dropped before the algorithm saw it; else empty.
	Refused string
}

// TimerChange arms a timer, or stops it.
type TimerChange struct {
	Timer    Timer
	Stop     bool
	Min, Max time.Duration // from now
}

// Envelope is a message and whom it is for.
type Envelope struct {
	To      NodeID
	Message Message
}

// Note is a remark for traces.
type Note struct {
	Format string
	Args   []any
}

// Machine runs one [Algorithm]: Step is the only switch that joins events to
// methods, and the only place where the contract is enforced. It panics when the
// algorithm breaks it.
type Machine struct {
	self      NodeID
	spec      *Spec
	algorithm Algorithm
	stable    Stable
	announced Leader
	doubted   bool // an epoch within the margin was refused: said again, it is believed
	effects   Effects
}

// NewMachine returns a machine for the node self. Its first event must be a
// start.
func NewMachine(spec *Spec, self NodeID) *Machine {
	return &Machine{self: self, spec: spec, algorithm: spec.New(self)}
}

// Clone returns a machine in the same state that shares nothing that changes.
func (m *Machine) Clone() *Machine {
	clone := *m
	clone.algorithm = m.algorithm.Clone()
	clone.effects = Effects{}
	return &clone
}

// Self is the node that the machine runs for.
func (m *Machine) Self() NodeID { return m.self }

// Spec is what the machine runs.
func (m *Machine) Spec() *Spec { return m.spec }

// Algorithm is what the machine runs, to look at.
func (m *Machine) Algorithm() Algorithm { return m.algorithm }

// Stable is what the algorithm must not forget, as of now.
func (m *Machine) Stable() Stable { return m.stable }

// Leader is what was announced last.
func (m *Machine) Leader() Leader { return m.announced }

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
		if why := m.poisoned(e.Message); why != "" {
			m.effects.Refused = why
			return &m.effects
		}
		m.algorithm.Receive(env, e.Peer, e.Message)
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
	default:
		m.broken("was stepped with " + e.Kind.String())
	}
	m.settle()
	return &m.effects
}

// poisoned says why a message must not reach the algorithm, or nothing.
func (m *Machine) poisoned(msg Message) string {
	numbered, ok := msg.(Numbered)
	if !ok || numbered.Number() <= m.stable.Epoch && numbered.Number() != ^Epoch(0) {
		return ""
	}
	epoch := numbered.Number()
	what := "epoch " + number(epoch) + " is too far ahead of " + number(m.stable.Epoch)
	switch ahead := epoch - m.stable.Epoch; {
	case epoch == ^Epoch(0) || ahead > MaxEpochLead:
		return what
	case ahead <= MaxEpochLead-EpochMargin:
		return ""
	case m.doubted:
		m.doubted = false
		return ""
	}
	m.doubted = true
	return what + " to be believed at once"
}

// settle compares what must be durable with what was, and checks what was
// announced against it.
func (m *Machine) settle() {
	stable := m.algorithm.Stable()
	if stable.Epoch < m.stable.Epoch {
		m.broken("took its epoch back from " + number(m.stable.Epoch) + " to " + number(stable.Epoch))
	}
	if extra := stable.Extra; extra != m.stable.Extra && (len(extra) > MaxExtra || !utf8.ValidString(extra)) {
		m.broken("keeps an Extra of " + strconv.Itoa(len(extra)) + " bytes, want UTF-8 of at most " + strconv.Itoa(MaxExtra))
	}
	m.effects.Save = stable != m.stable
	m.effects.Stable = stable
	m.stable = stable
	for _, l := range m.effects.Announce {
		if l.Epoch > stable.Epoch {
			m.broken("announced a leader in epoch " + number(l.Epoch) + ", but keeps epoch " + number(stable.Epoch))
		}
		if l.Epoch < m.announced.Epoch {
			m.broken("announced a leader in epoch " + number(l.Epoch) + " after one in epoch " + number(m.announced.Epoch))
		}
		m.announced = l
	}
}

func number(e Epoch) string { return strconv.FormatUint(uint64(e), 10) }

func (m *Machine) broken(what string) {
	panic("algo: " + m.spec.Name + " at " + m.self.String() + " " + what)
}

// env is the Machine as its algorithm sees it.
type env Machine

func (e *env) Send(to NodeID, msg Message) {
	m := (*Machine)(e)
	if to == m.self || to.IsZero() {
		m.broken("sent " + msg.Kind() + " to itself or to nobody")
	}
	if !slices.ContainsFunc(m.spec.Messages, func(known Message) bool { return known.Kind() == msg.Kind() }) {
		m.broken("sent " + msg.Kind() + ", which is not among its messages")
	}
	m.effects.Sends = append(m.effects.Sends, Envelope{To: to, Message: msg})
}

func (e *env) SetTimer(t Timer, minimum, maximum time.Duration) {
	if minimum < 0 || maximum < minimum {
		(*Machine)(e).broken("set timer " + string(t) + " to a range that is empty or negative")
	}
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Min: minimum, Max: maximum})
}

func (e *env) StopTimer(t Timer) {
	e.effects.Timers = append(e.effects.Timers, TimerChange{Timer: t, Stop: true})
}

func (e *env) Monitor(peers ...NodeID) {
	m := (*Machine)(e)
	if slices.Contains(peers, m.self) {
		m.broken("monitors itself")
	}
	e.effects.Watch = true
	e.effects.Monitor = append(e.effects.Monitor[:0], peers...)
}

func (e *env) Announce(l Leader) { e.effects.Announce = append(e.effects.Announce, l) }

func (e *env) Note(format string, args ...any) {
	e.effects.Notes = append(e.effects.Notes, Note{Format: format, Args: args})
}
