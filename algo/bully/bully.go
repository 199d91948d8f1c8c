// Package bully implements the bully algorithm of Garcia-Molina ("Elections in a
// Distributed Computing System", 1982) as it is taught today: the live process with
// the highest ID becomes leader.
//
// A process that suspects its leader sends [Election] to every higher process. A live
// receiver replies with [Answer] and starts its own election. A process that receives
// no Answer within AnswerTimeout becomes leader and sends [Coordinator] to every lower
// process. A process that received an Answer waits for a Coordinator. If none arrives
// within CoordinatorTimeout, it starts its election again.
//
// For example, n3 leads n1 and n2 and crashes. n1 sends Election to n2. n2 replies with
// Answer and sends its own Election to n3. n3 does not reply, so n2 becomes leader and
// sends Coordinator to n1.
//
// IDs are compared after priorities, and a process that is not eligible is lower than
// every eligible one: "higher" and "lower" mean the order of [algo.Member.Compare].
//
// # Guarantees
//
// Once messages arrive in time and the failure detector is right, the highest live
// eligible process is the only leader, every live process knows it, and no further
// election starts. The epoch of a process never decreases, not even over a crash. A
// process follows a leader in an epoch only if that leader announced itself in that
// epoch.
//
// # Non-guarantees
//
// The algorithm needs no quorum. In a partition each side elects a leader. Two processes
// can also lead for a while, even in the same epoch, in three cases: a slow leader is
// suspected, the highest process recovers and receives no reply in time, or one
// Coordinator overtakes another. A process that can reach neither the leader nor a
// follower of it starts elections until it can. The highest process takes over when it
// recovers, even from a working leader: this is what gave the algorithm its name.
//
// # Cost
//
// N is the number of members, including the crashed leader. T is the one-way message
// time. Periodic Coordinators of a leader and messages of the failure detector are not
// counted.
//
//	the highest live process detects the crash     N−2 messages         T
//	all processes detect it at the same time       N−2 messages         T
//	the lowest detects it, no other suspicions     N²−N−1 messages      4T
//	all detect it, no other suspicions             N²−N−1 messages      3T
//	the highest process starts or recovers         3(N−1) messages      3T
//	N processes start at the same time             at most 3·N² messages
//
// # Beyond the sources
//
// bully.go contains what the sources describe. extensions.go contains the rules that no
// source has. Each of them is marked ◆, and its comment describes the failure that it
// prevents; a test shows that failure when the rule is removed. Package
// algo/textbook/bully has none of these rules.
package bully

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

const (
	timerHeadStart   algo.Timer = "head-start"  // runs in phase headStart
	timerAnswer      algo.Timer = "answer"      // runs in phases electing and inquiring
	timerCoordinator algo.Timer = "coordinator" // runs in phase waiting
	timerAnnounce    algo.Timer = "announce"    // runs while this process leads
)

// phase is the state of a process's own election. A process runs at most one election
// at a time.
type phase uint8

const (
	// idle: the process is in no election. It leads, follows, or knows of no leader.
	idle phase = iota
	// headStart: ◆ the process gives higher processes time to become leader. See
	// startSuccession.
	headStart
	// electing: the process has sent Election to higher processes and has received no
	// Answer yet.
	electing
	// waiting: a higher process has answered and is expected to send a Coordinator. A
	// process that is not eligible also waits here if it receives no Answer.
	waiting
	// inquiring: ◆ the process is about to lead and has asked lower processes for their
	// epochs. See sendInquiry.
	inquiring
)

// process is one member: the P of the sources.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View

	// epoch is the highest epoch that this process knows. It can be above leader.Epoch:
	// another process may have led in the meantime, or may be about to lead.
	epoch algo.Epoch
	// reserved is an epoch that is already saved for the next leadership, or 0.
	reserved algo.Epoch
	// leader is the last announcement: the leader that this process follows, this process
	// itself, or a vacancy.
	leader algo.Leader

	// bumps counts the newer epochs that this leader has taken since its announce timer
	// last expired. See bumpEpoch.
	bumps uint8

	// hasHadLeader is set once this process has followed or led since its start.
	hasHadLeader bool

	phase phase
	// pending are the processes that this election depends on. In phases headStart and
	// electing these are the higher processes that may be alive; in phase waiting, those that
	// have answered; in phase inquiring, the lower processes that have not answered.
	pending algo.Set
	// noReplyYet is set if this process sent Election to several processes and has received
	// no message since. See retryElection.
	noReplyYet bool
	// suspected are the monitored processes that the failure detector suspects.
	suspected algo.Set
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.adoptEpoch(view.ConfigID().Term)
	p.startElection(env)
}

// Campaign starts an election. The current leader stays announced until a leader is
// elected, possibly the same one.
func (p *process) Campaign(env algo.Env) {
	if p.phase == idle || p.phase == headStart {
		p.startElection(env)
	}
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		p.handleElection(env, from, m.Epoch)
	case Answer:
		p.adoptEpoch(m.Epoch)
		p.handleAnswer(env, from)
	case Coordinator:
		p.handleCoordinator(env, from, algo.Leader{Epoch: m.Epoch, ID: m.Leader})
	case Inquiry:
		p.handleInquiry(env, from)
	}
	p.noReplyYet = false
	p.raiseEpochIfBehind(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerHeadStart && p.phase == headStart:
		env.Note("received no Coordinator from a higher process")
		p.sendElection(env)
	case t == timerAnswer && p.noReplyYet:
		p.retryElection(env)
	case t == timerAnswer && (p.phase == electing || p.phase == inquiring):
		env.Note("no answer in time")
		p.becomeLeader(env)
	case t == timerCoordinator && p.phase == waiting:
		if highest := p.highestPending(); !highest.IsZero() {
			algo.ReportUnresponsive(env, highest, "answered but did not become leader")
		}
		p.startElection(env)
	case t == timerAnnounce && p.isLeader():
		p.bumps = 0
		p.repeatCoordinator(env)
	}
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	if peer == p.leader.ID {
		p.reserveEpoch()
		p.announceVacancy(env)
	}
	if p.phase == idle && p.leader.IsVacant() {
		env.Note("suspects its leader %s", peer)
		p.startSuccession(env)
	} else {
		p.removePending(env, peer)
	}
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	if p.view.IsHigher(peer, p.self) {
		p.handleHigherHeartbeat(env, peer)
	}
}

func (p *process) HardState() algo.HardState {
	return algo.HardState{Epoch: max(p.epoch, p.reserved)}
}

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.pending = slices.Clone(p.pending)
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// startElection starts an election, or starts the current one again. The source: "If P has
// the highest process id", it becomes leader without asking.
func (p *process) startElection(env algo.Env) {
	p.leaveElection(env)
	p.addPending(p.view.Higher(p.self))
	if len(p.pending) > 0 {
		p.sendElection(env)
	} else {
		p.becomeLeader(env)
	}
}

// sendElection sends Election to the pending processes.
func (p *process) sendElection(env algo.Env) {
	p.noReplyYet = len(p.pending) > 1
	p.sendToPending(env, electing, Election{p.epoch})
}

// sendToPending enters the phase next, sends m to the pending processes and waits for
// their Answers.
func (p *process) sendToPending(env algo.Env, next phase, m algo.Message) {
	p.phase = next
	p.updateMonitored(env)
	for _, peer := range p.pending {
		env.Send(peer, m)
	}
	env.SetTimer(timerAnswer, p.options.AnswerTimeout, p.options.AnswerTimeout)
}

// handleElection handles an Election. The source: "it sends an Answer message back and
// starts the election process at the beginning", "unless it has already done so".
func (p *process) handleElection(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	older := epoch < p.epoch
	p.adoptEpoch(epoch)
	switch {
	case !p.view.IsHigher(p.self, from):
		// Only "a process with a lower ID" gets an Answer. The sender has a different view
		// of the cluster. If it is in fact higher, it will lead, and an Answer would only
		// delay it.
		return
	case older:
		p.replyNewerEpoch(env, from, epoch)
		return
	}
	// The Answer goes out before our own election: the sender must not time out while
	// this process waits for Answers itself.
	env.Send(from, Answer{p.epoch})
	switch {
	case p.phase != idle:
		// At most one election at a time.
	case p.isLeader():
		p.replyCoordinator(env, from)
	default:
		p.startElection(env)
	}
}

// handleAnswer handles an Answer, or another message that shows that its sender is alive.
func (p *process) handleAnswer(env algo.Env, from algo.NodeID) {
	higher := p.view.IsHigher(from, p.self) && !p.suspected.Has(from)
	switch {
	case p.phase == waiting && higher:
		p.pending.Add(from)
	case p.phase == electing && p.pending.Has(from), p.phase == inquiring && higher:
		p.leaveElection(env)
		p.phase = waiting
		p.pending.Add(from)
		env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
	case p.phase == inquiring && p.pending.Remove(from) && len(p.pending) == 0:
		p.becomeLeader(env)
	}
}

// handleCoordinator handles a Coordinator that announces the leader l. The source: "it
// treats the sender as the coordinator". Here the sender may also be a follower of l.
func (p *process) handleCoordinator(env algo.Env, from algo.NodeID, l algo.Leader) {
	p.adoptEpoch(l.Epoch)
	if p.canFollow(l) {
		p.follow(env, l)
	} else {
		p.rejectCoordinator(env, from, l)
	}
}

// follow accepts l as the leader. If this process led, its leadership ends here.
func (p *process) follow(env algo.Env, l algo.Leader) {
	if l == p.leader && p.phase == idle {
		return
	}
	p.leaveElection(env)
	if p.isLeader() {
		env.StopTimer(timerAnnounce)
	}
	changed := l != p.leader
	p.leader, p.hasHadLeader = l, true
	p.updateMonitored(env)
	if changed {
		env.Announce(l)
	}
}

// becomeLeader makes this process the leader of a new epoch, or starts what has to come
// first: a process that is not eligible waits, and a process that has had no leader since its
// start sends Inquiry. Only becomeLeader takes a new epoch.
func (p *process) becomeLeader(env algo.Env) {
	hasInquired := p.phase == inquiring
	p.leaveElection(env)
	switch {
	case !p.view.IsEligible(p.self):
		p.waitIneligible(env)
		return
	case !p.hasHadLeader && !hasInquired && p.sendInquiry(env):
		return
	}
	if !p.isLeader() {
		p.bumps = 0
		env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
	}
	p.epoch++
	p.leader, p.hasHadLeader = algo.Leader{Epoch: p.epoch, ID: p.self}, true
	p.updateMonitored(env)
	for lower := range p.view.Lower(p.self) {
		p.sendCoordinator(env, lower)
	}
	env.Announce(p.leader)
}

// announceVacancy announces that this process knows of no leader.
func (p *process) announceVacancy(env algo.Env) {
	if p.leader.IsVacant() {
		return
	}
	if p.isLeader() {
		env.StopTimer(timerAnnounce)
	}
	p.leader.ID = algo.NodeID{}
	env.Announce(p.leader)
}

// leaveElection ends this process's own election, if there is one.
func (p *process) leaveElection(env algo.Env) {
	switch p.phase {
	case headStart:
		env.StopTimer(timerHeadStart)
	case electing, inquiring:
		env.StopTimer(timerAnswer)
	case waiting:
		env.StopTimer(timerCoordinator)
	}
	p.phase, p.pending, p.noReplyYet = idle, nil, false
}

// sendCoordinator sends a Coordinator that names the leader of this process.
func (p *process) sendCoordinator(env algo.Env, to algo.NodeID) {
	env.Send(to, Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID})
}

// isLeader reports whether this process considers itself the leader.
func (p *process) isLeader() bool { return p.leader.ID == p.self }
