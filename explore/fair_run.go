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
	due   [MaxNodes]map[algo.Timer]time.Duration
	taken []action
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
		r.due[i] = m.nodes[nodes[i]].timers.clone().remaining
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
	first, node, name := time.Duration(0), -1, algo.Timer("")
	for i := range r.m.ids {
		for timer, at := range r.due[i] {
			if node < 0 || at < first || at == first && i == node && timer < name {
				first, node, name = at, i, timer
			}
		}
	}
	if node < 0 {
		return action{}, false
	}
	r.now = max(r.now, first)
	delete(r.due[node], name)
	return action{kind: expires, node: uint8(node), argument: r.m.internTimer(name)}, true
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
		if change.Stop {
			delete(r.due[a.node], change.Timer)
		} else {
			r.due[a.node][change.Timer] = r.now + change.Min
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
