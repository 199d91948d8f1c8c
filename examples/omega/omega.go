// Package omega is an election algorithm as a user of this module might add it: a
// fourth one, in a package of its own.
//
// It is that of Larrea, Fernández and Arévalo ("Optimal Implementation of the Weakest
// Failure Detector for Solving Consensus", 2000), which implements Ω, the eventual
// leader: everybody trusts the highest process that it does not suspect, and watches
// nobody else. There is nothing to elect. Whoever finds nobody above itself leads and
// says so, again and again. Whoever is suspected wrongly is heard again, and trusted.
// (There the first process is trusted, not the highest.)
//
// # What it promises
//
// Once messages arrive in time and the failure detector is right, there is one leader,
// the highest live eligible process, and all live processes know it. An epoch never goes
// back, over crashes too. Whoever is followed in an epoch has itself announced that it
// leads in that epoch.
//
// # What it does not promise
//
// There is no majority: under a partition each side has a leader, and for a while there
// may be two, even in one epoch. Who suspects the leader wrongly, and alone, is without
// one until it says again that it leads. And two leaders that know the membership
// differently outdo each other until they know the same; leaders watch nobody, so that no
// heartbeat tells them.
//
// # What it costs
//
// A failover is N−2 messages and takes T, the one-way message time, once all have found
// the crash. At rest everybody watches the leader: N−1 pairs.
package omega

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// Lead says that its sender leads in Epoch.
type Lead struct{ Epoch algo.Epoch }

// Ask asks its receiver to say so if it leads, in an epoch that is not older than this.
type Ask struct{ Epoch algo.Epoch }

// Kind is "lead".
func (Lead) Kind() string { return "lead" }

// Kind is "ask".
func (Ask) Kind() string { return "ask" }

// timerRepeat is armed while this process leads.
const timerRepeat algo.Timer = "repeat"

// process is one member.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View

	epoch  algo.Epoch  // the highest heard of; saved
	leader algo.Leader // announced: whom this process follows, itself, or nobody
	// trusted is the highest who may lead and is not suspected: maybe this process itself,
	// or nobody.
	trusted   algo.NodeID
	suspected algo.Set // those above who are taken for dead
	// heard is the leadership that was heard of last: of somebody, maybe, who is not trusted
	// yet because nobody has noticed yet that all above are dead.
	heard algo.Leader
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.trust(env)
	p.ask(env)
}

// Campaign has a leader begin anew, and anybody else ask: it has nobody to put forward.
func (p *process) Campaign(env algo.Env) {
	if p.leads() {
		p.lead(env)
	}
	p.ask(env)
}

// ask asks whom this process trusts to say that it leads.
func (p *process) ask(env algo.Env) {
	if p.trusted != p.self && !p.trusted.IsZero() {
		env.Send(p.trusted, Ask{p.epoch})
	}
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Lead:
		p.told(env, algo.Leader{Epoch: m.Epoch, ID: from})
	case Ask:
		p.asked(env, from, m.Epoch)
	}
}

// told takes a Lead.
func (p *process) told(env algo.Env, l algo.Leader) {
	if l.Epoch < p.epoch {
		env.Send(l.ID, Ask{p.epoch}) // it must not go on in an epoch that is over
		return
	}
	p.epoch, p.heard = l.Epoch, l
	p.suspected.Remove(l.ID) // "I am the leader": it lives
	p.trust(env)
	if p.leads() {
		p.answer(env, l.ID)
	}
}

// asked takes an Ask.
func (p *process) asked(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	p.epoch = max(p.epoch, epoch)
	if p.leads() {
		p.answer(env, from)
	}
}

// answer tells who leads to somebody who does not follow this leader: and to all, in a
// newer epoch, if one is known that is newer than its own.
func (p *process) answer(env algo.Env, other algo.NodeID) {
	if p.epoch > p.leader.Epoch {
		p.lead(env)
		return
	}
	env.Send(other, Lead{Epoch: p.leader.Epoch})
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	if t == timerRepeat && p.leads() {
		p.say(env, true)
	}
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	if peer == p.heard.ID {
		p.heard = algo.Leader{}
	}
	p.trust(env)
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	p.trust(env)
}

func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.trust(env)
	if p.leader.IsVacant() {
		p.ask(env)
	}
}

func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.epoch} }

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// trust finds the highest who is not suspected, and leads if that is this process, or
// follows it if it is known to lead. Until then whoever leads now is good enough, as long
// as it lives.
func (p *process) trust(env algo.Env) {
	p.trusted = p.highest()
	switch {
	case p.trusted == p.self && !p.leads():
		p.lead(env)
	case p.trusted == p.heard.ID && p.heard.Epoch == p.epoch:
		p.follow(env, p.heard)
	case !p.leader.IsVacant() && !p.mayLead(p.leader.ID):
		p.follow(env, algo.Leader{Epoch: p.leader.Epoch})
	}
	p.watch(env)
}

// highest is the highest who may lead, as far as this process knows, or nobody.
func (p *process) highest() (highest algo.NodeID) {
	for m := range p.view.All() {
		if p.mayLead(m.ID) && (highest.IsZero() || p.view.IsHigher(m.ID, highest)) {
			highest = m.ID
		}
	}
	return highest
}

// mayLead reports whether id is a member that is eligible and not suspected.
func (p *process) mayLead(id algo.NodeID) bool {
	m, ok := p.view.Member(id)
	return ok && m.Eligible && !p.suspected.Has(id)
}

// lead makes this process the leader of a new epoch.
func (p *process) lead(env algo.Env) {
	p.epoch++
	p.leader = algo.Leader{Epoch: p.epoch, ID: p.self}
	p.say(env, false)
	env.Announce(p.leader)
}

// say tells all others who leads: those above as well, who may have been cut off. What is
// said again counts as a heartbeat.
func (p *process) say(env algo.Env, again bool) {
	var m algo.Message = Lead{Epoch: p.leader.Epoch}
	if again {
		m = algo.Periodic{Message: m}
	}
	for other := range p.view.Others(p.self) {
		env.Send(other, m)
	}
	env.SetTimer(timerRepeat, p.options.RepeatInterval, p.options.RepeatInterval)
}

// follow takes l for the leader, or for the vacancy after one.
func (p *process) follow(env algo.Env, l algo.Leader) {
	if l == p.leader {
		return
	}
	if p.leads() {
		env.StopTimer(timerRepeat)
	}
	p.leader = l
	env.Announce(l)
}

// leads reports whether this process leads, as it sees it.
func (p *process) leads() bool { return p.leader.ID == p.self }

// watch has the detector watch whom this process trusts, and whom it follows meanwhile.
// Who is suspected is watched no more: it is heard when it leads.
func (p *process) watch(env algo.Env) {
	var watched algo.Set
	for _, id := range []algo.NodeID{p.trusted, p.leader.ID} {
		if !id.IsZero() && id != p.self {
			watched.Add(id)
		}
	}
	env.Monitor(watched...)
}
