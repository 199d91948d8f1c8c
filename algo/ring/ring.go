// Package ring implements the ring algorithm of Chang and Roberts ("An Improved
// Algorithm for Decentralized Extrema-Finding in Circular Configurations of
// Processes", 1979) as it is taught today: the live process with the highest ID becomes
// leader.
//
// The processes form a ring in the order of their IDs. Each sends to its successor, the next
// process that it does not suspect. A process that starts an election sends a ring token, an
// [Election] that names itself as the candidate. A process forwards the token of a higher
// candidate. Instead of the token of a lower candidate it sends its own, unless it already
// participates. If its own token returns, a process is the highest in the ring. It becomes
// leader and sends [Elected] around the ring.
//
// For example, n1, n2 and n3 start at the same time. n2 drops the token of n1, n3 drops the
// token of n2, and n1 and n2 forward the token of n3. The token returns to n3, which becomes
// leader. Its Elected reaches n1, then n2, and ends at n3.
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
// The algorithm needs no quorum. In a partition each side forms a ring of its own and elects a
// leader. Two processes can also lead for a while, even in the same epoch, when a slow leader
// is suspected. Only the predecessor of the leader monitors it. If the predecessor falsely
// suspects the leader, all other processes lose the leader, and the leader learns of it last. A
// leader elected on one side of a partition has a newer epoch when the partition heals, so
// the highest process must be elected once more. The highest process takes over when it
// recovers, even from a working leader.
//
// # Cost
//
// N is the number of live members. T is the one-way message time. Messages of the failure
// detector are not counted.
//
//	one starts, the highest is d hops ahead  2N+d messages                (2N+d−1)T
//	all start, in the best order             3N−1 messages                (2N−1)T
//	all start, in a random order             N·H(N)+N messages, the mean  (2N−1)T
//	all start, in the worst order            N(N+1)/2+N messages          (2N−1)T
//	a follower crashes, or is trusted again  2 messages                   2T
//	a follower restarts                      2 messages, 4 if suspected   2T
//
// H(N) is 1 + 1/2 + … + 1/N. The last message only returns to the leader. Each process saves the
// new epoch before it sends or forwards the first token, so the time of an election also includes
// up to N saves.
//
// # Beyond the sources
//
// ring.go contains what the sources describe. extensions.go contains the rules that no
// source has. Each of them is marked ◆, and its comment describes the failure that it
// prevents; a test shows that failure when the rule is removed. Package
// algo/textbook/ring has none of these rules.
package ring

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

const (
	timerElection algo.Timer = "election" // runs until the election has an outcome
	timerSave     algo.Timer = "save"     // runs from the outcome until the leader is saved
)

// process is one member: the P of the sources.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View

	// epoch is the highest epoch that this process knows: that of the current or last
	// election. It is above leader.Epoch until that election has an outcome here.
	epoch algo.Epoch
	// savedLeader is the saved leader of this epoch, or the zero ID if none is saved.
	savedLeader algo.NodeID
	// leader is the leader that this process follows, this process itself, or a vacancy. It is the
	// last announcement, unless resumes is set.
	leader algo.Leader
	// resumes is set while this process continues with the leader that it saved before its restart,
	// and no other process has confirmed that leader. See resume.
	resumes bool
	// asker is the process that asked for the outcome last while resumes was set, or the zero ID.
	asker algo.NodeID

	// participating is set once this process has sent or forwarded a token of this epoch, and
	// until it knows the outcome.
	participating bool
	// seen are the candidates of the tokens that have arrived in this epoch, and this process
	// itself once it has sent its own token.
	seen algo.Set
	// best is the highest candidate of the tokens that this process has forwarded in this epoch. After
	// a restart it is the saved leader, which is at least as high.
	best algo.Member
	// extendedElections is the number of elections, including the current one, with an
	// extended timeout. See extendTimeout.
	extendedElections uint8

	// awaitsSuccessor is set while the successor has been sent the outcome and has not
	// confirmed it.
	awaitsSuccessor bool

	// successor is the next process in the ring that is not suspected: this process itself
	// if all others are.
	successor algo.NodeID
	// suspected are the monitored processes that the failure detector suspects. In the ring,
	// they are between this process and its successor.
	suspected algo.Set
	// electionTimerRuns and saveTimerRuns are set while the timer is armed.
	electionTimerRuns, saveTimerRuns bool
}

func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, max(saved.Epoch, view.ConfigID().Term)
	p.updateSuccessor(env)
	if p.canResume(saved) {
		p.resume(env, saved)
	} else {
		p.startElection(env)
	}
	p.updateTimers(env)
}

// Campaign starts an election. The current leader stays announced until a leader is
// elected.
func (p *process) Campaign(env algo.Env) {
	if !p.participating { // at most one election at a time
		p.startElection(env)
	}
	p.updateTimers(env)
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		p.handleElection(env, m)
	case Elected:
		p.handleElected(env, from, m)
	}
	p.updateTimers(env)
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerElection && p.electionTimerRuns && p.hasOutcome():
		p.informSuccessor(env)
	case t == timerElection && p.electionTimerRuns:
		p.reportFailedElection(env)
		p.electionTimerRuns = false
		p.startElection(env)
	case t == timerSave && p.saveTimerRuns:
		p.saveTimerRuns, p.savedLeader = false, p.leader.ID
	}
	p.updateTimers(env)
}

func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	lostLeader := peer == p.leader.ID
	if lostLeader {
		p.announceVacancy(env)
	}
	p.handleRingChange(env, lostLeader)
	p.updateTimers(env)
}

func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	p.handleRingChange(env, false)
	p.updateTimers(env)
}

func (p *process) HardState() algo.HardState {
	return algo.HardState{Epoch: p.epoch, Vote: p.savedLeader}
}

func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.seen = slices.Clone(p.seen)
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// sendOwnToken sends a token with this process as its candidate.
func (p *process) sendOwnToken(env algo.Env) {
	p.seen.Add(p.self)
	if p.isAlone() {
		p.becomeLeader(env)
		return
	}
	p.send(env, Election{Epoch: p.epoch, Eligible: p.asCandidate().Eligible, Priority: p.asCandidate().Priority, ID: p.self, Hops: 1})
}

// handleElection handles a ring token.
func (p *process) handleElection(env algo.Env, m Election) {
	switch {
	case m.Epoch < p.epoch:
		p.extendTimeout()
		p.handleStaleToken(env)
	case m.Epoch == p.epoch && m.ID == p.self:
		p.handleOwnToken(env)
	case p.recordToken(m):
		env.Note("has already seen the ring token of %s", m.ID)
	case p.isObsolete(m):
		env.Note("removes the ring token of %s, which is suspected or late", m.ID)
		p.startElection(env)
	case m.candidate().Compare(p.asCandidate()) > 0:
		// Chang and Roberts 1979: a larger ID is passed on.
		if m.candidate().Compare(p.best) > 0 {
			p.best = m.candidate()
		}
		m.Hops++
		p.forward(env, m, m.Hops-1)
	case !p.participating:
		// Chang and Roberts 1979: a smaller ID wakes a process up, which sends its own.
		p.sendOwnToken(env)
	default:
		// Chang and Roberts 1979: a smaller ID is swallowed.
	}
}

// handleOwnToken handles this process's own token: no process in the ring is higher.
func (p *process) handleOwnToken(env algo.Env) {
	if p.participating {
		p.becomeLeader(env)
	}
}

// becomeLeader makes this process the leader of the epoch.
func (p *process) becomeLeader(env algo.Env) {
	p.follow(env, p.outcome())
	p.send(env, Elected{Epoch: p.epoch, ID: p.leader.ID, Hops: 1})
}

// handleElected handles the outcome of an election. The source: it is "forwarded along the
// ring until it reaches the leader".
func (p *process) handleElected(env algo.Env, from algo.NodeID, m Elected) {
	switch l := m.leader(); {
	case m.Epoch < p.epoch || l.OlderThan(p.leader):
		// The outcome is obsolete.
	case l == p.leader:
		if p.resumes && m.Hops > 0 {
			p.announceSavedLeader(env)
		}
		p.awaitsSuccessor = p.awaitsSuccessor && (from != p.successor || m.Hops == 0)
	default:
		p.handleNewOutcome(env, m)
	}
	if m.Hops == 0 {
		p.replyOutcome(env, from)
	}
}

// handleNewOutcome forwards a new outcome, then accepts or rejects it.
func (p *process) handleNewOutcome(env algo.Env, m Elected) {
	l := m.leader()
	p.enterEpoch(m.Epoch)
	m.Hops++
	p.forward(env, m, m.Hops-1)
	if p.canFollow(l) {
		p.follow(env, l)
	} else {
		p.rejectOutcome(env, l)
	}
}

// follow accepts l as the outcome of its epoch. If this process led, its leadership ends here.
func (p *process) follow(env algo.Env, l algo.Leader) {
	p.participating, p.extendedElections = false, 0
	p.resumes, p.asker = false, algo.NodeID{}
	p.awaitsSuccessor = !l.IsVacant() && !p.seen.Has(l.ID)
	p.leader, p.savedLeader = l, algo.NodeID{}
	env.Announce(l)
}

// announceVacancy announces that this process knows of no leader.
func (p *process) announceVacancy(env algo.Env) {
	p.leader.ID = algo.NodeID{}
	env.Announce(p.leader)
}

// send sends m to the successor. A process that sends a token participates in the election,
// and its election timer starts again.
func (p *process) send(env algo.Env, m algo.Message) {
	if _, isToken := m.(Election); isToken {
		p.participating = true
		p.electionTimerRuns = false
	}
	if !p.isAlone() {
		env.Send(p.successor, m)
	}
}

// updateSuccessor finds the successor, and reports whether it changed. It monitors the
// successor, and the suspected processes before it, so that they rejoin the ring when they
// recover.
func (p *process) updateSuccessor(env algo.Env) (changed bool) {
	var monitored algo.Set
	next := p.view.Successor(p.self)
	for next != p.self {
		monitored.Add(next)
		if !p.suspected.Has(next) {
			break
		}
		next = p.view.Successor(next)
	}
	p.suspected.Retain(monitored) // the detector also forgets its suspicion of the others
	env.Monitor(monitored...)
	changed = next != p.successor
	p.successor = next
	return changed
}

// hasOutcome reports whether this process knows the outcome of its epoch. Then it participates in
// no election.
func (p *process) hasOutcome() bool { return p.leader.Epoch == p.epoch }

// isAlone reports whether this process suspects all others.
func (p *process) isAlone() bool { return p.successor == p.self }

// asCandidate returns this process as a candidate.
func (p *process) asCandidate() algo.Member {
	m, _ := p.view.Member(p.self)
	return m
}
