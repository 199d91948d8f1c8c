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
// when the highest recovers and nobody who knows better answers it in time, and when
// Coordinators overtake each other. A process that hears neither the leader nor anybody who does
// calls elections for as long as that lasts. The highest takes over when it recovers, also from a
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
//	the highest starts or recovers               3(N−1) messages      3T
//	N start at once                              at most 3·N² messages
//
// # What the sources leave open
//
// This file is what the sources say. The rules that are in none of them are marked ◆ and
// stand in repairs.go, each a function with a name. Each mends a failure that shows when
// it is taken out; the tests do that. Package algo/textbook/bully has none of them.
package bully

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// The timers.
const (
	timerHeadStart   algo.Timer = "head-start"  // armed while electing, before anybody was asked
	timerAnswer      algo.Timer = "answer"      // armed while electing, once they were, and while inquiring
	timerCoordinator algo.Timer = "coordinator" // armed while waiting
	timerAnnounce    algo.Timer = "announce"    // armed while this process leads
)

// phase says where a process is in its election. It is in at most one at a time.
type phase uint8

const (
	// settled: in no election. It leads, or follows somebody.
	settled phase = iota
	// headStart: ◆ those above are left to lead without being asked. See succeed.
	headStart
	// electing: it has asked those above, and nobody has answered yet.
	electing
	// waiting: somebody above has answered, so that a Coordinator is due. Also a
	// process that may not lead waits here when nobody answers it.
	waiting
	// inquiring: ◆ it is about to lead, and has asked those below for their epoch. See inquire.
	inquiring
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

	// informed: it has followed or led somebody since its start.
	informed bool

	phase phase
	// awaited are, until somebody answers, those above who may, and while
	// waiting, those who answered: one of them should lead, or find out who does.
	// While inquiring they are those below who have not answered.
	awaited algo.Set
	// deaf: nothing has come since this process asked several who may live. See askAgain.
	deaf bool
	// suspected are those of the monitored whom the detector takes for dead.
	suspected algo.Set
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.Stable) {
	p.view, p.epoch = view, saved.Epoch
	p.adopt(view.Stamp().Epoch)
	p.elect(env)
}

// Campaign calls for an election. The leader followed now stays announced until
// there is another, or the same one answers.
func (p *process) Campaign(env algo.Env) {
	if p.phase == settled || p.phase == headStart {
		p.elect(env)
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
	case Inquiry:
		p.inquired(env, from)
	}
	p.deaf = false
	p.keepAhead(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerHeadStart && p.phase == headStart:
		env.Note("nobody above took the lead")
		p.ask(env)
	case t == timerAnswer && p.deaf:
		p.askAgain(env)
	case t == timerAnswer && (p.phase == electing || p.phase == inquiring):
		env.Note("no answer in time")
		p.lead(env)
	case t == timerCoordinator && p.phase == waiting:
		if heir := p.heir(); !heir.IsZero() {
			algo.Miss(env, heir, "answered and does not lead")
		}
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
	if p.phase == settled && p.leader.Vacant() {
		env.Note("suspects its leader %s", peer)
		p.succeed(env)
	} else {
		p.awaitNoMore(env, peer)
	}
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	if p.view.IsAbove(peer, p.self) {
		p.beatsAbove(env, peer)
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

// elect starts an election, or starts it anew. "If P has the highest process id", it leads
// without.
func (p *process) elect(env algo.Env) {
	p.leaveElection(env)
	p.awaitThose(p.view.Above(p.self))
	if len(p.awaited) > 0 {
		p.ask(env)
	} else {
		p.lead(env)
	}
}

// ask sends the Election to those above.
func (p *process) ask(env algo.Env) {
	p.deaf = len(p.awaited) > 1
	p.question(env, electing, Election{p.epoch})
}

// question asks those awaited, and waits for their answers in that phase.
func (p *process) question(env algo.Env, in phase, m algo.Message) {
	p.phase = in
	p.watch(env)
	for _, other := range p.awaited {
		env.Send(other, m)
	}
	env.SetTimer(timerAnswer, p.options.AnswerTimeout, p.options.AnswerTimeout)
}

// asked takes an Election: "it sends an Answer message back and starts the election process
// at the beginning", "unless it has already done so".
func (p *process) asked(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	older := epoch < p.epoch
	p.adopt(epoch)
	switch {
	case !p.view.IsAbove(p.self, from):
		// Only "a process with a lower ID" is answered. This one's view of the cluster is
		// another than ours. If it is above us indeed it will lead, and an answer would only
		// keep it waiting.
		return
	case older:
		p.bringUpToDate(env, from, epoch)
		return
	}
	// Answer before electing: the asker must not time out while we wait for answers
	// of our own.
	env.Send(from, Answer{p.epoch})
	switch {
	case p.phase != settled:
		// At most one election at a time.
	case p.leads():
		p.tellTheAsker(env, from)
	default:
		p.elect(env)
	}
}

// answered takes a sign of life from somebody who may have been asked.
func (p *process) answered(env algo.Env, from algo.NodeID) {
	above := p.view.IsAbove(from, p.self) && !p.suspected.Has(from)
	switch {
	case p.phase == waiting && above:
		p.awaited.Add(from)
	case p.phase == electing && p.awaited.Has(from), p.phase == inquiring && above:
		p.leaveElection(env)
		p.phase = waiting
		p.awaited.Add(from)
		env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
	case p.phase == inquiring && p.awaited.Remove(from) && len(p.awaited) == 0:
		p.lead(env)
	}
}

// told takes a Coordinator: "it treats the sender as the coordinator". It may be passed on
// by somebody else than the leader that it names.
func (p *process) told(env algo.Env, from algo.NodeID, said algo.Leader) {
	p.adopt(said.Epoch)
	if p.canFollow(said) {
		p.follow(env, said)
	} else {
		p.refuse(env, from, said)
	}
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
	p.leader, p.informed = l, true
	p.watch(env)
	if changed {
		env.Announce(l)
	}
}

// lead makes this process the leader of a new epoch. The epoch is bumped nowhere
// else.
func (p *process) lead(env algo.Env) {
	asked := p.phase == inquiring
	p.leaveElection(env)
	switch {
	case !p.view.MayLead(p.self):
		p.holdOut(env)
		return
	case !p.informed && !asked && p.inquire(env):
		return
	}
	if !p.leads() {
		p.bumps = 0
		env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
	}
	p.epoch++
	p.leader, p.informed = algo.Leader{Epoch: p.epoch, ID: p.self}, true
	p.watch(env)
	for below := range p.view.Below(p.self) {
		p.tell(env, below)
	}
	env.Announce(p.leader)
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
	switch p.phase {
	case headStart:
		env.StopTimer(timerHeadStart)
	case electing, inquiring:
		env.StopTimer(timerAnswer)
	case waiting:
		env.StopTimer(timerCoordinator)
	}
	p.phase, p.awaited, p.deaf = settled, nil, false
}

// tell sends a Coordinator for whom this process follows, or for itself.
func (p *process) tell(env algo.Env, to algo.NodeID) {
	env.Send(to, Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID})
}

// leads reports whether this process leads, as it sees it.
func (p *process) leads() bool { return p.leader.ID == p.self }
