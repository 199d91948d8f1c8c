package bully

import (
	"iter"
	"slices"

	"github.com/elect-go/elect/algo"
)

// The rules that are in none of the sources. Each is marked ◆ and says what goes wrong
// without it. They stand in the order in which an election meets them.

// reserve has the epoch of the next leadership saved as soon as the last one is over.
//
// ◆ Else each follower would save it only when the new leader's Coordinator is there, and
// a failover would wait for two saves in a row. It is no more than a save: messages go
// on carrying the epoch, so that a leader who was suspected wrongly keeps its own.
func (p *process) reserve() { p.reserved = p.epoch + 1 }

// succeed starts the election that follows the end of a leader.
//
// ◆ The head start. Mostly all see that end at once, and the highest of them leads without
// having asked anybody. So those below leave it time: if each of them asked all above, N−2
// messages would become about N², and the answers would keep the new leader from telling
// that it leads.
func (p *process) succeed(env algo.Env) {
	p.awaitThose(p.view.Above(p.self))
	if len(p.awaited) == 0 || !p.options.SkipSuspected || p.options.HeadStart == 0 {
		p.elect(env)
		return
	}
	p.phase = headStart
	p.watch(env)
	env.SetTimer(timerHeadStart, p.options.HeadStart, p.options.HeadStart)
}

// heir is the highest of those awaited.
func (p *process) heir() (heir algo.NodeID) {
	for _, id := range p.awaited {
		if heir.IsZero() || p.view.IsAbove(id, heir) {
			heir = id
		}
	}
	return heir
}

// awaitThose has others asked, and waited for, but not those who are suspected.
//
// ◆ The sources ask everybody above, and wait for the dead among them as long as an answer
// may take.
func (p *process) awaitThose(others iter.Seq[algo.NodeID]) {
	for other := range others {
		if !p.options.SkipSuspected || !p.suspected.Has(other) {
			p.awaited.Add(other)
		}
	}
}

// watch has the detector watch those whom this process depends on. A settled leader
// depends on nobody; a follower on its leader; and in an election on everybody
// above.
//
// ◆ Those whose answer is awaited are among them, so that their crash ends the wait; and
// those who are suspected, so that a Coordinator for one of them is known for what it is,
// until the detector trusts them again. In a head start it depends on the heir alone: the
// highest who may live.
func (p *process) watch(env algo.Env) {
	var watched algo.Set
	if p.phase != settled {
		heir := p.heir()
		for other := range p.view.Others(p.self) {
			asked := p.phase == inquiring && p.awaited.Has(other)
			if asked || p.view.IsAbove(other, p.self) && (p.phase != headStart || other == heir || p.suspected.Has(other)) {
				watched.Add(other)
			}
		}
	}
	if !p.leader.Vacant() && !p.leads() {
		watched.Add(p.leader.ID)
	}
	p.suspected.Keep(watched) // the detector forgets the others too
	env.Monitor(watched...)
}

// awaitNoMore goes on without a peer that is suspected.
//
// ◆ The wait ends with the last one it was for. A crash in the middle of an election would
// otherwise cost a whole timeout, for each that crashes.
func (p *process) awaitNoMore(env algo.Env, peer algo.NodeID) {
	switch {
	case !p.options.SkipSuspected || !p.awaited.Remove(peer):
	case len(p.awaited) > 0:
		if p.phase == headStart {
			p.watch(env) // the next heir
		}
	default:
		env.Note("suspects %s, the last it waited for", peer)
		p.goOn(env)
	}
}

// goOn continues an election when nobody is left to wait for.
func (p *process) goOn(env algo.Env) {
	if p.phase == waiting {
		p.elect(env)
	} else {
		p.lead(env)
	}
}

// askAgain has a process ask once more that has heard nothing at all of several others.
//
// ◆ Rather than all of them it is this process that was cut off, maybe for a moment: it would lead alone, and
// the leader would take a newer epoch for that.
func (p *process) askAgain(env algo.Env) {
	env.Note("hears nobody, and asks again")
	p.ask(env)
	p.deaf = false
}

// inquire asks those below for the epoch that they know, and reports whether there are any. Once all
// have answered or are suspected, or after the time of an answer, this process leads.
//
// ◆ The epoch of who starts may be of long ago. It would lead in one in which others have led since, and
// once more, above, when they say so: work would begin twice, and a token of the last leadership might be
// lower than one that was shown already.
func (p *process) inquire(env algo.Env) bool {
	p.awaitThose(p.view.Below(p.self))
	if len(p.awaited) > 0 {
		p.question(env, inquiring, Inquiry{})
	}
	return len(p.awaited) > 0
}

// inquired answers an Inquiry.
//
// ◆ Who is above, and about to lead, is as good as one who has answered: an election that went on would
// elect another beside it.
func (p *process) inquired(env algo.Env, from algo.NodeID) {
	env.Send(from, Answer{p.epoch})
	p.answered(env, from)
}

// adopt takes over an epoch that is higher than what this process knows.
//
// ◆ Every message's epoch is adopted, and saved before anything is sent. Else a
// process that comes back would number its leadership below what the others have
// seen, and they would refuse it round after round.
func (p *process) adopt(e algo.Epoch) { p.epoch = max(p.epoch, e) }

// bringUpToDate answers an Election of an older epoch, which changes nothing, with the
// newer one.
//
// ◆ Else, when all start at once, the elections of the late would start new ones among
// those who follow already: 30 nodes would send 6 million messages, instead of 900, if the
// leader also told everybody each time.
func (p *process) bringUpToDate(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	if !p.leader.Vacant() && p.leader.Epoch > epoch {
		p.tell(env, from)
	} else {
		env.Send(from, Answer{p.epoch})
	}
}

// tellTheAsker is what a settled leader does in place of an election.
//
// ◆ It tells the asker alone, since everybody else has been told. By the sources it would
// lead anew, and tell all below each time that it is asked.
func (p *process) tellTheAsker(env algo.Env, from algo.NodeID) {
	if p.leader.Epoch == p.epoch {
		p.tell(env, from)
	}
}

// canFollow reports whether a Coordinator for said is to be followed.
//
// ◆ Not if it is older than the epoch, also after a restart, when nobody is
// followed: a late Coordinator would bring back a leadership that ended.
//
// ◆ Nor if it names somebody below, or somebody suspected, or this process for a
// leadership that it does not hold. Had we followed, the highest would not lead; or we
// would follow the dead, whom the detector will not report twice; or each would take
// another for the leader and nobody would lead.
func (p *process) canFollow(said algo.Leader) bool {
	return said.Epoch >= p.epoch && !said.OlderThan(p.leader) &&
		p.view.IsAbove(said.ID, p.self) && !p.suspected.Has(said.ID)
}

// refuse answers a Coordinator that is not to be followed.
//
// ◆ Without an answer a leader would never hear of the newer epoch that keeps us from
// following it, and we would be left without it for good.
func (p *process) refuse(env algo.Env, from algo.NodeID, said algo.Leader) {
	// What cannot be followed still shows that its sender lives: it must not be led
	// by somebody below for want of an Answer.
	p.answered(env, from)
	switch {
	case said == p.leader && p.leads():
		// It knows.
	case said.OlderThan(p.leader) && !p.leader.Vacant():
		p.tell(env, from)
	case said.Epoch < p.epoch:
		env.Send(from, Answer{p.epoch})
	case said.ID != p.self && !p.view.MayLead(said.ID):
		env.Note("does not follow %s, which may not lead", said.ID)
	default:
		env.Note("contests the leadership of %s", said.ID)
		p.contest(env)
	}
}

// contest answers a leadership that must not be: a leader takes a newer epoch,
// anybody else calls for an election.
func (p *process) contest(env algo.Env) {
	switch {
	case p.phase != settled:
		// The election that is on will decide.
	case p.leads():
		p.bump(env)
	default:
		p.elect(env)
	}
}

// keepAhead gives a settled leader that has heard of a newer epoch a newer one
// still.
//
// ◆ Those who know the newer epoch cannot follow the leadership of the older one.
func (p *process) keepAhead(env algo.Env) {
	if p.phase == settled && p.leads() && p.leader.Epoch < p.epoch && p.bumps < maxBumps {
		env.Note("bumps its epoch: epoch %d is known", uint64(p.epoch))
		p.bump(env)
	}
}

// maxBumps is how many newer epochs a leader takes in one announce_interval. Two leaders
// who find each other are done with one or two.
const maxBumps = 3

// bump has a leader lead on in a newer epoch.
//
// ◆ At most so often in an announce_interval. Two leaders whose views differ, so that
// neither may follow the other, would else answer each bump with the next one for as long
// as that lasts.
func (p *process) bump(env algo.Env) {
	if p.bumps < maxBumps {
		p.bumps++
		p.lead(env)
	}
}

// beatsAbove takes it that one above this process beats, which it suspected or does not watch.
//
// ◆ Who was stopped, or cut off, goes on with what it believed. It would lead beside this one until
// either says so again, and no longer needs to be told than its first beat takes. Or else it is this
// process that was cut off, and would lead beside its leader, which it has not asked or not reached.
func (p *process) beatsAbove(env algo.Env, peer algo.NodeID) {
	switch {
	case p.phase == settled && p.leads():
		p.tell(env, peer)
	case p.phase == electing:
		p.awaited.Add(peer)
		env.Send(peer, Election{Epoch: p.epoch})
		env.SetTimer(timerAnswer, p.options.AnswerTimeout, p.options.AnswerTimeout)
	}
}

// repeatLeadership says again who leads, to those above too.
//
// ◆ This is how two leaders find each other after a partition has healed, or a
// stopped process goes on: each believes that all is well.
func (p *process) repeatLeadership(env algo.Env) {
	for other := range p.view.Others(p.self) {
		env.Send(other, algo.Repeat{Message: Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID}})
	}
	env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
}

// holdOut is what a process does that should lead and may not, since it is a witness or has
// resigned: it knows no leader, and asks again later.
//
// ◆ The sources know no such process. It would lead all the same, or wait for ever.
func (p *process) holdOut(env algo.Env) {
	env.Note("finds nobody to lead")
	p.vacate(env)
	p.phase = waiting
	p.watch(env)
	env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
}

// Reconfigure replaces the view.
//
// ◆ In the sources the processes are always the same. A leader that is a member no more, or
// may not lead any more, would be followed on; and who is above it would wait for its death.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.adopt(view.Stamp().Epoch)
	if !p.leader.Vacant() && !p.view.MayLead(p.leader.ID) {
		p.vacate(env) // it left, or resigned; maybe it was this process
	}
	waited := len(p.awaited) > 0
	p.awaited = slices.DeleteFunc(p.awaited, func(id algo.NodeID) bool { return !view.IsAbove(id, p.self) })
	switch {
	case p.phase == inquiring:
		p.elect(env) // it asked the members of before
	case p.phase == settled && p.leader.Vacant():
		p.succeed(env)
	case p.phase == settled && view.IsAbove(p.self, p.leader.ID):
		p.elect(env)
	case waited && len(p.awaited) == 0:
		p.goOn(env)
	default:
		p.watch(env)
	}
	p.keepAhead(env)
}
