package explore

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// MaxNodes bounds the nodes of a search. States grow far too fast to come near it.
const MaxNodes = 8

// phase is the life of a node.
type phase uint8

const (
	unborn phase = iota // never started
	up
	down // crashed
)

// local is all that one node contributes to a state. Locals are never changed once
// made, and there is one for each fingerprint: the states of a search, of which there
// are millions, are made of a few thousand of them.
type local struct {
	node    int
	phase   phase
	machine *driver.Machine // nil unless up; to be cloned before it is stepped
	saved   algo.Stable     // on its disk
	leader  algo.Leader     // announced, while up
	timers  timers
	// Of the peers, as sets: whom the detector watches, whom it suspects, and who did not
	// run while it was watched, unseen: the detector still may find that out, and be right.
	watched, suspected, missed nodes
	// told is the highest epoch announced so far, in earlier lives too. It is kept
	// only for the property algo.EpochsGrow.
	told algo.Epoch

	print    algosim.Fingerprint
	expiries []uint32 // timers that may expire next: the numbers of their names
}

// nodes is a set of nodes.
type nodes uint8

func (s nodes) has(i int) bool      { return s>>i&1 != 0 }
func (s nodes) with(i int) nodes    { return s | 1<<i }
func (s nodes) without(i int) nodes { return s &^ (1 << i) }

func (l *local) leads(id algo.NodeID) bool { return l.phase == up && l.leader.ID == id }

// envelope is a message on its way. Two that are the same count as one.
type envelope struct {
	from, to int
	message  algo.Message
	print    algosim.Fingerprint
}

// What can happen to one node: events, and what is none.
const (
	starts      = driver.EventStart // at first, or after a crash
	receives    = driver.EventReceive
	expires     = driver.EventExpire
	suspects    = driver.EventSuspect
	trusts      = driver.EventTrust
	campaigns   = driver.EventCampaign
	crashes     = driver.EventDied + 1
	missesDeath = driver.EventDied + 2 // a peer that it watches did not run, and does again
)

// outcome is what a happening makes of a node. It depends on the node alone, so it is
// computed once for all states in which the node is the same.
type outcome struct {
	local     uint32
	sends     []uint32 // envelopes
	announces []algo.Leader
	timers    []driver.TimerChange
	epoch     algo.Epoch         // saved after it
	repeats   bool               // it says something again, and nothing else
	broken    *algosim.Violation // the contract, by a panic: nothing else counts
}

// model is what states are made of, nodes, messages and histories, each under a number, and the
// rules of what can happen to them.
type model struct {
	options *Options
	ids     []algo.NodeID
	// What must be remembered of the past: by each node, the highest epoch that it announced;
	// of all, who has announced itself, in which epoch; and whom each has named last. What is not
	// asked for is not remembered: else states would differ that behave alike.
	tracksTold, tracksLed, tracksNamed bool

	locals    []local
	messages  []envelope
	histories []history
	numbers   map[algosim.Fingerprint]uint32 // of all these
	announced map[announcement]announced
	names     []algo.Timer

	outcomes []outcome
	known    map[uint64]uint32   // node and happening → outcome
	breach   []algosim.Violation // of the last apply
}

func newModel(options *Options) *model {
	asked := func(p algo.Property) bool { return slices.Contains(options.Properties, p) }
	m := &model{
		options: options, tracksTold: asked(algo.EpochsGrow), tracksNamed: asked(NodeTokens),
		tracksLed: asked(algo.OneLeaderPerEpoch) || asked(algo.NoPhantom) || asked(ResourceTokens),
		numbers:   map[algosim.Fingerprint]uint32{}, announced: map[announcement]announced{}, known: map[uint64]uint32{},
	}
	for member := range options.View.All() {
		m.ids = append(m.ids, member.ID)
	}
	return m
}

// name is how scenarios call a node.
func (m *model) name(i int) string { return algosim.Name(m.ids[i]) }

func (m *model) index(id algo.NodeID) int { return m.options.View.Index(id) }

// intern returns the number of a local, under which an equal one may be already.
func (m *model) intern(l local) uint32 {
	counts := []any{l.node, l.phase, l.saved, l.told}
	if l.phase == up {
		counts = append(counts, l.watched, l.suspected, l.missed, l.leader, l.timers, l.machine.Algorithm())
	}
	l.print = algosim.FingerprintOf(counts...)
	if number, ok := m.numbers[l.print]; ok {
		return number
	}
	l.expiries = nil
	for _, name := range slices.Sorted(maps.Keys(l.timers.left)) {
		if l.timers.mayExpire(name) {
			l.expiries = append(l.expiries, m.timer(name))
		}
	}
	return number(m, &m.locals, l.print, l)
}

// number returns the number of a value, under which an equal one may be already.
func number[T any](m *model, all *[]T, print algosim.Fingerprint, v T) uint32 {
	n, ok := m.numbers[print]
	if !ok {
		n = uint32(len(*all))
		*all = append(*all, v)
		m.numbers[print] = n
	}
	return n
}

// send returns the number of a message to a member.
func (m *model) send(from int, e driver.Envelope) uint32 {
	to := m.index(e.To)
	message, _ := algo.Open(e.Message) // who gets it cannot tell it from a repeat
	print := algosim.FingerprintOf(from, to, message)
	return number(m, &m.messages, print, envelope{from, to, message, print})
}

// timer returns the number of a timer's name.
func (m *model) timer(name algo.Timer) uint32 {
	i := slices.Index(m.names, name)
	if i < 0 {
		i = len(m.names)
		m.names = append(m.names, name)
	}
	return uint32(i)
}

// outcome returns what becomes of a node. The argument is an envelope, a timer's name
// or a peer.
func (m *model) outcome(number uint32, what driver.EventKind, argument uint32) *outcome {
	key := uint64(number)<<32 | uint64(what)<<28 | uint64(argument)
	if o, ok := m.known[key]; ok {
		return &m.outcomes[o]
	}
	o := m.happen(number, what, argument)
	m.known[key] = uint32(len(m.outcomes))
	m.outcomes = append(m.outcomes, o)
	return &m.outcomes[len(m.outcomes)-1]
}

func (m *model) happen(number uint32, what driver.EventKind, argument uint32) outcome {
	l := m.locals[number] // a copy
	switch what {
	case crashes:
		return outcome{local: m.intern(local{node: l.node, phase: down, saved: l.saved, told: l.told}), epoch: l.saved.Epoch}
	case missesDeath:
		l.missed = l.missed.with(int(argument))
		return outcome{local: m.intern(l), epoch: l.saved.Epoch}
	}
	machine, effects, broken := m.step(&l, m.event(&l, what, argument))
	if broken != nil {
		return outcome{broken: broken}
	}
	switch what {
	case expires:
		l.timers = l.timers.expire(m.names[argument])
	case suspects:
		l.suspected, l.missed = l.suspected.with(int(argument)), l.missed.without(int(argument))
	case trusts:
		l.suspected = l.suspected.without(int(argument))
	}
	o := outcome{announces: slices.Clone(effects.Announce), timers: slices.Clone(effects.Timers)}
	for _, leader := range effects.Announce {
		if leader.Epoch < l.told {
			return outcome{broken: &algosim.Violation{Property: algo.EpochsGrow, What: fmt.Sprintf("%s announced epoch %d before a crash, and now epoch %d", m.name(l.node), l.told, leader.Epoch)}}
		}
		if m.tracksTold {
			l.told = leader.Epoch
		}
	}
	for _, e := range effects.Sends {
		if m.options.View.Contains(e.To) { // else it is lost: there is nobody
			o.sends = append(o.sends, m.send(l.node, e))
		}
	}
	l.timers = l.timers.change(effects.Timers)
	if effects.Watch {
		l.watched = 0
		for _, peer := range effects.Monitor {
			if i := m.index(peer); i >= 0 {
				l.watched = l.watched.with(i)
			}
		}
		l.suspected &= l.watched
		l.missed &= l.watched
	}
	l.phase, l.machine, l.saved, l.leader = up, machine, machine.Stable(), machine.Leader()
	o.local, o.epoch, o.repeats = m.intern(l), l.saved.Epoch, what == expires && repeats(effects.Sends)
	return o
}

// repeats reports whether all that is sent was said before, see [algo.Repeat].
func repeats(sends []driver.Envelope) bool {
	return len(sends) > 0 && !slices.ContainsFunc(sends, func(e driver.Envelope) bool {
		_, repeat := algo.Open(e.Message)
		return !repeat
	})
}

// HasCountedPeriodic reports whether what an algorithm says again may be numbered, as the
// heartbeats of a leader are: a message has a whole number in it that is not an epoch.
// Then no two repeats are the same, and no search ends without a bound of
// Options.PeriodicSends. It bounds nothing for an algorithm that repeats nothing.
func HasCountedPeriodic(spec algo.Spec) bool {
	return slices.ContainsFunc(spec.Messages, func(m algo.Message) bool {
		t := reflect.TypeOf(m)
		if t.Kind() != reflect.Struct {
			return false
		}
		for field := range t.Fields() {
			if f := field.Type; f != reflect.TypeFor[algo.Epoch]() && f.Kind() >= reflect.Int && f.Kind() <= reflect.Uint64 {
				return true
			}
		}
		return false
	})
}

// event is a happening as the algorithm is told of it.
func (m *model) event(l *local, what driver.EventKind, argument uint32) driver.Event {
	e := driver.Event{Kind: what}
	switch what {
	case starts:
		e.View, e.Saved = m.options.View, l.saved
	case receives:
		sent := &m.messages[argument]
		e.Peer, e.Message = m.ids[sent.from], sent.message
	case expires:
		e.Timer = m.names[argument]
	case suspects, trusts:
		e.Peer = m.ids[argument]
	}
	return e
}

// step has a copy of the node's machine take an event. A panic is a breach of the
// contract, and of the property that the contract is about.
func (m *model) step(l *local, e driver.Event) (machine *driver.Machine, effects *driver.Effects, broken *algosim.Violation) {
	defer func() {
		if cause := recover(); cause != nil {
			broken = &algosim.Violation{Property: algo.Contract, What: fmt.Sprint(cause)}
		}
	}()
	if e.Kind == starts {
		machine = driver.NewMachine(&m.options.Spec, m.ids[l.node])
	} else {
		machine = l.machine.Clone()
	}
	effects, broken = algosim.Step(machine, e)
	return machine, effects, broken
}

// bytes is about what it holds in memory.
func (m *model) bytes() int64 {
	return int64(len(m.locals))*1024 + int64(len(m.messages))*256 + int64(len(m.outcomes))*192 + int64(len(m.histories))*128
}
