// Package omega is an election algorithm as a user of this module might add it: a fourth one, in a
// package of its own.
//
// It is the algorithm of Larrea, Fernández and Arévalo ("Optimal Implementation of the Weakest
// Failure Detector for Solving Consensus", 2000), which implements Ω, the eventual leader. Each
// process trusts the highest process that it does not suspect, and monitors only that one. There is
// no election. A process that trusts itself leads, and sends Lead periodically. A process that is
// suspected falsely is heard again, and trusted. (In the paper the lowest process is trusted.)
//
// # Guarantees
//
// Once messages arrive in time and the failure detector is right, there is one leader, the highest
// live eligible process, and all live processes know it. Epochs never decrease, even over crashes.
// A process that is followed in an epoch has announced itself in that epoch.
//
// # Non-guarantees
//
// There is no majority. Under a partition each side has a leader, and for a while there may be two,
// even in one epoch. A process that alone suspects the leader falsely has no leader until the next
// Lead. Two leaders with different views replace each other until their views are equal: leaders
// monitor no process, so no heartbeat informs them.
//
// # Cost
//
// A failover takes N−2 messages and T, the one-way message time, once all processes have detected
// the crash. At rest all processes monitor the leader: N−1 pairs.
package omega

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// Lead announces that its sender leads in Epoch.
type Lead struct{ Epoch algo.Epoch }

// Ask requests a Lead from a receiver that leads, in an epoch that is at least Epoch.
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

	epoch  algo.Epoch  // highest known epoch; saved
	leader algo.Leader // last announcement: the followed process, this process, or none
	// trusted is the highest process that is eligible and not suspected: perhaps this process, or none.
	trusted   algo.NodeID
	suspected algo.Set // higher processes
	// lastLead is the leadership of the last Lead. Its process may not be trusted yet, because this process does not
	// suspect all higher ones yet.
	lastLead algo.Leader
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.updateTrusted(env)
	p.sendAsk(env)
}

// Campaign starts a new epoch of a leader. Any other process sends Ask: it cannot propose another leader.
func (p *process) Campaign(env algo.Env) {
	if p.isLeader() {
		p.becomeLeader(env)
	}
	p.sendAsk(env)
}

// sendAsk sends Ask to the trusted process.
func (p *process) sendAsk(env algo.Env) {
	if p.trusted != p.self && !p.trusted.IsZero() {
		env.Send(p.trusted, Ask{p.epoch})
	}
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Lead:
		p.handleLead(env, algo.Leader{Epoch: m.Epoch, ID: from})
	case Ask:
		p.handleAsk(env, from, m.Epoch)
	}
}

// handleLead handles a Lead.
func (p *process) handleLead(env algo.Env, l algo.Leader) {
	if l.Epoch < p.epoch {
		env.Send(l.ID, Ask{p.epoch}) // its epoch has ended
		return
	}
	p.epoch, p.lastLead = l.Epoch, l
	p.suspected.Remove(l.ID) // "I am the leader": it is alive
	p.updateTrusted(env)
	if p.isLeader() {
		p.replyLead(env, l.ID)
	}
}

// handleAsk handles an Ask.
func (p *process) handleAsk(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	p.epoch = max(p.epoch, epoch)
	if p.isLeader() {
		p.replyLead(env, from)
	}
}

// replyLead sends Lead to a process that does not follow this leader. If a newer epoch is known, it sends Lead in a new
// epoch to all.
func (p *process) replyLead(env algo.Env, other algo.NodeID) {
	if p.epoch > p.leader.Epoch {
		p.becomeLeader(env)
		return
	}
	env.Send(other, Lead{Epoch: p.leader.Epoch})
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	if t == timerRepeat && p.isLeader() {
		p.sendLead(env, true)
	}
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	if peer == p.lastLead.ID {
		p.lastLead = algo.Leader{}
	}
	p.updateTrusted(env)
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	p.updateTrusted(env)
}

func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.updateTrusted(env)
	if p.leader.IsVacant() {
		p.sendAsk(env)
	}
}

func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.epoch} }

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// updateTrusted finds the highest process that is not suspected. This process leads if that is itself, and follows it
// if it is known to lead. Until then it follows the present leader as long as that one is not suspected.
func (p *process) updateTrusted(env algo.Env) {
	p.trusted = p.highest()
	switch {
	case p.trusted == p.self && !p.isLeader():
		p.becomeLeader(env)
	case p.trusted == p.lastLead.ID && p.lastLead.Epoch == p.epoch:
		p.follow(env, p.lastLead)
	case !p.leader.IsVacant() && !p.isCandidate(p.leader.ID):
		p.follow(env, algo.Leader{Epoch: p.leader.Epoch})
	}
	p.updateMonitored(env)
}

// highest returns the highest candidate that this process knows, or the zero ID.
func (p *process) highest() (highest algo.NodeID) {
	for m := range p.view.All() {
		if p.isCandidate(m.ID) && (highest.IsZero() || p.view.IsHigher(m.ID, highest)) {
			highest = m.ID
		}
	}
	return highest
}

// isCandidate reports whether id is a member that is eligible and not suspected.
func (p *process) isCandidate(id algo.NodeID) bool {
	m, ok := p.view.Member(id)
	return ok && m.Eligible && !p.suspected.Has(id)
}

// becomeLeader makes this process the leader of a new epoch.
func (p *process) becomeLeader(env algo.Env) {
	p.epoch++
	p.leader = algo.Leader{Epoch: p.epoch, ID: p.self}
	p.sendLead(env, false)
	env.Announce(p.leader)
}

// sendLead sends Lead to all others, including higher processes, which may have been cut off. A repeated Lead counts as
// a heartbeat.
func (p *process) sendLead(env algo.Env, again bool) {
	var m algo.Message = Lead{Epoch: p.leader.Epoch}
	if again {
		m = algo.Periodic{Message: m}
	}
	for other := range p.view.Others(p.self) {
		env.Send(other, m)
	}
	env.SetTimer(timerRepeat, p.options.RepeatInterval, p.options.RepeatInterval)
}

// follow announces l, a leader or a vacancy.
func (p *process) follow(env algo.Env, l algo.Leader) {
	if l == p.leader {
		return
	}
	if p.isLeader() {
		env.StopTimer(timerRepeat)
	}
	p.leader = l
	env.Announce(l)
}

// isLeader reports whether this process leads, as far as it knows.
func (p *process) isLeader() bool { return p.leader.ID == p.self }

// updateMonitored monitors the trusted process, and the one that this process follows meanwhile. A suspected process is
// no longer monitored: its next Lead refutes the suspicion.
func (p *process) updateMonitored(env algo.Env) {
	var monitored algo.Set
	for _, id := range []algo.NodeID{p.trusted, p.leader.ID} {
		if !id.IsZero() && id != p.self {
			monitored.Add(id)
		}
	}
	env.Monitor(monitored...)
}
