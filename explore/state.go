package explore

import (
	"slices"

	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// state is one state of the cluster. There are many, so it contains only numbers of values in the
// model.
type state struct {
	nodes       [MaxNodes]uint32
	network     []uint32 // numbers of messages, sorted, each once
	history     uint32
	spent       [budgetCount]uint8
	fingerprint algosim.Fingerprint
}

// action leads from one state to the next.
type action struct {
	kind     driver.EventKind
	node     uint8
	isFalse  bool // of a suspicion: the peer is up
	argument uint32
}

// initialState returns the state before any node has started.
func (m *model) initialState() state {
	var s state
	for i := range m.ids {
		s.nodes[i] = m.internNode(nodeState{node: i, phase: notStarted})
		s.fingerprint = s.fingerprint.Plus(m.nodes[s.nodes[i]].fingerprint)
	}
	s.history = m.internHistory(history{})
	s.fingerprint = s.fingerprint.Plus(m.histories[s.history].fingerprint)
	return s
}

// actions appends the possible actions of a state, always in the same order.
//
// It omits actions that lead to no new behavior. A lost message equals one that never arrives:
// every action possible after a loss is possible without it, because no rule requires an empty
// network, and agreement is checked as if all messages were lost. A crash between the save of a
// step and its sends, or between the sends, leaves the same disk as a crash after the step, and
// fewer messages: it equals that crash plus losses. In that case no peer heard what the step
// announced, but ignoring the announcement could only hide violations. A crash before the save
// equals a crash before the step.
func (m *model) actions(s *state, all []action) []action {
	var alive nodeSet
	for i := range m.ids {
		if m.nodes[s.nodes[i]].phase == up {
			alive = alive.with(i)
		}
	}
	for i := range m.ids {
		l, node := &m.nodes[s.nodes[i]], uint8(i)
		if l.phase != up {
			all = append(all, action{kind: starts, node: node})
			continue
		}
		for _, timer := range l.expiries {
			all = append(all, action{kind: expires, node: node, argument: timer})
		}
		for peer := range m.ids {
			sendsHeartbeats := peer != i && m.nodes[s.nodes[peer]].isLeader(m.ids[peer]) // a leader, also to nodes that no longer follow it
			switch {
			case l.suspected.has(peer) && alive.has(peer), !l.monitored.has(peer) && sendsHeartbeats:
				all = append(all, action{kind: trusts, node: node, argument: uint32(peer)})
			case !l.monitored.has(peer), l.suspected.has(peer):
			case !alive.has(peer) || l.missed.has(peer):
				all = append(all, action{kind: suspects, node: node, argument: uint32(peer)})
			case int(s.spent[suspicionBudget]) < m.options.FalseSuspicions:
				all = append(all, action{kind: suspects, node: node, argument: uint32(peer), isFalse: true})
			}
		}
		if int(s.spent[campaignBudget]) < m.options.Campaigns {
			all = append(all, action{kind: campaigns, node: node})
		}
		if int(s.spent[crashBudget]) < m.options.Crashes {
			all = append(all, action{kind: crashes, node: node})
		}
	}
	for _, e := range s.network {
		if to := m.messages[e].to; alive.has(to) {
			all = append(all, action{kind: receives, node: uint8(to), argument: e})
		}
	}
	return all
}

// losses returns the losses of messages that are possible in a state. A search omits them: see actions.
func (m *model) losses(s *state) (all []action) {
	if m.options.Network == Once {
		return nil
	}
	for _, e := range s.network {
		all = append(all, action{kind: drops, node: uint8(m.messages[e].to), argument: e})
	}
	return all
}

// apply performs an action on s and returns its outcome. If the result differs from s, apply stores
// it in next and returns true. Otherwise next may be incomplete. m.violations has the violations.
func (m *model) apply(s *state, a action, next *state) (o *outcome, moved bool) {
	m.violations = m.violations[:0]
	o = m.outcome(s.nodes[a.node], a.kind, a.argument)
	switch {
	case o.violation != nil:
		m.violations = append(m.violations, *o.violation)
		return o, false
	case m.changesNothing(s, a, o), m.exceedsBound(s, o):
		return o, false
	}
	network := append(next.network[:0], s.network...)
	*next = *s
	next.network = network
	m.setNode(next, int(a.node), o.node)
	switch a.kind {
	case starts:
		m.recordMissedCrash(next, int(a.node))
	case receives:
		if m.options.Network == Once {
			m.removeMessage(next, a.argument)
		}
	case drops:
		m.removeMessage(next, a.argument)
	case suspects:
		if a.isFalse {
			next.spend(suspicionBudget)
		}
	case campaigns:
		next.spend(campaignBudget)
	case crashes:
		next.spend(crashBudget)
	}
	if o.isPeriodic && m.options.PeriodicSends > 0 {
		next.spend(periodicBudget)
	}
	for _, e := range o.sends {
		m.addMessage(next, e)
	}
	for _, l := range o.announces {
		after := m.announce(next.history, int(a.node), l)
		m.setHistory(next, after.history)
		m.violations = append(m.violations, after.violations...)
	}
	if v := m.secondLeader(next, int(a.node), o); v != nil {
		m.violations = append(m.violations, *v)
	}
	return o, next.fingerprint != s.fingerprint
}

// budget identifies one of the budgets of a run.
type budget uint8

const (
	crashBudget budget = iota
	suspicionBudget
	campaignBudget
	periodicBudget
	budgetCount
)

// unit is added to the fingerprint of a state for each unit of a budget that is spent.
var unit = [budgetCount]algosim.Fingerprint{
	algosim.FingerprintOf(crashBudget), algosim.FingerprintOf(suspicionBudget), algosim.FingerprintOf(campaignBudget), algosim.FingerprintOf(periodicBudget),
}

func (s *state) spend(b budget) {
	s.spent[b]++
	s.fingerprint = s.fingerprint.Plus(unit[b])
}

// changesNothing reports, without computing the next state, whether a message has no effect. If
// messages stay in the network, the state is then the same. That is the most frequent case.
func (m *model) changesNothing(s *state, a action, o *outcome) bool {
	if a.kind != receives || m.options.Network == Once || o.node != s.nodes[a.node] || len(o.announces) > 0 {
		return false
	}
	for _, e := range o.sends {
		if _, found := slices.BinarySearch(s.network, e); !found {
			return false
		}
	}
	return true
}

// exceedsBound reports whether a step exceeds a bound.
func (m *model) exceedsBound(s *state, o *outcome) bool {
	return m.options.Epochs > 0 && o.epoch > m.options.Epochs ||
		o.isPeriodic && m.options.PeriodicSends > 0 && int(s.spent[periodicBudget]) >= m.options.PeriodicSends
}

// setNode replaces the state of a node.
func (m *model) setNode(s *state, node int, number uint32) {
	s.fingerprint = s.fingerprint.Minus(m.nodes[s.nodes[node]].fingerprint).Plus(m.nodes[number].fingerprint)
	s.nodes[node] = number
}

// recordMissedCrash records, for all nodes that monitored a node while it was down, that they may
// still suspect it after its restart.
func (m *model) recordMissedCrash(s *state, restarted int) {
	for i := range m.ids {
		l := &m.nodes[s.nodes[i]]
		if l.phase == up && l.monitored.has(restarted) && !l.suspected.has(restarted) && !l.missed.has(restarted) {
			m.setNode(s, i, m.outcome(s.nodes[i], missesCrash, uint32(restarted)).node)
		}
	}
}

// setHistory replaces the history.
func (m *model) setHistory(s *state, number uint32) {
	s.fingerprint = s.fingerprint.Minus(m.histories[s.history].fingerprint).Plus(m.histories[number].fingerprint)
	s.history = number
}

func (m *model) addMessage(s *state, e uint32) {
	if i, found := slices.BinarySearch(s.network, e); !found {
		s.network = slices.Insert(s.network, i, e)
		s.fingerprint = s.fingerprint.Plus(m.messages[e].fingerprint)
	}
}

func (m *model) removeMessage(s *state, e uint32) {
	if i, found := slices.BinarySearch(s.network, e); found {
		s.network = slices.Delete(s.network, i, i+1)
		s.fingerprint = s.fingerprint.Minus(m.messages[e].fingerprint)
	}
}

// hasLeader reports whether a node considers itself leader.
func (m *model) hasLeader(s *state) bool {
	for i, id := range m.ids {
		if m.nodes[s.nodes[i]].isLeader(id) {
			return true
		}
	}
	return false
}
