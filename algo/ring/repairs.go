package ring

import (
	"cmp"
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
		p.participating, p.telling, p.patient = false, false, max(p.patient, 1)-1
		p.tokens, p.best = nil, algo.Member{}
	}
}

// repair closes the ring after somebody died or came back. It calls for an election if the leader
// is lost, and if one is on, since what was sent to the old successor may be lost.
//
// ◆ Otherwise the new successor is told who leads: it may never have heard of the leader. An
// election would end the work of a leader that works well, each time that a link between two
// others breaks or is back.
func (p *process) repair(env algo.Env, lost bool) {
	if !p.closeRing(env) && !lost {
		return
	}
	env.Note("has %s for its successor", p.successor)
	if lost || !p.over() {
		p.call(env)
	} else {
		p.tell(env)
	}
}

// tell tells the successor who leads, again and again until it answers that it knows.
//
// ◆ So does, after a while, who follows a leader whose token it has not passed on: what it passes
// on now may be lost, and the next one does not wait for it.
func (p *process) tell(env algo.Env) {
	p.telling, p.waiting = !p.alone(), false
	p.send(env, Elected{Epoch: p.epoch, ID: p.leader.ID})
}

// answer tells one that told this process who leads what it knows itself: the same, or something
// newer.
//
// ◆ Nobody else would tell who is behind, for all else goes round clockwise.
func (p *process) answer(env algo.Env, from algo.NodeID) {
	if p.over() {
		env.Send(from, Elected{Epoch: p.epoch, ID: p.leader.ID, Hops: 1})
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

// passedBefore reports whether somebody was heard of already, as a candidate. Its token was then
// passed on, or kept, and stays that way.
//
// ◆ A token that is not back at its origin, since that is gone, would circle for ever.
//
// ◆ There are as many origins as members, and of those some may not be in the view yet; more
// come from somebody who makes them up, and would fill the memory.
func (p *process) passedBefore(m Election) bool {
	p.enter(m.Epoch)
	return len(p.tokens) >= 2*p.view.Len() || !p.tokens.Add(m.ID)
}

// forward sends a message on, that was sent so often before.
//
// ◆ Nothing goes round more than twice: a second bound, which holds also where
// somebody has forgotten what it forwarded.
func (p *process) forward(env algo.Env, m algo.Message, hops uint32) {
	if uint64(hops) >= 2*uint64(p.view.Len()) {
		env.Note("drops what went round twice")
		return
	}
	p.send(env, m)
}

// spent reports whether a token must not go on: its candidate is suspected, or calls for an election
// that has ended, since this process knows the outcome, and the candidate can win no more in this
// epoch: it is not above the leader, or its leadership would be the older. A run begins in its place.
//
// ◆ The process before a candidate that has died takes its token from the ring. Those who
// forwarded it keep lower candidates out, also those of the run that began when the death
// was noticed, if that has the same epoch: without a newer one, all would wait for their
// timers.
//
// ◆ The token of who has missed the outcome would be passed on or swallowed in an epoch that is
// over, and it would wait for its timer.
func (p *process) spent(m Election) bool {
	leader, _ := p.view.Member(p.leader.ID) // nobody is below everybody
	late := !m.Eligible || (algo.Leader{Epoch: m.Epoch, ID: m.ID}).OlderThan(p.leader) || m.candidate().Compare(leader) <= 0
	return p.suspected.Has(m.ID) || p.over() && late
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
//
// ◆ Nor is anybody below it followed in this epoch: two win in one if the ring changes in between,
// and who followed the lower one would not wait for the other, whose outcome may be lost.
func (p *process) canFollow(said algo.Leader) bool {
	if said.Vacant() {
		return !p.me().Eligible
	}
	rival := cmp.Or(p.best.ID, p.self)
	above := p.view.IsAbove(said.ID, rival) || said.ID == p.best.ID && p.view.MayLead(said.ID)
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
		algo.Miss(env, p.best.ID, "sent its token round and does not lead")
	case len(p.tokens) == 1: // its own
		algo.Miss(env, before.ID, "passed no token on")
	default:
		algo.Miss(env, p.successor, "has the token of this node, which did not come back")
	}
}

// rounds of a message about the ring are what an election takes, 3N−1 messages in a row: until the token
// of the first is at the highest, until that of the highest is back, and for Elected.
const rounds = 3

// wait keeps each timer armed for as long as there is something to wait for.
//
// ◆ Whoever forwarded a token waits for the outcome, not only who called for the election:
// that one may have crashed, and the token with whoever held it. The time is random, so that
// those who wait together do not start together.
//
// ◆ Once it is over, the epoch of the next run is saved. Else each process would save it when the
// first token of that comes, one after the other, and a failover would wait for N−1 saves in a row.
func (p *process) wait(env algo.Env) {
	T := p.options.MessageTime
	least := rounds * time.Duration(p.view.Len()) * T
	most := least + least/2
	if p.patient > 0 {
		least, most = least*7/4, least*7/4
	}
	keep(env, timerElection, &p.waiting, p.telling || !p.over(), least, most)
	keep(env, timerReserve, &p.reserving, p.over() && p.reserved <= p.epoch, T, 2*T)
}

// patience is for how many runs a process waits longer: seven quarters of the least. That is enough where messages
// take five times as long as is configured, and more would find what is lost later than Timing.Bound. Fewer runs do
// not suffice there, since several processes begin anew at about one time.
const patience = 8

// overlap takes it that a token of an older run is there while a newer one is on.
//
// ◆ It may have been given up too early. So this process waits longer from its next token on, for some
// runs, or until there is an outcome. Else no run comes to its end where messages take five times as long as is
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

// Reconfigure replaces the view.
//
// ◆ In the sources the ring is always the same. A leader that is a member no more, or may
// not lead any more, would be followed on; and who is above it would wait for its death. A leader that ranks lower
// than before calls for an election itself: in the views of the others nothing may have changed.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	before := p.me()
	p.view = view
	p.enter(view.Stamp().Epoch)
	if !p.leader.Vacant() && !p.view.MayLead(p.leader.ID) {
		p.vacate(env) // it left, or resigned; maybe it was this process
	}
	isLowered := p.leader.ID == p.self && p.me().Compare(before) < 0
	if p.closeRing(env) || !p.over() || p.leader.Vacant() || isLowered || view.IsAbove(p.self, p.leader.ID) {
		// What is on its way was sent around another ring, or names candidates as they
		// are no more.
		p.call(env)
	}
	p.wait(env)
}
