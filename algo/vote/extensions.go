package vote

import (
	"math/bits"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// This file contains the rules that are not in the source. Each is marked ◆ and says what fails
// without it. They concern rounds, requests, claims, the failure detector, and leaders without a
// quorum. The rules for members that join and leave are in members.go.

// roundState is the current round and the vote in it. It survives a crash.
//
// ◆ Rounds are numbered, each server has one vote in a round, which is saved before it is sent,
// and the term of a leader is the round that elected it. Two majorities of one round share a
// server, which has voted only once. So no term has two leaders, whatever is lost, late or
// restarted.
type roundState struct {
	round algo.Epoch
	vote  algo.NodeID // zero if this server has not voted in the round
	// tally is the "tally board": the members that have voted for this server in this round. ◆
	// The source counts votes of different rounds together. One server may have changed its vote
	// between them.
	tally algo.Set
	// decided is set if the leader of this round is known. After a restart, it is also set if
	// this server may have led in the round. No server leads twice in one term.
	decided bool
}

// restoreRound returns the state after a restart. If this server has voted in the saved round,
// the round counts as decided, because the server may have led in it. Without a vote it cannot
// have led.
func restoreRound(saved algo.HardState) roundState {
	return roundState{round: saved.Epoch, vote: saved.Vote, decided: !saved.Vote.IsZero()}
}

// countsVote reports whether a vote of that round counts for this server.
//
// ◆ A vote of any round but the current one is ignored.
func (b *roundState) countsVote(round algo.Epoch) bool { return round == b.round && !b.decided }

// isObsolete reports whether a Lead of that term is to be ignored.
//
// ◆ A Lead of a term below the current round is obsolete: this server has left that round, and
// the leader may have crashed. The same holds for a leader's own Lead. Without that, it would
// stay in a term that is obsolete to each server that knows the newer round.
func (b *roundState) isObsolete(term algo.Epoch) bool { return term < b.round }

// markDecided records that term has a leader.
func (b *roundState) markDecided(term algo.Epoch) {
	if term > b.round {
		*b = roundState{round: term}
	}
	b.decided = true
}

// endWindow handles the end of the window. With EarlyClose, it first sends another Elect to the
// servers without a claim, and waits half a window longer. The first Elect may be lost, or the
// receiver may not have been running.
//
// ◆ An Elect is a request. A server takes part in a round only if a majority has requested it.
// Without this rule, a server that cannot hear the leader would end the leadership each time that
// it times out. A server without a majority requests again. After each pause without success it
// sends Elect to all, and counts only claims that arrive from then on. Otherwise, claims of
// servers that have found the leader again would add up to a majority.
func (s *server) endWindow(env algo.Env) {
	if s.elector.retries == 0 && len(s.elector.slate) < s.view.Quorum() && s.elector.failedRounds < s.loadFactor() {
		s.elector.failedRounds++ // ◆ N² messages may take longer, and repeated requests would add as many
		s.awaitClaims(env, 0, s.scaleTimeout(s.options.Window)/2)
		return
	}
	first := s.options.EarlyClose && s.elector.retries == 0
	if !first && s.tryVote(env) {
		return
	}
	askAll := s.elector.retries == 2 && len(s.elector.slate) < s.view.Quorum()
	for other := range s.view.Others(s.self) {
		_, hasClaim := slices.BinarySearchFunc(s.elector.slate, other, compareClaimant)
		if !first && !hasClaim {
			algo.ReportUnresponsive(env, other, "requested no election and does not lead")
		}
		if (askAll || !hasClaim) && !s.suspected.Has(other) {
			env.Send(other, algo.Periodic{Message: s.ownClaim(true)})
		}
	}
	if first {
		s.awaitClaims(env, 1, s.scaleTimeout(s.options.Window)/2)
		return
	}
	if askAll {
		s.elector.slate = slices.DeleteFunc(s.elector.slate, func(c claim) bool { return c.from != s.self })
	}
	s.elector.retries = 2
	s.setTimer(env, timerWindow, s.options.Pause, 2*s.options.Pause)
}

// awaitClaims waits d for claims, and records the number of repeated requests.
func (s *server) awaitClaims(env algo.Env, retries uint8, d time.Duration) {
	s.elector.retries = retries
	s.setTimer(env, timerWindow, d, d)
}

// tryVote votes in the next round, if a majority has requested it and a server can be elected. It
// reports whether it voted.
func (s *server) tryVote(env algo.Env) bool {
	if len(s.elector.slate) < s.view.Quorum() {
		return false
	}
	choice := s.pickCandidate()
	if choice.IsZero() {
		env.Note("finds no candidate to vote for")
		return false
	}
	s.castVote(env, s.current.round+1, choice)
	return true
}

// adoptRound enters a round without a vote, and so leaves the earlier ones.
//
// ◆ The sender of a request for the next round may have voted in this one, and then follows no
// leader of an earlier one. With this rule, no server stays behind, not even a leader. Without it,
// servers in different rounds would never elect a leader together. A campaign uses the same rule,
// so that the current leader becomes obsolete to each server that receives the request.
func (s *server) adoptRound(round algo.Epoch) {
	s.current = roundState{round: round}
	s.elector.state, s.elector.slate = watching, nil
}

// enterPause enters state watching after a vote. A Lead must arrive before the pause ends;
// otherwise, the next round starts.
//
// ◆ The pause is random, so that two candidates do not tie forever.
func (s *server) enterPause(env algo.Env) {
	shortest := s.scaleTimeout(s.options.Pause)
	s.enterWatching(env, timerPause, shortest, 2*shortest)
}

// scaleTimeout returns d, a window or a pause, doubled after a round without a leader.
//
// ◆ If messages take longer than configured, each round would end before its votes arrive. The
// timeout is doubled once only: the cause of the delay may have ended, and an election still
// waits for all of the timeout. In large clusters it is doubled further, because the N² messages
// of a round may be the cause.
func (s *server) scaleTimeout(d time.Duration) time.Duration {
	return d << min(s.elector.failedRounds, 1+s.loadFactor())
}

// largeCluster is the number of members from which on servers do not all monitor each other.
const largeCluster = 16

// loadFactor returns how many times the number of members can be halved until the cluster is no
// longer large.
func (s *server) loadFactor() uint64 { return uint64(bits.Len(uint(s.view.Len() / largeCluster))) }

// maxFailedRounds is the number of rounds in a row without a leader after which the best claim no
// longer decides. In a large cluster, some of these rounds may have had a window that was too
// short.
func (s *server) maxFailedRounds() uint64 { return 3 + s.loadFactor() }

// pickCandidate returns the server to vote for, or zero.
//
// ◆ Without this rule, a server that has the best claim but never leads would get all votes
// forever. After maxFailedRounds, the votes rotate among the servers with a claim. The number of
// the round selects a member, or the next one that has a claim. A selection by position in the
// slate would differ between servers, because some lack a claim.
func (s *server) pickCandidate() algo.NodeID {
	slate := s.elector.slate
	if s.elector.failedRounds == s.maxFailedRounds() {
		slate = slices.DeleteFunc(slices.Clone(slate), func(c claim) bool { return !isElectable(c, s.view) })
		if len(slate) > 0 {
			turn := s.view.At(int(s.claimRound() % algo.Epoch(s.view.Len()))).ID
			i, _ := slices.BinarySearchFunc(slate, turn, compareClaimant)
			return slate[i%len(slate)].from
		}
	}
	return bestClaim(slate, s.view)
}

// countFailedRound counts a round without a leader, if this server has voted in it, and reports
// the servers that did not respond.
func (s *server) countFailedRound(env algo.Env) {
	choice := s.current.vote
	if choice.IsZero() || s.current.decided {
		return
	}
	s.elector.failedRounds = min(s.elector.failedRounds+1, s.maxFailedRounds())
	for other := range s.view.Others(s.self) {
		switch {
		case other == choice:
			algo.ReportUnresponsive(env, other, "got the vote of this node but did not become leader")
		case choice == s.self && !s.current.tally.Has(other):
			algo.ReportUnresponsive(env, other, "did not vote")
		}
	}
}

// oldLeader returns the last leader that the claims name.
//
// ◆ The claim with the highest term names it. If instead each server voted for the leader that it
// followed itself, votes would split between a leader and its predecessor.
func oldLeader(slate []claim) algo.NodeID {
	var last leadInfo
	for _, c := range slate {
		if c.lastLead.term > last.term || c.lastLead.term == last.term && last.leader.IsZero() {
			last = c.lastLead
		}
	}
	return last.leader
}

// dropClaims removes the claims of servers that are suspected or no longer members.
//
// ◆ Without this rule, a vote for a crashed server is lost, and the round fails.
func (s *server) dropClaims() {
	s.elector.slate = slices.DeleteFunc(s.elector.slate, func(c claim) bool {
		return s.suspected.Has(c.from) || !s.view.Contains(c.from)
	})
}

// closeEarly ends the window early if no further claim is expected.
//
// ◆ In the source, only the window ends the voting. It must be as long as the slowest claim may
// take.
func (s *server) closeEarly(env algo.Env) {
	if s.options.EarlyClose && s.elector.state == voting && !slices.ContainsFunc(slices.Collect(s.view.Others(s.self)), s.isAwaiting) {
		s.tryVote(env)
	}
}

// isAwaiting reports whether a claim of the server id can still arrive in the current voting.
func (s *server) isAwaiting(id algo.NodeID) bool {
	_, hasClaim := slices.BinarySearchFunc(s.elector.slate, id, compareClaimant)
	return s.elector.state == voting && !hasClaim && !s.suspected.Has(id)
}

// Suspect handles a suspicion of peer.
//
// ◆ The source has no failure detector. Without it, a server needs 3 · HBT to detect a crash of
// its leader. If the server that it voted for crashes, it waits until the end of the pause.
func (s *server) Suspect(env algo.Env, peer algo.NodeID) {
	s.suspected.Add(peer)
	lost := peer == s.leader.ID && s.leaderKnown()
	if peer == s.leader.ID {
		s.announceVacancy(env)
	}
	switch {
	case s.elector.state == voting:
		s.dropClaims()
		s.closeEarly(env)
	case lost, !s.leaderKnown() && peer == s.current.vote:
		env.Note("suspects %s, which leads or got its vote", peer)
		s.requestRound(env)
	}
	s.checkQuorum(env)
	s.updateMonitored(env)
}

func (s *server) Trust(env algo.Env, peer algo.NodeID) {
	s.suspected.Remove(peer)
	if s.elector.state == voting {
		env.Send(peer, algo.Periodic{Message: s.ownClaim(true)})
	}
	s.checkQuorum(env)
}

// updateMonitored tells the failure detector which members to monitor. A follower monitors its
// leader. In an election, a server monitors all others: it waits for their claims, and must
// detect a crash of the one that it voted for. ◆ A leader monitors all others, because it stops
// if it does not hear from a quorum. Each event calls updateMonitored once, at its end: the
// detector would not report again a suspicion of a member that was not monitored in between.
func (s *server) updateMonitored(env algo.Env) {
	var monitored algo.Set
	switch {
	case s.leaderKnown() && !s.isLeader():
		monitored.Add(s.leader.ID)
	case !s.isLeader() && s.view.Len() >= largeCluster:
		monitored = s.monitorSubset()
	default:
		monitored = slices.Collect(s.view.Others(s.self))
	}
	if slices.Equal(monitored, s.monitored) {
		return
	}
	s.monitored = monitored
	s.suspected.Retain(monitored) // the detector also forgets its suspicion of the others
	env.Monitor(monitored...)
}

// monitorSubset returns the members that a server of a large cluster monitors in an election: the
// one that it voted for, suspected ones, and a few of those with an expected claim. When none
// of these few is left, it selects the next few.
//
// ◆ If all servers monitored each other, N² heartbeats in each interval would add to the N²
// messages of a round. All messages would be late, and all servers would suspect each other.
func (s *server) monitorSubset() (monitored algo.Set) {
	more := largeCluster / 4
	if slices.ContainsFunc(s.monitored, s.isAwaiting) {
		more = 0
	}
	for other := range s.view.Others(s.self) {
		switch {
		case other == s.current.vote, s.suspected.Has(other), s.monitored.Has(other) && s.isAwaiting(other):
			monitored.Add(other)
		case more > 0 && s.isAwaiting(other):
			more--
			monitored.Add(other)
		}
	}
	return monitored
}

// checkQuorum starts or stops timerQuorum, the maximum time that a leader leads without hearing
// from a quorum.
//
// ◆ This time is 3 · HBT. Without this rule, a disconnected leader would lead forever, beside the
// one that the majority has elected.
func (s *server) checkQuorum(env algo.Env) {
	if s.candidate.state != leader {
		return
	}
	switch quorumMissing := s.view.Len()-len(s.suspected) < s.view.Quorum(); {
	case quorumMissing && !s.candidate.quorumMissing:
		env.SetTimer(timerQuorum, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
		s.candidate.quorumMissing = true
	case !quorumMissing && s.candidate.quorumMissing:
		env.StopTimer(timerQuorum)
		s.candidate.quorumMissing = false
	}
}
