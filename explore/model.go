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

// MaxNodes is the maximum number of nodes of a search. The number of states makes even that many
// impractical.
const MaxNodes = 8

// phase is the phase of life of a node.
type phase uint8

const (
	notStarted phase = iota
	up
	down // crashed
)

// nodeState is the contribution of one node to a state. A nodeState never changes, and there is one
// for each fingerprint: the millions of states of a search consist of a few thousand of them.
type nodeState struct {
	node    int
	phase   phase
	machine *driver.Machine // nil unless up; must be cloned before a step
	saved   algo.HardState  // on its disk
	leader  algo.Leader     // as announced, while up
	timers  timers
	// Sets of peers. A peer in missed was down while the detector monitored it, unnoticed: the
	// detector may still report that, and is right.
	monitored, suspected, missed nodeSet
	// highestAnnounced is the highest epoch announced so far, in all incarnations. It is set only
	// if algo.MonotonicEpochs is requested.
	highestAnnounced algo.Epoch

	fingerprint algosim.Fingerprint
	expiries    []uint32 // names of the timers that may expire next
}

// nodeSet is a set of nodes.
type nodeSet uint8

func (s nodeSet) has(i int) bool        { return s>>i&1 != 0 }
func (s nodeSet) with(i int) nodeSet    { return s | 1<<i }
func (s nodeSet) without(i int) nodeSet { return s &^ (1 << i) }

func (l *nodeState) isLeader(id algo.NodeID) bool { return l.phase == up && l.leader.ID == id }

// envelope is a message in flight. Equal messages count as one.
type envelope struct {
	from, to    int
	message     algo.Message
	fingerprint algosim.Fingerprint
}

// The kinds of actions on one node: events, and three kinds that are no events.
const (
	starts      = driver.EventStart // at first, or after a crash
	receives    = driver.EventReceive
	expires     = driver.EventExpire
	suspects    = driver.EventSuspect
	trusts      = driver.EventTrust
	campaigns   = driver.EventCampaign
	crashes     = driver.EventPeerDied + 1
	missesCrash = driver.EventPeerDied + 2 // a peer that it monitors was down and is up again
	drops       = driver.EventPeerDied + 3 // a message to it is lost; only scenarios have that
)

// outcome is the effect of an action on a node. It depends on the node alone, so it is computed
// once for all states that contain this nodeState.
type outcome struct {
	node       uint32
	sends      []uint32 // messages
	announces  []algo.Leader
	timers     []driver.TimerChange
	epoch      algo.Epoch         // saved after the action
	isPeriodic bool               // it only sends periodic messages
	violation  *algosim.Violation // of the contract; if set, nothing else counts
}

// model holds the node states, messages and histories, each under a number, and the rules of the
// possible actions.
type model struct {
	options *Options
	ids     []algo.NodeID
	// The parts of the past that the requested properties need: the highest epoch that each node
	// has announced, all leaders so far, and the last leader that each node has followed. Other
	// parts are not stored, because they would tell apart states that behave alike.
	tracksAnnounced, tracksLeaders, tracksFollowed bool

	nodes     []nodeState
	messages  []envelope
	histories []history
	numbers   map[algosim.Fingerprint]uint32 // numbers of all these
	announced map[announcement]announceResult
	names     []algo.Timer

	outcomes   []outcome
	known      map[uint64]uint32   // outcome by node and action
	violations []algosim.Violation // of the last apply
}

func newModel(options *Options) *model {
	isRequested := func(p algo.Property) bool { return slices.Contains(options.Properties, p) }
	m := &model{
		options: options, tracksAnnounced: isRequested(algo.MonotonicEpochs), tracksFollowed: isRequested(NodeTokens),
		tracksLeaders: isRequested(algo.OneLeaderPerEpoch) || isRequested(algo.NoPhantom) || isRequested(ResourceTokens),
		numbers:       map[algosim.Fingerprint]uint32{}, announced: map[announcement]announceResult{}, known: map[uint64]uint32{},
	}
	for member := range options.View.All() {
		m.ids = append(m.ids, member.ID)
	}
	return m
}

// name returns the name of a node in scenarios.
func (m *model) name(i int) string { return algosim.Name(m.ids[i]) }

func (m *model) index(id algo.NodeID) int { return m.options.View.Index(id) }

// internNode returns the number of a nodeState. Equal ones share a number.
func (m *model) internNode(l nodeState) uint32 {
	counts := []any{l.node, l.phase, l.saved, l.highestAnnounced}
	if l.phase == up {
		counts = append(counts, l.monitored, l.suspected, l.missed, l.leader, l.timers, l.machine.Algorithm())
	}
	l.fingerprint = algosim.FingerprintOf(counts...)
	if number, ok := m.numbers[l.fingerprint]; ok {
		return number
	}
	l.expiries = nil
	for _, name := range slices.Sorted(maps.Keys(l.timers.remaining)) {
		if l.timers.mayExpire(name) {
			l.expiries = append(l.expiries, m.internTimer(name))
		}
	}
	return intern(m, &m.nodes, l.fingerprint, l)
}

// intern returns the number of a value. Equal values share a number.
func intern[T any](m *model, all *[]T, print algosim.Fingerprint, v T) uint32 {
	n, ok := m.numbers[print]
	if !ok {
		n = uint32(len(*all))
		*all = append(*all, v)
		m.numbers[print] = n
	}
	return n
}

// internMessage returns the number of a message to a member.
func (m *model) internMessage(from int, e driver.Envelope) uint32 {
	to := m.index(e.To)
	message, _ := algo.Unwrap(e.Message) // its receiver cannot tell whether it is periodic
	print := algosim.FingerprintOf(from, to, message)
	return intern(m, &m.messages, print, envelope{from, to, message, print})
}

// internTimer returns the number of a timer's name.
func (m *model) internTimer(name algo.Timer) uint32 {
	i := slices.Index(m.names, name)
	if i < 0 {
		i = len(m.names)
		m.names = append(m.names, name)
	}
	return uint32(i)
}

// outcome returns the outcome of an action on a node. The argument is the number of a message, of a
// timer's name, or of a peer.
func (m *model) outcome(number uint32, kind driver.EventKind, argument uint32) *outcome {
	key := uint64(number)<<32 | uint64(kind)<<28 | uint64(argument)
	if o, ok := m.known[key]; ok {
		return &m.outcomes[o]
	}
	o := m.computeOutcome(number, kind, argument)
	m.known[key] = uint32(len(m.outcomes))
	m.outcomes = append(m.outcomes, o)
	return &m.outcomes[len(m.outcomes)-1]
}

func (m *model) computeOutcome(number uint32, kind driver.EventKind, argument uint32) outcome {
	l := m.nodes[number] // a copy
	switch kind {
	case crashes:
		return outcome{node: m.internNode(nodeState{node: l.node, phase: down, saved: l.saved, highestAnnounced: l.highestAnnounced}), epoch: l.saved.Epoch}
	case missesCrash:
		l.missed = l.missed.with(int(argument))
		return outcome{node: m.internNode(l), epoch: l.saved.Epoch}
	case drops:
		return outcome{node: number, epoch: l.saved.Epoch}
	}
	machine, effects, violation := m.step(&l, m.event(&l, kind, argument))
	if violation != nil {
		return outcome{violation: violation}
	}
	switch kind {
	case expires:
		l.timers = l.timers.expire(m.names[argument])
	case suspects:
		l.suspected, l.missed = l.suspected.with(int(argument)), l.missed.without(int(argument))
	case trusts:
		l.suspected = l.suspected.without(int(argument))
	}
	o := outcome{announces: slices.Clone(effects.Announce), timers: slices.Clone(effects.Timers)}
	for _, leader := range effects.Announce {
		if leader.Epoch < l.highestAnnounced {
			return outcome{violation: &algosim.Violation{Property: algo.MonotonicEpochs, What: fmt.Sprintf("%s announced epoch %d before a crash, and now epoch %d", m.name(l.node), l.highestAnnounced, leader.Epoch)}}
		}
		if m.tracksAnnounced {
			l.highestAnnounced = leader.Epoch
		}
	}
	for _, e := range effects.Sends {
		if m.options.View.Contains(e.To) { // otherwise the message is lost
			o.sends = append(o.sends, m.internMessage(l.node, e))
		}
	}
	l.timers = l.timers.change(effects.Timers)
	if effects.MonitorSet {
		l.monitored = 0
		for _, peer := range effects.Monitor {
			if i := m.index(peer); i >= 0 {
				l.monitored = l.monitored.with(i)
			}
		}
		l.suspected &= l.monitored
		l.missed &= l.monitored
	}
	l.phase, l.machine, l.saved, l.leader = up, machine, machine.HardState(), machine.Leader()
	o.node, o.epoch, o.isPeriodic = m.internNode(l), l.saved.Epoch, kind == expires && areAllPeriodic(effects.Sends)
	return o
}

// areAllPeriodic reports whether there are messages and all are periodic, see [algo.Periodic].
func areAllPeriodic(sends []driver.Envelope) bool {
	return len(sends) > 0 && !slices.ContainsFunc(sends, func(e driver.Envelope) bool {
		_, periodic := algo.Unwrap(e.Message)
		return !periodic
	})
}

// HasCountedPeriodic reports whether the algorithm may count its periodic messages: whether a
// message has an integer field that is no epoch. Then no two periodic messages are equal, and a
// search ends only with a limit of Options.PeriodicSends. For an algorithm without periodic
// messages, that limit has no effect.
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

// event returns the event of an action on l.
func (m *model) event(l *nodeState, kind driver.EventKind, argument uint32) driver.Event {
	e := driver.Event{Kind: kind}
	switch kind {
	case starts:
		e.View, e.Saved = m.options.View, l.saved
	case receives, drops:
		sent := &m.messages[argument]
		e.Peer, e.Message = m.ids[sent.from], sent.message
	case expires:
		e.Timer = m.names[argument]
	case suspects, trusts:
		e.Peer = m.ids[argument]
	}
	return e
}

// step lets a clone of the node's machine handle an event. A panic violates the contract, and the
// property that the contract states.
func (m *model) step(l *nodeState, e driver.Event) (machine *driver.Machine, effects *driver.Effects, violation *algosim.Violation) {
	defer func() {
		if cause := recover(); cause != nil {
			violation = &algosim.Violation{Property: algo.Contract, What: fmt.Sprint(cause)}
		}
	}()
	if e.Kind == starts {
		machine = driver.NewMachine(&m.options.Spec, m.ids[l.node])
	} else {
		machine = l.machine.Clone()
	}
	effects, violation = algosim.Step(machine, e)
	return machine, effects, violation
}

// bytes estimates the memory that the model uses.
func (m *model) bytes() int64 {
	return int64(len(m.nodes))*1024 + int64(len(m.messages))*256 + int64(len(m.outcomes))*192 + int64(len(m.histories))*128
}
