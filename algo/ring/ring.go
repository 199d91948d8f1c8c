// Package ring implements the ring algorithm of Chang and Roberts ("An Improved
// Algorithm for Decentralized Extrema-Finding in Circular Configurations of
// Processes", 1979), as it is taught today: the highest live process leads.
//
// The processes stand in a ring, in the order of their IDs, and send clockwise only, but
// for an answer: to the next one that is not suspected. Who calls for an election sends a
// token, [Election], with itself as the candidate. A process forwards the token of a
// higher candidate and swallows that of a lower one, in place of which it sends its own
// unless it has. Whose token comes back is the highest of the ring: it leads, and sends
// [Elected] around.
//
// # What it promises
//
// Once messages arrive in time and the failure detector is right, there is one
// leader, the highest live eligible process, all live processes know it, and no
// election follows. An epoch never goes back, over crashes too. Whoever is followed
// in an epoch has itself announced that it leads in that epoch.
//
// # What it does not promise
//
// There is no majority. Under a partition each part closes its own ring and elects a
// leader, and for a while there are two, even in one epoch, when a slow leader is
// wrongly suspected. Only the process before the leader watches it: if neither that process
// hears the leader nor those whom its detector asks, all lose it, and the leader is the last to
// hear of it. Who was elected apart from the others has the later epoch when they meet again, so
// that the highest leads anew, once. The highest takes over when it recovers, also from a leader
// that works well.
//
// # What it costs
//
// N counts the live members; T is the one-way message time. The work of the failure
// detector is not counted.
//
//	one starts, the highest d hops ahead  2N+d messages                (2N+d−1)T
//	all start, in the best order          3N−1 messages                (2N−1)T
//	all start, in a random order          N·H(N)+N messages, the mean  (2N−1)T
//	all start, in the worst order         N(N+1)/2+N messages          (2N−1)T
//	a follower dies, or is back           2 messages                   2T
//
// H(N) is 1 + 1/2 + … + 1/N. The last message only returns to the leader.
//
// # What the sources leave open
//
// This file is what the sources say. The rules that are in none of them are marked ◆ and
// stand in repairs.go, each a function with a name. Each mends a failure that shows when
// it is taken out; the tests do that. Package algo/textbook/ring has none of them.
package ring

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// The timers.
const (
	timerElection algo.Timer = "election" // armed until the election has an outcome
	timerReserve  algo.Timer = "reserve"  // armed from then until the next epoch is saved
)

// process is one member: the P of the sources.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View

	// epoch is the highest heard of: that of the run which is on, or was the last. It
	// is above leader.Epoch until that run has an outcome here.
	epoch algo.Epoch
	// reserved is an epoch that is saved already, so that the next run need not wait
	// for a save at each process that its token comes to.
	reserved algo.Epoch
	// leader is who is announced: whom this process follows, itself, or nobody.
	leader algo.Leader

	// participating: this process has sent or forwarded a token of this epoch, and has
	// not heard of the outcome.
	participating bool
	// tokens are those whose Election came by in this epoch: this process itself when it has
	// sent its own.
	tokens algo.Set
	// best is the highest candidate whose token was forwarded in this epoch.
	best algo.Member
	// patient is for how many runs, with the one that is on, it still waits longer: see overlap.
	patient uint8

	// telling: the successor was told who leads, and has not answered that it knows.
	telling bool

	// successor is the next process clockwise that is not suspected: this process
	// itself if it is alone.
	successor algo.NodeID
	// suspected are those of the monitored whom the detector takes for dead. They
	// stand between this process and its successor.
	suspected algo.Set
	// waiting and reserving: timerElection, timerReserve is armed.
	waiting, reserving bool
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.Stable) {
	p.view, p.epoch = view, max(saved.Epoch, view.Stamp().Epoch)
	p.closeRing(env)
	p.call(env)
	p.wait(env)
}

// Campaign calls for an election. The leader followed now stays announced until
// there is another.
func (p *process) Campaign(env algo.Env) {
	if !p.participating { // a process can call for at most one election at a time
		p.call(env)
	}
	p.wait(env)
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		p.pass(env, m)
	case Elected:
		p.told(env, from, m)
	}
	p.wait(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerElection && p.waiting && p.over():
		p.tell(env)
	case t == timerElection && p.waiting:
		p.miss(env)
		p.waiting = false
		p.call(env)
	case t == timerReserve && p.reserving:
		p.reserving, p.reserved = false, p.epoch+1
	}
	p.wait(env)
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	lost := peer == p.leader.ID
	if lost {
		p.vacate(env)
	}
	p.repair(env, lost)
	p.wait(env)
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	p.repair(env, false)
	p.wait(env)
}

func (p *process) Stable() algo.Stable {
	return algo.Stable{Epoch: max(p.epoch, p.reserved)}
}

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.tokens = slices.Clone(p.tokens)
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// nominate sends this process's own token.
func (p *process) nominate(env algo.Env) {
	p.tokens.Add(p.self)
	if p.alone() {
		p.win(env)
		return
	}
	p.send(env, Election{Epoch: p.epoch, Eligible: p.me().Eligible, Priority: p.me().Priority, ID: p.self, Hops: 1})
}

// pass takes a token.
func (p *process) pass(env algo.Env, m Election) {
	switch {
	case m.Epoch < p.epoch:
		p.overlap()
		p.overtake(env)
	case m.Epoch == p.epoch && m.ID == p.self:
		p.comeBack(env)
	case p.passedBefore(m):
		env.Note("has passed the token of %s already", m.ID)
	case p.spent(m):
		env.Note("takes the token of %s, which is suspected or late", m.ID)
		p.call(env)
	case m.candidate().Compare(p.me()) > 0:
		// Chang and Roberts 1979: a larger ID is passed on.
		if m.candidate().Compare(p.best) > 0 {
			p.best = m.candidate()
		}
		m.Hops++
		p.forward(env, m, m.Hops-1)
	case !p.participating:
		// Chang and Roberts 1979: a smaller ID wakes a process up, which sends its own.
		p.nominate(env)
	default:
		// Chang and Roberts 1979: a smaller ID is swallowed.
	}
}

// comeBack takes this process's own token: nobody in the ring is above it.
func (p *process) comeBack(env algo.Env) {
	if p.participating && !p.decided() {
		p.win(env)
	}
}

// win makes this process the leader of the epoch.
func (p *process) win(env algo.Env) {
	p.follow(env, p.outcome())
	p.send(env, Elected{Epoch: p.epoch, ID: p.leader.ID, Hops: 1})
}

// told takes an outcome. It is "forwarded along the ring until it reaches the leader".
func (p *process) told(env algo.Env, from algo.NodeID, m Elected) {
	switch said := m.leader(); {
	case m.Epoch < p.epoch || said.OlderThan(p.leader):
		// What it says is over.
	case said == p.leader:
		p.telling = p.telling && (from != p.successor || m.Hops == 0)
	default:
		p.learn(env, m)
	}
	if m.Hops == 0 {
		p.answer(env, from)
	}
}

// learn takes an outcome that is new.
func (p *process) learn(env algo.Env, m Elected) {
	said := m.leader()
	p.enter(m.Epoch)
	m.Hops++
	p.forward(env, m, m.Hops-1)
	if p.canFollow(said) {
		p.follow(env, said)
	} else {
		p.refuse(env, said)
	}
}

// follow takes l for the outcome of its epoch. A leader steps down this way.
func (p *process) follow(env algo.Env, l algo.Leader) {
	p.participating, p.patient = false, 0
	p.telling = !l.Vacant() && !p.tokens.Has(l.ID)
	p.leader = l
	env.Announce(l)
}

// vacate announces that nobody is known to lead.
func (p *process) vacate(env algo.Env) {
	p.leader.ID = algo.NodeID{}
	env.Announce(p.leader)
}

// send sends clockwise. Who sends a token participates, and waits for the outcome anew.
func (p *process) send(env algo.Env, m algo.Message) {
	if _, token := m.(Election); token {
		p.participating = true
		p.waiting = false
	}
	if !p.alone() {
		env.Send(p.successor, m)
	}
}

// closeRing finds the successor and has the detector watch it, and everybody between,
// so that the ring opens again for who comes back. It reports whether the successor
// changed.
func (p *process) closeRing(env algo.Env) (changed bool) {
	var watched algo.Set
	next := p.view.Successor(p.self)
	for next != p.self {
		watched.Add(next)
		if !p.suspected.Has(next) {
			break
		}
		next = p.view.Successor(next)
	}
	p.suspected.Keep(watched) // the detector forgets the others too
	env.Monitor(watched...)
	changed = next != p.successor
	p.successor = next
	return changed
}

// over reports whether no election is on, as far as this process knows.
func (p *process) over() bool { return p.decided() && !p.participating }

// decided reports whether this process knows the outcome of its epoch.
func (p *process) decided() bool { return p.leader.Epoch == p.epoch }

func (p *process) alone() bool { return p.successor == p.self }

// me is this process as a candidate.
func (p *process) me() algo.Member {
	m, _ := p.view.Member(p.self)
	return m
}
