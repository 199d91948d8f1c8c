package explore

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// calmSteps bounds a calm: whoever has not agreed by then never will.
const calmSteps = 20_000

// calm is the continuation of a state in which all goes well: nobody crashes, what is
// sent arrives at once and in order, the detector tells who is dead and who is not, and
// timers expire when they are due. If it ends with one leader, known to all, it is the
// witness that such a continuation exists.
type calm struct {
	m      *model
	locals [MaxNodes]uint32
	queue  []uint32 // envelopes on their way, the oldest first
	now    time.Duration
	due    [MaxNodes]map[algo.Timer]time.Duration
	taken  []action // so far
}

// agrees reports whether the calm after a state ends in agreement. Where messages can be
// lost, those on their way are: the state after that is as reachable, and without them the
// answer depends on the nodes alone and is remembered.
func (e *search) agrees(s *state) bool {
	if e.options.Network == Once {
		return newCalm(e.m, s.locals, s.network).run()
	}
	var key algosim.Fingerprint
	for _, number := range s.locals[:len(e.m.ids)] {
		key = key.Plus(e.m.locals[number].print)
	}
	agrees, known := e.calms[key]
	if !known {
		agrees = newCalm(e.m, s.locals, nil).run()
		e.calms[key] = agrees
	}
	return agrees
}

func newCalm(m *model, locals [MaxNodes]uint32, network []uint32) *calm {
	c := &calm{m: m, locals: locals, queue: slices.Clone(network)}
	for i := range m.ids {
		c.due[i] = m.locals[locals[i]].timers.clone().left
	}
	return c
}

// run reports whether all who run agree once nothing is on its way.
func (c *calm) run() bool {
	// Those who run may be too few to elect somebody: agreement has to wait for the others.
	if !algosim.CanElect(c.m.options.View, c.m.options.Spec.Claims, c.running()) {
		for i := range c.m.ids {
			if c.local(i).phase != up && !c.take(action{what: starts, node: uint8(i)}) {
				return false
			}
		}
	}
	for len(c.taken) < calmSteps {
		next, ok := c.next()
		if !ok {
			if c.agreed() {
				return true
			}
			if next, ok = c.timer(); !ok {
				return false
			}
		}
		if !c.take(next) {
			return false
		}
	}
	return false
}

func (c *calm) local(i int) *local { return &c.m.locals[c.locals[i]] }

// running are those who run, and whom they follow.
func (c *calm) running() (all []algosim.FollowState) {
	for i, id := range c.m.ids {
		if l := c.local(i); l.phase == up {
			all = append(all, algosim.FollowState{Node: id, Leader: l.leader})
		}
	}
	return all
}

// next is what happens before any more time passes: what the detector has to say, and
// then what is on its way.
func (c *calm) next() (action, bool) {
	for i := range c.m.ids {
		l := c.local(i)
		if l.phase != up || l.watched == 0 {
			continue
		}
		for peer := range c.m.ids {
			dead := c.local(peer).phase != up
			if !l.watched.has(peer) || dead == l.suspected.has(peer) {
				continue
			}
			what := trusts
			if dead {
				what = suspects
			}
			return action{what: what, node: uint8(i), argument: uint32(peer)}, true
		}
	}
	for len(c.queue) > 0 {
		e := c.queue[0]
		c.queue = c.queue[1:]
		if to := c.m.messages[e].to; c.local(to).phase == up {
			return action{what: receives, node: uint8(to), argument: e}, true
		}
	}
	return action{}, false
}

// timer lets time pass until the next timer is due: of those due together that of the
// first node, and of its timers the first by name.
func (c *calm) timer() (action, bool) {
	first, node, name := time.Duration(0), -1, algo.Timer("")
	for i := range c.m.ids {
		for timer, at := range c.due[i] {
			if node < 0 || at < first || at == first && i == node && timer < name {
				first, node, name = at, i, timer
			}
		}
	}
	if node < 0 {
		return action{}, false
	}
	c.now = max(c.now, first)
	delete(c.due[node], name)
	return action{what: expires, node: uint8(node), argument: c.m.timer(name)}, true
}

// take performs an action. It reports false if that breaks the contract.
func (c *calm) take(a action) bool {
	o := c.m.outcome(c.locals[a.node], a.what, a.argument)
	if o.broken != nil {
		return false
	}
	c.taken = append(c.taken, a)
	c.locals[a.node] = o.local
	c.queue = append(c.queue, o.sends...)
	for _, change := range o.timers {
		if change.Stop {
			delete(c.due[a.node], change.Timer)
		} else {
			c.due[a.node][change.Timer] = c.now + change.Min
		}
	}
	return true
}

// agreed reports whether all who run follow one of them: the highest, where that is
// claimed.
func (c *calm) agreed() bool {
	running := c.running()
	return algosim.CanElect(c.m.options.View, c.m.options.Spec.Claims, running) && algosim.Disagreement(c.m.options.View, c.m.options.Spec.Claims, running) == ""
}
