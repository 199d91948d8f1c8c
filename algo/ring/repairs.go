package ring

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// The rules that are in none of the sources. Each is marked ◆ and says what goes wrong
// without it. They stand in the order in which an election meets them.

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
		p.participating, p.patient = false, max(p.patient, 1)-1
		p.tokens, p.outcomes, p.best = nil, nil, algo.Member{}
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

// passedBefore reports whether somebody was heard of already, as a candidate or as a leader.
// What it says was then passed on, or kept, and stays that way.
//
// ◆ A message that is not back at its origin, since that is gone, would circle for ever.
//
// ◆ There are as many origins as members, and of those some may not be in the view yet; more
// come from somebody who makes them up, and would fill the memory.
func (p *process) passedBefore(env algo.Env, epoch algo.Epoch, id algo.NodeID, heard *algo.Set) bool {
	if epoch == p.epoch && len(*heard) >= 2*p.view.Len() {
		env.Note("has heard of more candidates than there are members")
		return true
	}
	p.enter(epoch)
	return !heard.Add(id)
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

// takeFromTheRing starts a run in place of a token that must not go on.
//
// ◆ The process before a candidate that has died takes its token from the ring. Those who
// forwarded it keep lower candidates out, also those of the run that began when the death
// was noticed, if that has the same epoch: without a newer one, all would wait for their
// timers.
func (p *process) takeFromTheRing(env algo.Env, candidate algo.NodeID) {
	env.Note("takes the token of %s, which is suspected or late", candidate)
	p.call(env)
}

// missedTheOutcome reports whether a candidate calls for an election that has ended: this
// process knows the outcome, and the candidate can win no more in this epoch, since it is not
// above the leader or its leadership would be the older.
//
// ◆ Its token would be passed on or swallowed in an epoch that is over, and it would wait for
// its timer.
func (p *process) missedTheOutcome(m Election) bool {
	if !p.decided() || p.participating {
		return false
	}
	if !m.Eligible || (algo.Leader{Epoch: m.Epoch, ID: m.ID}).OlderThan(p.leader) {
		return true
	}
	leader, _ := p.view.Member(p.leader.ID) // nobody is below everybody
	return m.candidate().Compare(leader) <= 0
}

// outcome is what whose token came back says.
//
// ◆ If it may not lead, nobody may: else one of them would have sent a token in place of its
// own. The sources know no such process. It would lead all the same.
func (p *process) outcome() algo.Leader {
	if !p.me().Eligible {
		return algo.Leader{Epoch: p.epoch}
	}
	return algo.Leader{Epoch: p.epoch, ID: p.self}
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

// refuse is what becomes of an outcome that is not accepted.
//
// ◆ It names somebody below, or somebody suspected: this process was left out of the run,
// or the leader has died since. Had we followed, the highest would not lead, or we would
// follow the dead. A second bound, too: as long as all have one view, the changed successor
// that left us out has started a newer run.
func (p *process) refuse(env algo.Env, said algo.Leader) {
	if !said.Vacant() && !p.view.MayLead(said.ID) {
		env.Note("does not follow %s, which may not lead", said.ID)
		p.participating = false
		return
	}
	env.Note("contests the leadership of %s", said.ID)
	p.call(env)
}

// miss notes that a run came to nothing, and for whom, as far as that shows here.
func (p *process) miss(env algo.Env) {
	switch before := p.view.At((p.view.Index(p.self) + p.view.Len() - 1) % p.view.Len()); {
	case !p.best.ID.IsZero():
		env.Miss(p.best.ID, "sent its token round and does not lead")
	case len(p.tokens) == 1: // its own
		env.Miss(before.ID, "passed no token on")
	default:
		env.Miss(p.successor, "has the token of this node, which did not come back")
	}
}

// wait keeps each timer armed for as long as there is something to wait for.
//
// ◆ Whoever forwarded a token waits for the outcome, not only who called for the election:
// that one may have crashed, and the token with whoever held it.
func (p *process) wait(env algo.Env) {
	T := p.options.MessageTime
	least := time.Duration(p.options.ElectionRounds) * time.Duration(p.view.Len()) * T
	if p.patient > 0 {
		least *= 2
	}
	over := p.decided() && !p.participating
	keep(env, timerElection, &p.waiting, !over, least, least+least/2)
	keep(env, timerReserve, &p.reserving, over && p.reserved <= p.epoch, T, 2*T)
}

// patience is for how many runs a process waits twice as long. Fewer do not suffice where messages take four
// times as long as is configured, since several processes begin anew at about one time.
const patience = 8

// overlap takes it that a token of an older run is there while a newer one is on.
//
// ◆ It may have been given up too early. So this process waits twice as long from its next token on, for some
// runs, or until there is an outcome. Else no run comes to its end where messages take four times as long as is
// configured. That one was given up is no reason: its token may be lost. Nor does it wait ever longer: where
// tokens are lost as well an election would take too long. Nor for ever: others who are not patient would begin
// anew before it has seen the end of any run, and it would not learn who never leads.
func (p *process) overlap() {
	if !p.decided() {
		p.patient = patience
	}
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
//
// ◆ Else each process would save it when the first token of that run comes, one after the
// other, and a failover would wait for N−1 saves in a row.
func (p *process) reserve() { p.reserved = p.epoch + 1 }

// Reconfigure replaces the view.
//
// ◆ In the sources the ring is always the same. A leader that is a member no more, or may
// not lead any more, would be followed on; and who is above it would wait for its death.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.enter(view.Floor())
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
