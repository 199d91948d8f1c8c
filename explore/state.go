package explore

import (
	"slices"

	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// state is one state of the cluster. It is small, for there are many: it says by
// number what stands in the model.
type state struct {
	locals  [MaxNodes]uint32
	network []uint32 // envelopes, sorted, each once
	history uint32
	spent   [budgets]uint8
	print   algosim.Fingerprint
}

// action is what leads from a state to the next.
type action struct {
	what     driver.EventKind
	node     uint8
	mistaken bool // suspects: wrongly
	argument uint32
}

// initial is the state before anything has happened: nobody has started.
func (m *model) initial() state {
	var s state
	for i := range m.ids {
		s.locals[i] = m.intern(local{node: i, phase: unborn})
		s.print = s.print.Plus(m.locals[s.locals[i]].print)
	}
	s.history = m.history(history{})
	s.print = s.print.Plus(m.histories[s.history].print)
	return s
}

// actions appends what can happen in a state, always in the same order.
//
// Not among it is what leads nowhere new. To lose a message is never to deliver it: what
// can happen after a loss can happen without one, because no rule waits for the network to
// be empty; and agreement is asked for as if all were lost. A crash between the save of a
// step and its sends, or in the middle of them, leaves the same disk and fewer messages than
// a crash right after the step: it is one, and a loss. What the step announced was not heard
// then, but forgetting it would only hide what is broken. A crash before the save is a crash
// before the step.
func (m *model) actions(s *state, all []action) []action {
	var alive nodes
	for i := range m.ids {
		if m.locals[s.locals[i]].phase == up {
			alive = alive.with(i)
		}
	}
	for i := range m.ids {
		l, node := &m.locals[s.locals[i]], uint8(i)
		if l.phase != up {
			all = append(all, action{what: starts, node: node})
			continue
		}
		for _, timer := range l.expiries {
			all = append(all, action{what: expires, node: node, argument: timer})
		}
		for peer := range m.ids {
			beats := peer != i && m.locals[s.locals[peer]].leads(m.ids[peer]) // also who follows it no more
			switch {
			case l.suspected.has(peer) && alive.has(peer), !l.watched.has(peer) && beats:
				all = append(all, action{what: trusts, node: node, argument: uint32(peer)})
			case !l.watched.has(peer), l.suspected.has(peer):
			case !alive.has(peer) || l.missed.has(peer):
				all = append(all, action{what: suspects, node: node, argument: uint32(peer)})
			case int(s.spent[mistakes]) < m.options.FalseSuspicions:
				all = append(all, action{what: suspects, node: node, argument: uint32(peer), mistaken: true})
			}
		}
		if int(s.spent[calls]) < m.options.Campaigns {
			all = append(all, action{what: campaigns, node: node})
		}
		if int(s.spent[kills]) < m.options.Crashes {
			all = append(all, action{what: crashes, node: node})
		}
	}
	for _, e := range s.network {
		if to := m.messages[e].to; alive.has(to) {
			all = append(all, action{what: receives, node: uint8(to), argument: e})
		}
	}
	return all
}

// apply makes next what s becomes by an action, and returns what it did to the node
// and whether next is another state than s; if not, next is not made. What it breaks is in
// m.breach.
func (m *model) apply(s *state, a action, next *state) (o *outcome, moved bool) {
	m.breach = m.breach[:0]
	o = m.outcome(s.locals[a.node], a.what, a.argument)
	switch {
	case o.broken != nil:
		m.breach = append(m.breach, *o.broken)
		return o, false
	case m.idle(s, a, o), m.over(s, o):
		return o, false
	}
	network := append(next.network[:0], s.network...)
	*next = *s
	next.network = network
	m.become(next, int(a.node), o.local)
	switch a.what {
	case starts:
		m.comeBack(next, int(a.node))
	case receives:
		if m.options.Network == Once {
			m.remove(next, a.argument)
		}
	case suspects:
		if a.mistaken {
			next.spend(mistakes)
		}
	case campaigns:
		next.spend(calls)
	case crashes:
		next.spend(kills)
	}
	if o.repeats && m.options.PeriodicSends > 0 {
		next.spend(beats)
	}
	for _, e := range o.sends {
		m.add(next, e)
	}
	for _, l := range o.announces {
		after := m.announce(next.history, int(a.node), l)
		m.remember(next, after.history)
		m.breach = append(m.breach, after.broken...)
	}
	return o, next.print != s.print
}

// budget is one of those of a run.
type budget uint8

const (
	kills budget = iota
	mistakes
	calls
	beats
	budgets
)

// unit is what the fingerprint of a state gets for each unit of a budget that is used up.
var unit = [budgets]algosim.Fingerprint{
	algosim.FingerprintOf(kills), algosim.FingerprintOf(mistakes), algosim.FingerprintOf(calls), algosim.FingerprintOf(beats),
}

func (s *state) spend(b budget) {
	s.spent[b]++
	s.print = s.print.Plus(unit[b])
}

// idle reports, without making the next state, that a message changes nothing. Where
// messages stay it may then be left out: the state is the same. It is most of them.
func (m *model) idle(s *state, a action, o *outcome) bool {
	if a.what != receives || m.options.Network == Once || o.local != s.locals[a.node] || len(o.announces) > 0 {
		return false
	}
	for _, e := range o.sends {
		if _, found := slices.BinarySearch(s.network, e); !found {
			return false
		}
	}
	return true
}

// over reports whether a step goes over a bound.
func (m *model) over(s *state, o *outcome) bool {
	return m.options.Epochs > 0 && o.epoch > m.options.Epochs ||
		o.repeats && m.options.PeriodicSends > 0 && int(s.spent[beats]) >= m.options.PeriodicSends
}

// become replaces the local of a node.
func (m *model) become(s *state, node int, number uint32) {
	s.print = s.print.Minus(m.locals[s.locals[node]].print).Plus(m.locals[number].print)
	s.locals[node] = number
}

// comeBack lets those who watched a node while it did not run find that out still,
// now that it does.
func (m *model) comeBack(s *state, back int) {
	for i := range m.ids {
		l := &m.locals[s.locals[i]]
		if l.phase == up && l.watched.has(back) && !l.suspected.has(back) && !l.missed.has(back) {
			m.become(s, i, m.outcome(s.locals[i], missesDeath, uint32(back)).local)
		}
	}
}

// remember replaces the history.
func (m *model) remember(s *state, number uint32) {
	s.print = s.print.Minus(m.histories[s.history].print).Plus(m.histories[number].print)
	s.history = number
}

func (m *model) add(s *state, e uint32) {
	if i, found := slices.BinarySearch(s.network, e); !found {
		s.network = slices.Insert(s.network, i, e)
		s.print = s.print.Plus(m.messages[e].print)
	}
}

func (m *model) remove(s *state, e uint32) {
	if i, found := slices.BinarySearch(s.network, e); found {
		s.network = slices.Delete(s.network, i, i+1)
		s.print = s.print.Minus(m.messages[e].print)
	}
}

// led reports whether anybody leads, as it sees it.
func (m *model) led(s *state) bool {
	for i, id := range m.ids {
		if m.locals[s.locals[i]].leads(id) {
			return true
		}
	}
	return false
}
