package explore

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// maxFairSteps is the maximum number of steps of a fair run. Nodes that do not agree by then never
// do.
const maxFairSteps = 20_000

// fairRun is a continuation of a state without faults: no node crashes, messages arrive at once and
// in order, the detectors are right, and timers expire when due. If all nodes follow one leader at
// its end, agreement is reachable from that state.
type fairRun struct {
	m     *model
	nodes [MaxNodes]uint32
	queue []uint32 // messages in flight, the oldest first
	now   time.Duration
	due   [MaxNodes][]dueTimer
	taken []action
}

// dueTimer is an armed timer of a node. A node has only a few.
type dueTimer struct {
	name algo.Timer
	at   time.Duration
}

// leadsToAgreement reports whether the fair run from s ends in agreement. If the network is lossy,
// the messages in flight are lost: the resulting state is as reachable, and the result then depends
// on the nodes alone and is stored.
func (e *search) leadsToAgreement(s *state) bool {
	if e.options.Network == Once {
		return newFairRun(e.m, s.nodes, s.network).run()
	}
	var key algosim.Fingerprint
	for _, number := range s.nodes[:len(e.m.ids)] {
		key = key.Plus(e.m.nodes[number].fingerprint)
	}
	agrees, known := e.fairRuns[key]
	if !known {
		agrees = newFairRun(e.m, s.nodes, nil).run()
		e.fairRuns[key] = agrees
	}
	return agrees
}

func newFairRun(m *model, nodes [MaxNodes]uint32, network []uint32) *fairRun {
	r := &fairRun{m: m, nodes: nodes, queue: slices.Clone(network)}
	for i := range m.ids {
		armed := m.nodes[nodes[i]].timers.remaining
		r.due[i] = make([]dueTimer, 0, len(armed)+1)
		for name, at := range armed { // nextExpiry does not depend on their order
			r.due[i] = append(r.due[i], dueTimer{name, at})
		}
	}
	return r
}

// run reports whether all running nodes agree once no message is in flight.
func (r *fairRun) run() bool {
	// If the running nodes are too few to elect a leader, agreement must wait for the others.
	if !algosim.CanElect(r.m.options.View, r.m.options.Spec.Claims, r.followStates()) {
		for i := range r.m.ids {
			if r.node(i).phase != up && !r.apply(action{kind: starts, node: uint8(i)}) {
				return false
			}
		}
	}
	for len(r.taken) < maxFairSteps {
		next, ok := r.nextEvent()
		if !ok {
			if r.hasAgreement() {
				return true
			}
			if next, ok = r.nextExpiry(); !ok {
				return false
			}
		}
		if !r.apply(next) {
			return false
		}
	}
	return false
}

func (r *fairRun) node(i int) *nodeState { return &r.m.nodes[r.nodes[i]] }

// followStates returns the leader of each running node.
func (r *fairRun) followStates() (all []algosim.FollowState) {
	for i, id := range r.m.ids {
		if l := r.node(i); l.phase == up {
			all = append(all, algosim.FollowState{Node: id, Leader: l.leader})
		}
	}
	return all
}

// nextEvent returns the next event that needs no time: first the reports of the detectors, then the
// messages in flight.
func (r *fairRun) nextEvent() (action, bool) {
	for i := range r.m.ids {
		l := r.node(i)
		if l.phase != up || l.monitored == 0 {
			continue
		}
		for peer := range r.m.ids {
			dead := r.node(peer).phase != up
			if !l.monitored.has(peer) || dead == l.suspected.has(peer) {
				continue
			}
			what := trusts
			if dead {
				what = suspects
			}
			return action{kind: what, node: uint8(i), argument: uint32(peer)}, true
		}
	}
	for len(r.queue) > 0 {
		e := r.queue[0]
		r.queue = r.queue[1:]
		if to := r.m.messages[e].to; r.node(to).phase == up {
			return action{kind: receives, node: uint8(to), argument: e}, true
		}
	}
	return action{}, false
}

// nextExpiry advances the time to the next due timer. If several are due, it takes the first node,
// and its first timer by name.
func (r *fairRun) nextExpiry() (action, bool) {
	var first dueTimer
	node := -1
	for i := range r.m.ids {
		for _, t := range r.due[i] {
			if node < 0 || t.at < first.at || t.at == first.at && i == node && t.name < first.name {
				first, node = t, i
			}
		}
	}
	if node < 0 {
		return action{}, false
	}
	r.now = max(r.now, first.at)
	r.stop(node, first.name)
	return action{kind: expires, node: uint8(node), argument: r.m.internTimer(first.name)}, true
}

func (r *fairRun) stop(node int, name algo.Timer) {
	r.due[node] = slices.DeleteFunc(r.due[node], func(t dueTimer) bool { return t.name == name })
}

// apply performs an action. It returns false if the action violates the contract.
func (r *fairRun) apply(a action) bool {
	o := r.m.outcome(r.nodes[a.node], a.kind, a.argument)
	if o.violation != nil {
		return false
	}
	r.taken = append(r.taken, a)
	r.nodes[a.node] = o.node
	r.queue = append(r.queue, o.sends...)
	for _, change := range o.timers {
		r.stop(int(a.node), change.Timer)
		if !change.Stop {
			r.due[a.node] = append(r.due[a.node], dueTimer{change.Timer, r.now + change.Min})
		}
	}
	return true
}

// hasAgreement reports whether all running nodes follow one of them: the highest, if the algorithm
// claims that.
func (r *fairRun) hasAgreement() bool {
	running := r.followStates()
	return algosim.CanElect(r.m.options.View, r.m.options.Spec.Claims, running) && algosim.Disagreement(r.m.options.View, r.m.options.Spec.Claims, running) == ""
}
