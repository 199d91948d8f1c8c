package ring

import (
	"cmp"
	"time"

	"github.com/elect-go/elect/algo"
)

// This file contains the rules that no source has. Each is marked ◆ and says what fails
// without it. The rules are in the order in which an election meets them.

// startElection starts an election in a new epoch.
//
// ◆ Each election has an epoch of its own. Without this rule, the tokens of a failed election
// would be confused with those of the next, and a process that participates in the failed one
// could not participate in the next.
func (p *process) startElection(env algo.Env) {
	p.enterEpoch(p.epoch + 1)
	p.sendOwnToken(env)
}

// canResume reports whether this process may follow the leader that it saved before a restart. A
// saved leader that has left, is no longer eligible, or is lower than this process is of no use.
func (p *process) canResume(saved algo.HardState) bool {
	return saved.Epoch == p.epoch && p.view.IsHigher(saved.Vote, p.self)
}

// resume continues with the leader that this process saved before its restart. It asks its
// successor, and announces the leader once another process confirms it.
//
// ◆ The sources have no restarts. If every restarted process started an election, the restart of a
// follower would end the work of a leader, and a rolling restart would change the leader once for
// each process. A process resumes only with a saved leader. Without one, it may have crashed during
// an election of this epoch, after it forwarded the token of a candidate that has become leader
// since. It would not wait for that outcome. So it starts an election in a newer epoch.
func (p *process) resume(env algo.Env, saved algo.HardState) {
	p.leader = algo.Leader{Epoch: saved.Epoch, ID: saved.Vote}
	p.best, _ = p.view.Member(saved.Vote) // what it has forgotten was not higher
	p.savedLeader, p.resumes = saved.Vote, true
	p.informSuccessor(env)
}

// announceSavedLeader announces the leader that another process has confirmed, and replies to the
// process that asked meanwhile.
//
// ◆ A question confirms nothing, and a process that resumes replies to none: otherwise processes
// that restart together would confirm each other a leader that has crashed long ago.
func (p *process) announceSavedLeader(env algo.Env) {
	p.resumes = false
	env.Announce(p.leader)
	if !p.asker.IsZero() {
		p.replyOutcome(env, p.asker)
		p.asker = algo.NodeID{}
	}
}

// enterEpoch raises the epoch of this process to e, if e is higher. The epoch is saved before
// anything is sent.
//
// ◆ A process that enters an epoch no longer participates in an older election, and forgets
// the tokens of that election.
func (p *process) enterEpoch(e algo.Epoch) {
	if e > p.epoch {
		p.epoch = e
		p.participating, p.awaitsSuccessor, p.extendedElections = false, false, max(p.extendedElections, 1)-1
		p.seen, p.best = nil, algo.Member{}
		p.savedLeader, p.resumes, p.asker = algo.NodeID{}, false, algo.NodeID{}
	}
}

// handleRingChange updates the successor after a suspicion or its end. It starts an election if
// the leader is lost. It also does so if the successor changes during an election, because
// messages to the old successor may be lost.
//
// ◆ Otherwise it sends the outcome to the new successor, which may not know the leader. If it
// started an election instead, each link between two followers that breaks or recovers would
// end the work of a leader.
func (p *process) handleRingChange(env algo.Env, lostLeader bool) {
	if !p.updateSuccessor(env) && !lostLeader {
		return
	}
	env.Note("has new successor %s", p.successor)
	if lostLeader || !p.hasOutcome() {
		p.startElection(env)
	} else {
		p.informSuccessor(env)
	}
}

// informSuccessor sends the outcome to the successor, repeatedly until the successor confirms
// it.
//
// ◆ A process also does this if it follows a leader and has not seen its token. In that case
// the successor may not wait for an outcome, and the Elected that this process forwards may be
// lost.
func (p *process) informSuccessor(env algo.Env) {
	p.awaitsSuccessor, p.electionTimerRuns = !p.isAlone(), false
	p.send(env, Elected{Epoch: p.epoch, ID: p.leader.ID})
}

// replyOutcome replies to a peer that has sent its outcome with the outcome that this process
// knows: the same or a newer one.
//
// ◆ This is the only message against the direction of the ring. Without it, a process with an
// old outcome would learn of the newer one from no other process.
func (p *process) replyOutcome(env algo.Env, from algo.NodeID) {
	switch {
	case p.resumes:
		p.asker = from
	case p.hasOutcome():
		env.Send(from, Elected{Epoch: p.epoch, ID: p.leader.ID, Hops: 1})
	}
}

// handleStaleToken handles a token of an older epoch. The token is not forwarded.
//
// ◆ The candidate does not know the newer epoch, and no process replies to a token. A new
// election informs it. If this process already participates in one, that election does.
func (p *process) handleStaleToken(env algo.Env) {
	if !p.participating {
		env.Note("receives a token of an older epoch")
		p.startElection(env)
	}
}

// recordToken records the candidate of m as seen, and reports whether it was seen before in this
// epoch. A candidate's token is handled once in each epoch.
//
// ◆ Without this rule, the token of a crashed candidate would circulate forever.
//
// ◆ The number of recorded candidates is at most twice the number of members: some candidates
// may not be in the view yet. More come from a faulty sender and would fill the memory.
func (p *process) recordToken(m Election) bool {
	p.enterEpoch(m.Epoch)
	return len(p.seen) >= 2*p.view.Len() || !p.seen.Add(m.ID)
}

// forward sends m to the successor. The message has been sent hops times.
//
// ◆ A message goes around the ring at most twice. This is a second limit, which also holds if a
// process has forgotten the tokens that it has seen.
func (p *process) forward(env algo.Env, m algo.Message, hops uint32) {
	if uint64(hops) >= 2*uint64(p.view.Len()) {
		env.Note("drops a message after two rounds")
		return
	}
	p.send(env, m)
}

// isObsolete reports whether the token m must not go on, so that this process starts an
// election instead: its candidate is suspected, or this process knows the outcome of the epoch.
//
// ◆ The predecessor of a crashed candidate removes its token. Processes that forwarded it drop
// the tokens of lower candidates. If the election that starts after the crash has the same
// epoch, it loses these tokens as well. Without a newer epoch, all would wait for their timers.
//
// ◆ A process that has missed the outcome sends a token in an epoch that has ended. Without this
// rule, the token would be forwarded or dropped, and its candidate would wait for its timer. A
// candidate above the leader also needs a newer epoch: a process that forwards its token, crashes
// and resumes with the leader would not wait for the outcome.
func (p *process) isObsolete(m Election) bool {
	return p.suspected.Has(m.ID) || p.hasOutcome()
}

// outcome returns the outcome that this process announces when its own token returns.
//
// ◆ If this process is not eligible, no process is: an eligible one would have sent its own
// token instead. The outcome is then a vacancy. The sources have no ineligible processes, and
// this one would lead anyway.
func (p *process) outcome() algo.Leader {
	if !p.asCandidate().Eligible {
		return algo.Leader{Epoch: p.epoch}
	}
	return algo.Leader{Epoch: p.epoch, ID: p.self}
}

// canFollow reports whether this process may accept the outcome l.
//
// ◆ If this process has forwarded the token of a candidate, that candidate is higher, even if
// this process has an older view that says otherwise. Without this rule, two processes with
// different views of their priorities would contest each other forever.
//
// ◆ In this epoch, it follows no process below such a candidate. If the ring changes in between,
// two candidates can win in the same epoch. A process that followed the lower one would not
// wait for the outcome of the other, which may be lost.
func (p *process) canFollow(l algo.Leader) bool {
	if l.IsVacant() {
		return !p.asCandidate().Eligible
	}
	rival := cmp.Or(p.best.ID, p.self)
	higher := p.view.IsHigher(l.ID, rival) || l.ID == p.best.ID && p.view.IsEligible(l.ID)
	return higher && !p.suspected.Has(l.ID)
}

// rejectOutcome handles an outcome that this process does not accept.
//
// ◆ The outcome names a lower or a suspected process: the ring bypassed this process, or the
// leader has crashed since. This process starts an election. If it followed, the highest process
// would not lead, or this process would follow a crashed leader. Usually the changed successor
// has started a newer election already. This rule also holds while views differ.
func (p *process) rejectOutcome(env algo.Env, l algo.Leader) {
	if !l.IsVacant() && !p.view.IsEligible(l.ID) {
		env.Note("does not follow %s, which is not eligible", l.ID)
		p.participating = false
		return
	}
	env.Note("contests the leadership of %s", l.ID)
	p.startElection(env)
}

// reportFailedElection reports that the election timed out, and the process that it probably
// waited for.
func (p *process) reportFailedElection(env algo.Env) {
	switch predecessor := p.view.At((p.view.Index(p.self) + p.view.Len() - 1) % p.view.Len()); {
	case !p.best.ID.IsZero():
		algo.ReportUnresponsive(env, p.best.ID, "sent its token around but did not become leader")
	case len(p.seen) == 1: // only this process
		algo.ReportUnresponsive(env, predecessor.ID, "forwarded no token")
	default:
		algo.ReportUnresponsive(env, p.successor, "has the token of this node, which did not return")
	}
}

// roundsPerElection bounds the messages of an election, 3N−1, in rounds of the ring. In the first
// round the first token reaches the highest process, in the second the token of that process
// returns, and the third is that of Elected.
const roundsPerElection = 3

// updateTimers arms each timer that this process needs, and stops the others. The leader is saved
// some time after the election, so that no election waits for that save.
//
// ◆ Each process that forwarded a token waits for the outcome, not only the process that
// started the election: that process may have crashed, or the token may be lost with a process
// that held it. The time is random, so that processes that wait together do not start
// together.
func (p *process) updateTimers(env algo.Env) {
	T := p.options.MessageTime
	shortest := roundsPerElection * time.Duration(p.view.Len()) * T
	longest := shortest + shortest/2
	if p.extendedElections > 0 {
		shortest, longest = shortest*7/4, shortest*7/4
	}
	armOrStop(env, timerElection, &p.electionTimerRuns, p.awaitsSuccessor || !p.hasOutcome(), shortest, longest)
	armOrStop(env, timerSave, &p.saveTimerRuns, p.hasOutcome() && p.savedLeader != p.leader.ID, T, 2*T)
}

// maxExtendedElections is the number of elections with an extended timeout: 7/4 of the shortest
// normal one. Together they are enough for messages that take five times the configured
// MessageTime. A longer timeout would detect lost messages later than Timing.RecoveryBound. Fewer
// elections would not be enough, because several processes start elections at about the same
// time.
const maxExtendedElections = 8

// extendTimeout extends the timeout after a token of an older election arrived during a newer
// one: the older election may have been given up too early.
//
// ◆ The extended timeout applies from the next token that this process sends, until there is an
// outcome or until maxExtendedElections. Without this rule, no election ends if messages take
// five times the configured MessageTime. A timeout alone is no reason to extend the next one,
// because a token may be lost. The timeout does not grow further: if tokens are lost too, an
// election would take too long. The number of elections is limited, because processes without the
// extended timeout start new elections earlier. This process would then see the end of no
// election, and would not learn which process does not respond.
func (p *process) extendTimeout() {
	if !p.hasOutcome() {
		p.extendedElections = maxExtendedElections
	}
}

// armOrStop arms or stops t if needed differs from armed, and updates armed.
func armOrStop(env algo.Env, t algo.Timer, armed *bool, needed bool, shortest, longest time.Duration) {
	switch {
	case needed && !*armed:
		env.SetTimer(t, shortest, longest)
	case !needed && *armed:
		env.StopTimer(t)
	}
	*armed = needed
}

// Reconfigure replaces the view.
//
// ◆ In the sources, the ring never changes. Without this rule, processes would keep following a
// leader that has left or is no longer eligible, and a process that became higher than the
// leader would not take over before the leader crashes. A leader starts an election itself when
// its rank decreases, because the views of the others may not show the change.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	before := p.asCandidate()
	p.view = view
	p.enterEpoch(view.ConfigID().Term)
	if !p.leader.IsVacant() && !p.view.IsEligible(p.leader.ID) {
		p.announceVacancy(env) // the leader left or resigned; it may be this process
	}
	isLowered := p.leader.ID == p.self && p.asCandidate().Compare(before) < 0
	if p.updateSuccessor(env) || !p.hasOutcome() || p.leader.IsVacant() || isLowered || view.IsHigher(p.self, p.leader.ID) {
		// Messages in flight belong to the previous ring, or name candidates with their
		// previous priorities.
		p.startElection(env)
	}
	p.updateTimers(env)
}
