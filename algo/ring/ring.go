// Package ring implements the ring algorithm of Chang and Roberts ("An Improved
// Algorithm for Decentralized Extrema-Finding in Circular Configurations of
// Processes", 1979), as it is taught today: the highest live process leads.
//
// The processes stand in a ring, in the order of their IDs, and send clockwise only:
// to the next one that is not suspected. Who calls for an election sends a token,
// [Election], with itself as the candidate. A process forwards the token of a higher
// candidate and swallows that of a lower one, in place of which it sends its own
// unless it has. Whose token comes back is the highest of the ring: it leads, and
// sends [Elected] around.
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
// wrongly suspected. Only the process before the leader watches it: if that process
// alone cannot hear the leader, the others lose it too, and the leader is the last to
// hear of it. A process that hears the next one, but is not heard by it, calls
// elections for as long as that lasts. The highest takes over when it recovers, also
// from a leader that works well.
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
//
// H(N) is 1 + 1/2 + … + 1/N. The last message only returns to the leader.
//
// # What the sources leave open
//
// The rules marked ◆ in the code are in none of the sources. Each mends a failure
// that shows when it is taken out; the tests do that.
package ring

import (
	"slices"
	"time"

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
	// tokens are those whose Election came by in this epoch, and outcomes those whose
	// Elected did. Both hold this process itself when it has sent its own.
	tokens, outcomes algo.Set
	// best is the highest candidate whose token was forwarded in this epoch.
	best algo.Member

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
	p.view, p.epoch = view, saved.Epoch
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

func (p *process) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		p.pass(env, m)
	case Elected:
		p.told(env, m)
	}
	p.wait(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerElection && p.waiting:
		// ◆ Whoever forwarded a token waits for the outcome, not only who called for the
		// election: that one may have crashed, and the token with whoever held it.
		env.Note("no outcome in time")
		p.waiting = false
		p.call(env)
	case t == timerReserve && p.reserving:
		p.reserving = false
		p.reserve()
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

func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	if !p.leader.Vacant() && !p.view.MayLead(p.leader.ID) {
		p.vacate(env) // it left, or resigned; maybe it was this process
	}
	changed := p.closeRing(env)
	switch {
	case changed, p.participating, !p.decided():
		// What is on its way was sent around another ring, or names candidates as they
		// are no more.
		p.call(env)
	case p.leader.Vacant() || view.IsAbove(p.self, p.leader.ID):
		p.call(env)
	}
	p.wait(env)
}

func (p *process) Stable() algo.Stable {
	return algo.Stable{Epoch: max(p.epoch, p.reserved)}
}

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.tokens = slices.Clone(p.tokens)
	clone.outcomes = slices.Clone(p.outcomes)
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// call starts a run of the election.
//
// ◆ Every run has an epoch of its own. So the tokens of a run that came to nothing are
// known for what they are, and participating in it keeps nobody out of the next.
func (p *process) call(env algo.Env) {
	p.enter(p.epoch + 1)
	p.nominate(env)
}

// enter takes over a newer epoch, which is saved before anything is sent.
//
// ◆ It makes a process forget that it participates in an older run, and what it
// forwarded in it.
func (p *process) enter(e algo.Epoch) {
	if e > p.epoch {
		p.epoch = e
		p.participating = false
		p.tokens, p.outcomes, p.best = nil, nil, algo.Member{}
	}
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
		p.overtake(env)
		return
	case m.ID == p.self && m.Epoch == p.epoch:
		p.comeBack(env)
		return
	case m.Epoch == p.epoch && p.full(p.tokens):
		env.Note("has passed more tokens than there are candidates")
		return
	}
	p.enter(m.Epoch)
	if !p.tokens.Add(m.ID) {
		env.Note("has passed the token of %s already", m.ID)
		return
	}
	switch {
	case p.suspected.Has(m.ID):
		// ◆ The process before a candidate that has died takes the token from the ring.
		// Those who forwarded it keep lower candidates out, also those of the run that
		// began when the death was noticed, if that has the same epoch: without a newer
		// one, all would wait for their timers.
		env.Note("takes the token of %s, which is suspected", m.ID)
		p.call(env)
	case p.decided() && !p.participating && !p.outranksLeader(m):
		env.Note("has the outcome of epoch %d, which %s has missed", uint64(p.epoch), m.ID)
		p.call(env)
	case m.candidate().Compare(p.me()) > 0:
		// Chang and Roberts 1979: a larger ID is passed on.
		if m.candidate().Compare(p.best) > 0 {
			p.best = m.candidate()
		}
		if p.fresh(env, m.Hops) {
			m.Hops++
			p.send(env, m)
		}
	case !p.participating:
		// Chang and Roberts 1979: a smaller ID wakes a process up, which sends its own.
		p.nominate(env)
	default:
		// Chang and Roberts 1979: a smaller ID is swallowed.
	}
}

// overtake takes a token of an older epoch. It is not forwarded.
//
// ◆ But its sender does not know of this epoch, and nobody answers against the
// direction of the ring. A new run tells it. Who participates already leaves that to
// the run that is on.
func (p *process) overtake(env algo.Env) {
	if !p.participating {
		env.Note("hears of an older epoch")
		p.call(env)
	}
}

// comeBack takes this process's own token: nobody in the ring is above it.
func (p *process) comeBack(env algo.Env) {
	if p.participating && !p.decided() {
		p.win(env)
	}
}

// win makes this process the leader of the epoch, or, if it may not lead, tells
// everybody that nobody may: else one of them would have sent a token in place of its
// own.
func (p *process) win(env algo.Env) {
	outcome := algo.Leader{Epoch: p.epoch}
	if p.me().Eligible {
		outcome.ID = p.self
	}
	p.outcomes.Add(outcome.ID)
	p.follow(env, outcome)
	if !p.alone() {
		p.send(env, Elected{Epoch: p.epoch, ID: outcome.ID, Hops: 1})
	}
}

// told takes an outcome.
func (p *process) told(env algo.Env, m Elected) {
	said := m.leader()
	if m.Epoch < p.epoch || said.OlderThan(p.leader) {
		return // what it says is over
	}
	if m.Epoch == p.epoch && p.full(p.outcomes) {
		env.Note("has heard of more outcomes than there are candidates")
		return
	}
	p.enter(m.Epoch)
	if m.ID == p.self || !p.outcomes.Add(m.ID) {
		// "Until it is back at the leader." ◆ Also if it is back at somebody else, since
		// the leader is gone: it would circle for ever.
		return
	}
	if p.fresh(env, m.Hops) {
		m.Hops++
		p.send(env, m)
	}
	switch {
	case p.canFollow(said):
		p.follow(env, said)
	case !said.Vacant() && !p.view.MayLead(said.ID):
		env.Note("does not follow %s, which may not lead", said.ID)
		p.participating = false
	default:
		// ◆ It names somebody below, or somebody suspected: this process was left out of
		// the run, or the leader has died since. Had we followed, the highest would not
		// lead, or we would follow the dead. A second bound, too: as long as all have one
		// view, the changed successor that left us out has started a newer run.
		env.Note("contests the leadership of %s", said.ID)
		p.call(env)
	}
}

// canFollow reports whether the outcome of an election is to be accepted.
//
// ◆ A candidate whose token was forwarded has shown that it is above, whatever the view
// says, which may be older than the candidate. Else two processes that see each
// other's priority differently would contest each other without end.
func (p *process) canFollow(said algo.Leader) bool {
	if said.Vacant() {
		return !p.me().Eligible
	}
	above := p.view.IsAbove(said.ID, p.self) || said.ID == p.best.ID && p.view.MayLead(said.ID)
	return above && !p.suspected.Has(said.ID)
}

// follow takes l for the outcome of its epoch. A leader steps down this way.
func (p *process) follow(env algo.Env, l algo.Leader) {
	p.participating = false
	p.leader = l
	env.Announce(l)
}

// vacate announces that nobody is known to lead.
func (p *process) vacate(env algo.Env) {
	p.leader.ID = algo.NodeID{}
	env.Announce(p.leader)
}

// fresh reports whether a message that was sent so often may be sent on.
//
// ◆ Nothing goes round more than twice: a second bound, which holds also where
// somebody has forgotten what it forwarded.
func (p *process) fresh(env algo.Env, hops uint32) bool {
	if uint64(hops) >= 2*uint64(p.view.Len()) {
		env.Note("drops what went round twice")
		return false
	}
	return true
}

// full reports whether a process need not keep more of those that it heard of in one epoch.
// There are as many as members, and of those some may not be in the view yet; more come
// from somebody who makes them up, and would fill the memory.
func (p *process) full(heard []algo.NodeID) bool { return len(heard) >= 2*p.view.Len() }

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

// repair closes the ring after somebody died or came back, and calls for an election
// if the leader is lost.
//
// ◆ It does so, too, whenever the successor changes: what was sent to the old one may
// be lost, and the new one may never have heard of the leader.
func (p *process) repair(env algo.Env, lost bool) {
	if p.closeRing(env) || lost {
		env.Note("has %s for its successor", p.successor)
		p.call(env)
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

// wait keeps each timer armed for as long as there is something to wait for.
func (p *process) wait(env algo.Env) {
	T := p.options.MessageTime
	least := time.Duration(p.options.ElectionRounds) * time.Duration(p.view.Len()) * T
	over := p.decided() && !p.participating
	keep(env, timerElection, &p.waiting, !over, least, least+least/2)
	keep(env, timerReserve, &p.reserving, over && p.reserved <= p.epoch, T, 2*T)
}

func keep(env algo.Env, t algo.Timer, armed *bool, wanted bool, least, most time.Duration) {
	switch {
	case wanted && !*armed:
		env.SetTimer(t, least, most)
	case !wanted && *armed:
		env.StopTimer(t)
	}
	*armed = wanted
}

// reserve has the epoch of the next run saved after this one, when nobody waits for it.
// Else each process would save it when the first token of that run comes, one after the
// other, and a failover would wait for N−1 saves in a row.
func (p *process) reserve() { p.reserved = p.epoch + 1 }

// decided reports whether this process knows the outcome of its epoch.
func (p *process) decided() bool { return p.leader.Epoch == p.epoch }

// outranksLeader reports whether a token can still win in an epoch that has an outcome:
// its candidate is above the leader, and its leadership would be the newer.
func (p *process) outranksLeader(m Election) bool {
	if !m.Eligible || (algo.Leader{Epoch: m.Epoch, ID: m.ID}).OlderThan(p.leader) {
		return false
	}
	leader, _ := p.view.Member(p.leader.ID) // nobody is below everybody
	return m.candidate().Compare(leader) > 0
}

func (p *process) alone() bool { return p.successor == p.self }

// me is this process as a candidate.
func (p *process) me() algo.Member {
	m, _ := p.view.Member(p.self)
	return m
}
