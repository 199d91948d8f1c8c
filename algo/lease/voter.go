package lease

import "github.com/elect-go/elect/algo"

// voter is the grant of a node to another.
type voter struct {
	grant   grant
	waiters algo.Set // members that were denied, to be notified when this node is free
}

// grant is the promise to accept no other leader. It is active until a timer ends.
type grant struct {
	active bool
	to     algo.NodeID // holder of the grant; zero if unknown, after a restart
	ballot algo.Epoch
}

// handleRequest handles a Request.
func (n *node) handleRequest(env algo.Env, from algo.NodeID, m Request) {
	if m.Leading {
		n.follow(env, from, m.Ballot)
	}
	reason := n.denialReason(from, m)
	switch {
	case reason != "":
		env.Note("denies %s the ballot %d: %s", from, uint64(m.Ballot), reason)
		if !n.isFreeFor(from) {
			n.waiters.Add(from)
		}
	case m.Ballot > 0:
		n.ballot, n.vote, n.grantDuration = m.Ballot, from, n.options.Duration
		n.grant = grant{true, from, m.Ballot}
		env.SetTimer(timerGrant, n.options.Duration, n.options.Duration)
	}
	reply := Reply{Ballot: m.Ballot, Round: m.Round, Granted: reason == "", HighestBallot: n.ballot}
	env.Send(from, asPeriodic(reply, m.Again))
	if n.options.Preempt && n.stage == holding && m.QuorumReachable && n.nominee.ID == from && n.view.IsEligible(from) {
		n.startDrain(env) // hands over to its own nominee, which reaches a majority
	}
}

// denialReason returns the reason why this node denies m, or "" if it grants it.
func (n *node) denialReason(from algo.NodeID, m Request) string {
	switch {
	case n.stage >= requesting:
		return "it is a candidate or leads itself"
	case m.ConfigID.OlderThan(n.view.ConfigID()):
		return "the sender has an older view"
	case m.Duration != n.options.Duration:
		return "the sender has a different lease duration"
	case m.Ballot > 0 && (m.Ballot < n.ballot || m.Ballot == n.ballot && n.vote != from):
		return "the ballot has ended"
	case n.grant.active && n.grant.to != from:
		return "it has granted the lease to another"
	case m.Leading, n.grant.active && n.grant.ballot == m.Ballot:
		return "" // it may be no longer eligible, and hand over
	case !n.view.IsEligible(from), !n.grant.active && !n.isFreeFor(from):
		return "it has another nominee, or the sender is not eligible"
	}
	return ""
}

// follow accepts from as the leader, which says that a majority has granted it the ballot. It
// does so even if this node has granted the ballot to another member: that one has lost.
func (n *node) follow(env algo.Env, from algo.NodeID, ballot algo.Epoch) {
	n.highestBallot = max(n.highestBallot, ballot)
	if ballot < n.ballot || n.leaseRequest > 0 || !n.view.IsEligible(from) {
		return
	}
	if n.stage == requesting {
		n.endCandidacy(env)
	}
	n.ballot, n.vote = ballot, from
	if n.grant.to != from {
		n.grant = grant{} // a majority has granted this ballot since, so the other no longer leads
	}
	env.SetTimer(timerFollow, n.options.Duration, n.options.Duration)
	if l := (algo.Leader{Epoch: ballot, ID: from}); n.leader != l {
		n.leader = l
		env.Announce(l)
	}
}

// handleRelease ends a grant early.
func (n *node) handleRelease(env algo.Env, from algo.NodeID, ballot algo.Epoch) {
	if n.grant.to == from && n.grant.ballot <= ballot {
		n.grant = grant{}
		env.StopTimer(timerGrant)
	}
	if n.leader.ID == from && n.leader.Epoch <= ballot {
		n.announceVacancy(env)
	}
}

// PeerDied drops the withdrawal of a process that has ended. It also ends the grant for its ballots up
// to ended or, with TrustEvidence, any grant for it. A later incarnation has a higher ballot.
func (n *node) PeerDied(env algo.Env, peer algo.NodeID, ended algo.Epoch) {
	n.endWithdrawal(env, peer)
	if n.options.TrustEvidence {
		ended = max(ended, n.grant.ballot)
	}
	if ended > 0 {
		n.handleRelease(env, peer, ended)
		n.advance(env)
	}
}

// isFreeFor reports whether this node has no active grant and does not prefer another member.
func (n *node) isFreeFor(to algo.NodeID) bool {
	return !n.grant.active && n.stage < requesting && n.view.IsEligible(to) && (n.nominee.IsVacant() || n.nominee.ID == to)
}

// notifyFree informs each member with a denied request that this node would now grant it.
func (n *node) notifyFree(env algo.Env) {
	for _, id := range n.waiters {
		if n.isFreeFor(id) {
			env.Send(id, Reply{Granted: true, HighestBallot: n.ballot})
			n.waiters.Remove(id)
			return // this node can grant to one member only
		}
	}
}
