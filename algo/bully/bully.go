// Package bully implements the bully algorithm of Garcia-Molina ("Elections in a
// Distributed Computing System", 1982), as it is taught today: the highest live
// process leads.
//
// A process that misses its leader asks everybody above it with [Election]. Whoever
// lives answers with [Answer] and asks on in turn. Who gets no answer in time leads
// and tells everybody below with [Coordinator]. A process that was answered waits
// for that Coordinator, and starts anew if none comes.
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
// There is no majority. Under a partition each side elects a leader, and for a
// while there are two, even in one epoch, when a slow leader is wrongly suspected,
// when the highest recovers while another announces itself, and when Coordinators
// overtake each other. A process that alone cannot reach the leader calls elections
// for as long as that lasts. The highest takes over when it recovers, also from a
// leader that works well: that is the bully.
//
// # What it costs
//
// N counts the members, the crashed leader too; T is the one-way message time.
// Repeats of a leader's Coordinator and the work of the failure detector are not
// counted.
//
//	the highest live process finds the crash     N−2 messages         T
//	everybody finds it at once                   N−2 messages         T
//	the lowest finds it, nobody suspects others  N²−N−1 messages      4T
//	everybody finds it, nobody suspects others   N²−N−1 messages      3T
//	the highest starts or recovers               N−1 messages         T
//	N start at once                              at most 3·N² messages
//
// # What the sources leave open
//
// The rules marked ◆ in the code are in none of the sources. Each mends a failure
// that shows when it is taken out; the tests do that.
package bully

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// The timers.
const (
	timerHeadStart   algo.Timer = "head-start"  // armed while electing, before anybody was asked
	timerAnswer      algo.Timer = "answer"      // armed while electing, once they were
	timerCoordinator algo.Timer = "coordinator" // armed while waiting
	timerAnnounce    algo.Timer = "announce"    // armed while this process leads
)

// phase says where a process is in its election. It is in at most one at a time.
type phase uint8

const (
	// settled: in no election. It leads, or follows somebody.
	settled phase = iota
	// electing: it has asked those above, or is about to, and nobody has answered yet.
	electing
	// waiting: somebody above has answered, so that a Coordinator is due. Also a
	// process that may not lead waits here when nobody answers it.
	waiting
)

// process is one member: the P of the sources.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View

	// epoch is the highest heard of. It is all that survives a crash. It may be
	// above leader.Epoch: somebody has led since, or tried to.
	epoch algo.Epoch
	// reserved is an epoch that is saved already and not used yet: that of the next
	// leadership, since this process knows that the last one is over.
	reserved algo.Epoch
	// leader is who is announced: whom this process follows, itself, or nobody.
	leader algo.Leader

	// bumps is how many newer epochs this leader has taken since its announce timer ended
	// last: see bump.
	bumps uint8

	phase phase
	// asking says, while electing, that those above were asked.
	asking bool
	// awaited are, while electing, those whose Answer is awaited, and while
	// waiting, those who answered: one of them should lead, or find out who does.
	awaited algo.Set
	// suspected are those of the monitored whom the detector takes for dead.
	suspected algo.Set
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.Stable) {
	p.view, p.epoch = view, saved.Epoch
	p.elect(env)
}

// Campaign calls for an election. The leader followed now stays announced until
// there is another, or the same one answers.
func (p *process) Campaign(env algo.Env) {
	switch {
	case p.phase == settled:
		p.elect(env)
	case p.headStart():
		env.StopTimer(timerHeadStart)
		p.ask(env)
	}
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		p.asked(env, from, m.Epoch)
	case Answer:
		p.adopt(m.Epoch)
		p.answered(env, from)
	case Coordinator:
		p.told(env, from, algo.Leader{Epoch: m.Epoch, ID: m.Leader})
	}
	p.keepAhead(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerHeadStart && p.headStart():
		env.Note("nobody above took the lead")
		p.ask(env)
	case t == timerAnswer && p.phase == electing && p.asking:
		env.Note("no answer in time")
		p.lead(env)
	case t == timerCoordinator && p.phase == waiting:
		env.Note("no coordinator in time")
		p.elect(env)
	case t == timerAnnounce && p.leads():
		p.bumps = 0
		p.repeatLeadership(env)
	}
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	if peer == p.leader.ID {
		p.reserve()
		p.vacate(env)
	}
	switch {
	case p.phase == settled && p.leader.Vacant():
		env.Note("suspects its leader %s", peer)
		p.succeed(env)
	case !p.options.SkipSuspected || !p.awaited.Remove(peer):
	case len(p.awaited) > 0:
		if p.headStart() {
			p.watch(env) // the next heir
		}
	default:
		// ◆ The wait ends with the last one it was for. A crash in the middle of an
		// election would otherwise cost a whole timeout, for each that crashes.
		env.Note("suspects %s, the last it waited for", peer)
		p.goOn(env)
	}
}

func (p *process) Trust(_ algo.Env, peer algo.NodeID) { p.suspected.Remove(peer) }

func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	if !p.leader.Vacant() && !p.view.MayLead(p.leader.ID) {
		p.vacate(env) // it left, or resigned; maybe it was this process
	}
	waited := len(p.awaited) > 0
	p.awaited = slices.DeleteFunc(p.awaited, func(id algo.NodeID) bool { return !view.IsAbove(id, p.self) })
	switch {
	case p.phase == settled && p.leader.Vacant():
		p.succeed(env)
	case p.phase == settled && view.IsAbove(p.self, p.leader.ID):
		p.elect(env)
	case waited && len(p.awaited) == 0:
		p.goOn(env)
	default:
		p.watch(env)
	}
}

func (p *process) Stable() algo.Stable {
	return algo.Stable{Epoch: max(p.epoch, p.reserved)}
}

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.awaited = slices.Clone(p.awaited)
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// adopt takes over an epoch that is higher than what this process knows.
//
// ◆ Every message's epoch is adopted, and saved before anything is sent. Else a
// process that comes back would number its leadership below what the others have
// seen, and they would refuse it round after round.
func (p *process) adopt(e algo.Epoch) { p.epoch = max(p.epoch, e) }

// reserve has the epoch of the next leadership saved as soon as the last one is over.
// Else each follower would save it only when the new leader's Coordinator is there, and
// a failover would wait for two saves in a row. It is no more than a save: messages go
// on carrying the epoch, so that a leader who was suspected wrongly keeps its own.
func (p *process) reserve() { p.reserved = p.epoch + 1 }

// elect starts an election, or starts it anew.
func (p *process) elect(env algo.Env) {
	if p.await(env) {
		p.ask(env)
	}
}

// succeed starts the election that follows the end of a leader. Mostly all see it at
// once, and the highest of them leads without having asked anybody. So those below
// leave it a head start: if each of them asked all above, N−2 messages would become
// about N², and the answers would keep the new leader from telling that it leads.
func (p *process) succeed(env algo.Env) {
	switch {
	case !p.await(env):
	case p.options.SkipSuspected && p.options.HeadStart > 0:
		env.SetTimer(timerHeadStart, p.options.HeadStart, p.options.HeadStart)
	default:
		p.ask(env)
	}
}

// await enters an election and reports whether there is anybody to ask. If not, this
// process leads.
func (p *process) await(env algo.Env) bool {
	p.leaveElection(env)
	for above := range p.view.Above(p.self) {
		if !p.options.SkipSuspected || !p.suspected.Has(above) {
			p.awaited.Add(above)
		}
	}
	if len(p.awaited) == 0 {
		p.lead(env)
		return false
	}
	p.phase = electing
	p.watch(env)
	return true
}

// ask sends the Election to those above.
func (p *process) ask(env algo.Env) {
	p.asking = true
	p.watch(env)
	for _, above := range p.awaited {
		env.Send(above, Election{p.epoch})
	}
	env.SetTimer(timerAnswer, p.options.AnswerTimeout, p.options.AnswerTimeout)
}

// asked takes an Election.
func (p *process) asked(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	older := epoch < p.epoch
	p.adopt(epoch)
	if !p.view.IsAbove(p.self, from) {
		// Its view of the cluster is another than ours. If it is above us indeed it
		// will lead, and an answer would only keep it waiting.
		return
	}
	if older {
		// An election of an older epoch changes nothing, it is answered with the newer
		// one. Else, when all start at once, the elections of the late would start new
		// ones among those who follow already: 30 nodes would send 6 million messages,
		// instead of 900, if the leader also told everybody each time, below.
		if !p.leader.Vacant() && p.leader.Epoch > epoch {
			p.tell(env, from)
		} else {
			env.Send(from, Answer{p.epoch})
		}
		return
	}
	// Answer before electing: the asker must not time out while we wait for answers
	// of our own.
	env.Send(from, Answer{p.epoch})
	switch {
	case p.phase != settled:
		// At most one election at a time.
	case !p.leads():
		p.elect(env)
	case p.leader.Epoch == p.epoch:
		// To the asker alone: everybody else has been told.
		p.tell(env, from)
	}
}

// answered takes a sign of life from somebody who may have been asked.
func (p *process) answered(env algo.Env, from algo.NodeID) {
	switch {
	case p.phase == electing && p.awaited.Has(from):
		p.leaveElection(env)
		p.phase = waiting
		p.awaited.Add(from)
		env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
	case p.phase == waiting && p.view.IsAbove(from, p.self) && !p.suspected.Has(from):
		p.awaited.Add(from)
	}
}

// told takes a Coordinator, which may be passed on by somebody else than the
// leader that it names.
func (p *process) told(env algo.Env, from algo.NodeID, said algo.Leader) {
	p.adopt(said.Epoch)
	if p.canFollow(said) {
		p.follow(env, said)
		return
	}
	// What cannot be followed still shows that its sender lives: it must not be led
	// by somebody below for want of an Answer.
	p.answered(env, from)
	switch {
	case said == p.leader && p.leads():
		// It knows.
	case said.OlderThan(p.leader) && !p.leader.Vacant():
		p.tell(env, from)
	case said.Epoch < p.epoch:
		// ◆ Without an answer the leader would never hear of the newer epoch that keeps
		// us from following it, and we would be left without it for good.
		env.Send(from, Answer{p.epoch})
	case said.ID != p.self && !p.view.MayLead(said.ID):
		env.Note("does not follow %s, which may not lead", said.ID)
	default:
		// ◆ It names somebody below, or somebody suspected, or this process for a
		// leadership that it does not hold. Had we followed, the highest would not
		// lead; or we would follow the dead, whom the detector will not report twice;
		// or each would take another for the leader and nobody would lead.
		env.Note("contests the leadership of %s", said.ID)
		p.contest(env)
	}
}

// canFollow reports whether a Coordinator for said is to be followed.
//
// ◆ Not if it is older than the epoch, also after a restart, when nobody is
// followed: a late Coordinator would bring back a leadership that ended.
func (p *process) canFollow(said algo.Leader) bool {
	return said.Epoch >= p.epoch && !said.OlderThan(p.leader) &&
		p.view.IsAbove(said.ID, p.self) && !p.suspected.Has(said.ID)
}

// follow takes l for the leader. A leader steps down this way.
func (p *process) follow(env algo.Env, l algo.Leader) {
	if l == p.leader && p.phase == settled {
		return
	}
	p.leaveElection(env)
	if p.leads() {
		env.StopTimer(timerAnnounce)
	}
	changed := l != p.leader
	p.leader = l
	p.watch(env)
	if changed {
		env.Announce(l)
	}
}

// lead makes this process the leader of a new epoch. The epoch is bumped nowhere
// else.
func (p *process) lead(env algo.Env) {
	p.leaveElection(env)
	if !p.view.MayLead(p.self) {
		p.holdOut(env)
		return
	}
	p.epoch++
	p.leader = algo.Leader{Epoch: p.epoch, ID: p.self}
	p.bumps = 0
	p.watch(env)
	for below := range p.view.Below(p.self) {
		p.tell(env, below)
	}
	env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
	env.Announce(p.leader)
}

// holdOut is what a process does that should lead and may not: it knows no leader,
// and asks again later.
func (p *process) holdOut(env algo.Env) {
	env.Note("finds nobody to lead")
	p.vacate(env)
	p.phase = waiting
	p.watch(env)
	env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
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
	if bumps := p.bumps; bumps < maxBumps {
		p.lead(env)
		p.bumps = bumps + 1
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

// goOn continues an election when nobody is left to wait for.
func (p *process) goOn(env algo.Env) {
	if p.phase == electing {
		p.lead(env)
	} else {
		p.elect(env)
	}
}

// vacate announces that nobody is known to lead.
func (p *process) vacate(env algo.Env) {
	if p.leader.Vacant() {
		return
	}
	if p.leads() {
		env.StopTimer(timerAnnounce)
	}
	p.leader.ID = algo.NodeID{}
	env.Announce(p.leader)
}

// leaveElection forgets the election that this process is in, if it is in one.
func (p *process) leaveElection(env algo.Env) {
	switch {
	case p.headStart():
		env.StopTimer(timerHeadStart)
	case p.phase == electing:
		env.StopTimer(timerAnswer)
	case p.phase == waiting:
		env.StopTimer(timerCoordinator)
	}
	p.phase, p.asking = settled, false
	p.awaited = nil
}

// repeatLeadership says again who leads, to those above too.
//
// ◆ This is how two leaders find each other after a partition has healed, or a
// stopped process goes on: each believes that all is well.
func (p *process) repeatLeadership(env algo.Env) {
	for other := range p.view.Others(p.self) {
		env.Send(other, Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID, Repeat: true})
	}
	env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
}

// tell sends a Coordinator for whom this process follows, or for itself.
func (p *process) tell(env algo.Env, to algo.NodeID) {
	env.Send(to, Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID})
}

// watch has the detector watch those whom this process depends on. A settled leader
// depends on nobody; a follower on its leader; and in an election on everybody
// above. ◆ Those whose answer is awaited are among them, so that their crash ends
// the wait; and those who are suspected, so that a Coordinator for one of them is
// known for what it is, until the detector trusts them again. In a head start it depends
// on the heir alone: the highest who may live.
func (p *process) watch(env algo.Env) {
	var watched algo.Set
	if p.phase != settled {
		heir := p.heir()
		for above := range p.view.Above(p.self) {
			if !p.headStart() || above == heir || p.suspected.Has(above) {
				watched.Add(above)
			}
		}
	}
	if !p.leader.Vacant() && !p.leads() {
		watched.Add(p.leader.ID)
	}
	p.suspected.Keep(watched) // the detector forgets the others too
	env.Monitor(watched...)
}

// headStart reports whether those above are left to lead without being asked.
func (p *process) headStart() bool { return p.phase == electing && !p.asking }

// heir is the highest of those awaited.
func (p *process) heir() (heir algo.NodeID) {
	for _, id := range p.awaited {
		if heir.IsZero() || p.view.IsAbove(id, heir) {
			heir = id
		}
	}
	return heir
}

// leads reports whether this process leads, as it sees it.
func (p *process) leads() bool { return p.leader.ID == p.self }
