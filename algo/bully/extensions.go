package bully

import (
	"iter"
	"slices"

	"github.com/elect-go/elect/algo"
)

// This file contains the rules that no source has. Each is marked ◆ and says what fails
// without it. The rules are in the order in which an election meets them.

// reserveEpoch saves the epoch of the next leadership as soon as the current one ends.
//
// ◆ Without this rule, a follower saves the new epoch only when the Coordinator of the new
// leader arrives, and a failover waits for two saves, one after the other. With it, the
// follower's save is done before. Messages keep carrying the old epoch, so a leader that was
// falsely suspected can keep its epoch.
func (p *process) reserveEpoch() { p.reserved = p.epoch + 1 }

// startSuccession starts the election that follows the end of a leadership.
//
// ◆ Usually all processes detect the end at the same time, and the highest of them becomes
// leader without sending Election. With this rule, lower processes first give it a head start.
// Without it, every process sends Election to all higher ones: N−2 messages become about N²,
// and replying delays the Coordinators of the new leader.
func (p *process) startSuccession(env algo.Env) {
	p.addPending(p.view.Higher(p.self))
	if len(p.pending) == 0 || !p.options.SkipSuspected || p.options.HeadStart == 0 {
		p.startElection(env)
		return
	}
	p.phase = headStart
	p.updateMonitored(env)
	env.SetTimer(timerHeadStart, p.options.HeadStart, p.options.HeadStart)
}

// highestPending returns the highest pending process, or zero if none is pending.
func (p *process) highestPending() (highest algo.NodeID) {
	for _, id := range p.pending {
		if highest.IsZero() || p.view.IsHigher(id, highest) {
			highest = id
		}
	}
	return highest
}

// addPending adds the peers to the pending processes, except suspected ones.
//
// ◆ In the sources, a process sends Election to every higher process, and waits a whole
// AnswerTimeout for the crashed ones among them.
func (p *process) addPending(peers iter.Seq[algo.NodeID]) {
	for peer := range peers {
		if !p.options.SkipSuspected || !p.suspected.Has(peer) {
			p.pending.Add(peer)
		}
	}
}

// updateMonitored tells the failure detector which processes to monitor. A follower monitors
// its leader. A leader monitors no process. In an election, a process also monitors every
// higher process.
//
// ◆ The higher processes include the pending ones, so a crash of one ends the wait for it.
// They include the suspected ones, so that a Coordinator that names one of them is
// recognized as outdated until the detector trusts it again. During a head start, only the
// highest pending process and the suspected ones matter. During an inquiry, the pending lower
// processes are monitored as well.
func (p *process) updateMonitored(env algo.Env) {
	var monitored algo.Set
	if p.phase != idle {
		highest := p.highestPending()
		for peer := range p.view.Others(p.self) {
			inquired := p.phase == inquiring && p.pending.Has(peer)
			if inquired || p.view.IsHigher(peer, p.self) && (p.phase != headStart || peer == highest || p.suspected.Has(peer)) {
				monitored.Add(peer)
			}
		}
	}
	if !p.leader.IsVacant() && !p.isLeader() {
		monitored.Add(p.leader.ID)
	}
	p.suspected.Retain(monitored) // the detector also forgets its suspicion of the others
	env.Monitor(monitored...)
}

// removePending continues the election without peer, which is suspected.
//
// ◆ The wait ends when the last pending process is suspected. Without this rule, each process
// that crashes during an election costs a whole timeout.
func (p *process) removePending(env algo.Env, peer algo.NodeID) {
	switch {
	case !p.options.SkipSuspected || !p.pending.Remove(peer):
	case len(p.pending) > 0:
		if p.phase == headStart {
			p.updateMonitored(env) // another process is the highest now
		}
	default:
		env.Note("suspects %s, the last pending process", peer)
		p.continueWithoutPending(env)
	}
}

// continueWithoutPending continues an election in which no process is pending any more.
func (p *process) continueWithoutPending(env algo.Env) {
	if p.phase == waiting {
		p.startElection(env)
	} else {
		p.becomeLeader(env)
	}
}

// retryElection sends Election once more, because no message from any process has arrived
// since the first one, although several were pending.
//
// ◆ It is more likely that this process was disconnected, perhaps briefly, than that all the
// others crashed. Without this rule it leads alone, and once it is connected again the real
// leader has to take a newer epoch.
func (p *process) retryElection(env algo.Env) {
	env.Note("receives no message and sends Election again")
	p.sendElection(env)
	p.noReplyYet = false
}

// sendInquiry asks every lower process for its epoch, and reports whether there is one to
// ask. This process leads once all of them have answered or are suspected, or after
// AnswerTimeout.
//
// ◆ The epoch of a process that has just started can be out of date. Without this rule, the
// process leads in an epoch in which another process has led already. It then leads a second
// time, in a newer epoch, when a peer reports that one. The Lead callback of the application
// would start twice, and the first fencing token could be lower than one already used.
func (p *process) sendInquiry(env algo.Env) bool {
	p.addPending(p.view.Lower(p.self))
	if len(p.pending) > 0 {
		p.sendToPending(env, inquiring, Inquiry{})
	}
	return len(p.pending) > 0
}

// handleInquiry replies to an Inquiry.
//
// ◆ An Inquiry from a higher process also counts as its Answer: the sender is about to lead.
// Without this rule, the election of this process would continue and elect a second leader.
func (p *process) handleInquiry(env algo.Env, from algo.NodeID) {
	env.Send(from, Answer{p.epoch})
	p.handleAnswer(env, from)
}

// adoptEpoch raises the epoch of this process to e, if e is higher.
//
// ◆ A process adopts the epoch of every message, and saves it before it sends anything.
// Without this rule, a process that returns after an absence leads in an epoch below that of
// its peers. They reject its Coordinator, again and again.
func (p *process) adoptEpoch(e algo.Epoch) { p.epoch = max(p.epoch, e) }

// replyNewerEpoch replies to an Election of an older epoch with the newer epoch. It starts no
// election.
//
// ◆ Without this rule, when all processes start at the same time, each late Election starts
// new elections among processes that already follow a leader. Together with a leader that
// replies to all instead of to the sender alone, 30 nodes would send 6 million messages
// instead of 900.
func (p *process) replyNewerEpoch(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	if !p.leader.IsVacant() && p.leader.Epoch > epoch {
		p.sendCoordinator(env, from)
	} else {
		env.Send(from, Answer{p.epoch})
	}
}

// replyCoordinator handles an Election that reaches a leader in no election of its own.
//
// ◆ The leader sends Coordinator to the sender of the Election alone, because all other
// processes have received it. In the sources, each Election makes the leader lead again and
// send Coordinator to every lower process.
func (p *process) replyCoordinator(env algo.Env, from algo.NodeID) {
	if p.leader.Epoch == p.epoch {
		p.sendCoordinator(env, from)
	}
}

// canFollow reports whether this process may follow l, which a Coordinator announces.
//
// ◆ It does not follow an l with an older epoch than its own, even if it follows no process
// since a restart. Without this rule, a late Coordinator would restore a leadership that has
// ended.
//
// ◆ It does not follow a lower process, a suspected process, or itself in a leadership that
// it does not hold. Without this rule, there are three failures. The highest process would not
// lead. A process would follow a crashed leader for good, because the detector does not report
// the same crash twice. Or processes would each consider another one the leader, and none
// would lead.
func (p *process) canFollow(l algo.Leader) bool {
	return l.Epoch >= p.epoch && !l.OlderThan(p.leader) &&
		p.view.IsHigher(l.ID, p.self) && !p.suspected.Has(l.ID)
}

// rejectCoordinator replies to a Coordinator that announces l, which this process may not
// follow.
//
// ◆ Without a reply, the leader never learns of the newer epoch that prevents this process
// from following it, and this process stays without a leader.
func (p *process) rejectCoordinator(env algo.Env, from algo.NodeID, l algo.Leader) {
	// The Coordinator still shows that its sender is alive. Without this, a lower process
	// could become leader because no Answer arrived.
	p.handleAnswer(env, from)
	switch {
	case l == p.leader && p.isLeader():
		// The sender follows this leader already.
	case l.OlderThan(p.leader) && !p.leader.IsVacant():
		p.sendCoordinator(env, from)
	case l.Epoch < p.epoch:
		env.Send(from, Answer{p.epoch})
	case l.ID != p.self && !p.view.IsEligible(l.ID):
		env.Note("does not follow %s, which is not eligible", l.ID)
	default:
		env.Note("contests the leadership of %s", l.ID)
		p.challenge(env)
	}
}

// challenge acts against a leader that this process must not follow: a leader takes a newer
// epoch, any other process starts an election.
func (p *process) challenge(env algo.Env) {
	switch {
	case p.phase != idle:
		// The current election decides.
	case p.isLeader():
		p.bumpEpoch(env)
	default:
		p.startElection(env)
	}
}

// raiseEpochIfBehind makes a leader take a newer epoch if it knows of an epoch above its own.
//
// ◆ Without this rule, processes that know the higher epoch cannot follow the leader.
func (p *process) raiseEpochIfBehind(env algo.Env) {
	if p.phase == idle && p.isLeader() && p.leader.Epoch < p.epoch && p.bumps < maxBumps {
		env.Note("raises its epoch above %d", uint64(p.epoch))
		p.bumpEpoch(env)
	}
}

// maxBumps is the maximum number of newer epochs that a leader takes in one
// AnnounceInterval. Two leaders that detect each other need one or two.
const maxBumps = 3

// bumpEpoch makes a leader continue in a newer epoch.
//
// ◆ It does so at most maxBumps times in one AnnounceInterval. Without this limit, two leaders
// with different views, in which neither may follow the other, would reply to each bump with
// another one for as long as their views differ.
func (p *process) bumpEpoch(env algo.Env) {
	if p.bumps < maxBumps {
		p.bumps++
		p.becomeLeader(env)
	}
}

// handleHigherHeartbeat handles a heartbeat of peer, a higher process that this process
// suspected or does not monitor.
//
// ◆ A process that was stopped or disconnected continues with its old state when it returns.
// If it led, there are two leaders until one of them repeats its Coordinator. With this rule,
// a leader sends its Coordinator at the first heartbeat. If instead this process was the
// disconnected one, it sends Election to peer before it leads beside its leader.
func (p *process) handleHigherHeartbeat(env algo.Env, peer algo.NodeID) {
	switch {
	case p.phase == idle && p.isLeader():
		p.sendCoordinator(env, peer)
	case p.phase == electing:
		p.pending.Add(peer)
		env.Send(peer, Election{Epoch: p.epoch})
		env.SetTimer(timerAnswer, p.options.AnswerTimeout, p.options.AnswerTimeout)
	}
}

// repeatCoordinator sends the leader's Coordinator to all other processes, including higher
// ones.
//
// ◆ Without this rule, two leaders do not detect each other after a partition heals or after
// a stopped process continues.
func (p *process) repeatCoordinator(env algo.Env) {
	for peer := range p.view.Others(p.self) {
		env.Send(peer, algo.Periodic{Message: Coordinator{Epoch: p.leader.Epoch, Leader: p.leader.ID}})
	}
	env.SetTimer(timerAnnounce, p.options.AnnounceInterval, p.options.AnnounceInterval)
}

// waitIneligible handles an election that this process won but may not lead, because it is a
// witness or has resigned. It announces that there is no leader and retries after
// CoordinatorTimeout.
//
// ◆ The sources have no such processes. Without this rule, the process would lead anyway, or
// wait forever.
func (p *process) waitIneligible(env algo.Env) {
	env.Note("is not eligible and waits")
	p.announceVacancy(env)
	p.phase = waiting
	p.updateMonitored(env)
	env.SetTimer(timerCoordinator, p.options.CoordinatorTimeout, p.options.CoordinatorTimeout)
}

// Reconfigure replaces the view.
//
// ◆ In the sources, the set of processes never changes. Without this rule, processes would
// keep following a leader that has left or is no longer eligible, and a process that became
// higher than the leader would not take over before the leader crashes.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.adoptEpoch(view.ConfigID().Term)
	if !p.leader.IsVacant() && !p.view.IsEligible(p.leader.ID) {
		p.announceVacancy(env) // the leader left or resigned; it may be this process
	}
	wasPending := len(p.pending) > 0
	p.pending = slices.DeleteFunc(p.pending, func(id algo.NodeID) bool { return !view.IsHigher(id, p.self) })
	switch {
	case p.phase == inquiring:
		p.startElection(env) // the inquiry went to the members of the previous view
	case p.phase == idle && p.leader.IsVacant():
		p.startSuccession(env)
	case p.phase == idle && view.IsHigher(p.self, p.leader.ID):
		p.startElection(env)
	case wasPending && len(p.pending) == 0:
		p.continueWithoutPending(env)
	default:
		p.updateMonitored(env)
	}
	p.raiseEpochIfBehind(env)
}
