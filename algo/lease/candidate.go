package lease

import (
	"strconv"

	"github.com/elect-go/elect/algo"
)

// candidate is the state of a nominee until it leads.
type candidate struct {
	stage stage

	preVotes   algo.Set // members that would grant a ballot
	responders algo.Set // members that have replied to the last pre-vote
	denials    algo.Set // members that deny the ballot

	lastRequest uint64    // number of the last request
	requests    []request // requests of this ballot that no majority has granted yet
}

// stage is the progress of a nominee.
type stage uint8

const (
	idle       stage = iota // this node is no nominee
	backingOff              // its last ballot was denied
	preVoting               // it asks which members would grant a ballot
	requesting              // it has taken a ballot and requests grants
	holding                 // it leads; if its ballot is above the epoch of leader, it requests grants for that ballot
	draining                // its leadership has ended, and its Lead callback may not have returned yet
)

// request is one request for grants. It has a timer of its own, which starts when the request is
// sent. Grants that arrive after its end do not count.
type request struct {
	number uint64
	grants algo.Set
}

// requestTimer returns the timer of a request.
func requestTimer(round uint64) algo.Timer {
	return algo.Timer("lease/" + strconv.FormatUint(round, 10))
}

// startPreVote asks which members would grant a ballot. The node takes a ballot only if a
// majority would grant it. Otherwise, higher ballots of nominees that fail would keep the others
// from leading.
func (n *node) startPreVote(env algo.Env) {
	m := Request{ConfigID: n.view.ConfigID(), Duration: n.options.Duration, Again: n.stage == preVoting || n.withdrawn}
	if n.preVotes, n.responders = nil, nil; !n.withdrawn {
		n.stage = preVoting
	}
	env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
	n.broadcast(env, asPeriodic(m, m.Again))
}

// handleReply handles a Reply.
func (n *node) handleReply(env algo.Env, from algo.NodeID, m Reply) {
	n.highestBallot = max(n.highestBallot, m.HighestBallot)
	switch {
	case m.Ballot == 0 && (n.stage == preVoting || n.withdrawn):
		n.countPreVote(env, from, m.Granted)
	case m.Ballot == 0 && n.stage == holding && !m.Granted:
		env.Send(from, n.requestMessage()) // a member that has restarted does not know the leader
	case m.Ballot != n.ballot || n.stage < requesting:
	case m.Granted:
		n.recordGrant(env, from, m.Round)
	default:
		n.recordDenial(env, from, m.HighestBallot)
	}
}

// countPreVote records whether a member would grant a ballot. When a majority has replied, this
// node informs the leader, which may hand over to it, unless this node's own grant is for yet
// another member.
func (n *node) countPreVote(env algo.Env, from algo.NodeID, wouldGrant bool) {
	if n.preVotes.Remove(from); wouldGrant {
		n.preVotes.Add(from)
	}
	hadQuorum := n.isQuorum(n.responders)
	n.responders.Add(from)
	if hadQuorum || !n.isQuorum(n.responders) {
		return
	}
	if n.armWithdrawTimer(env); n.withdrawn {
		n.setWithdrawn(env, false)
	}
	if n.view.Contains(n.leader.ID) && (!n.grant.active || n.grant.to == n.leader.ID) {
		env.Send(n.leader.ID, Request{ConfigID: n.view.ConfigID(), Duration: n.options.Duration, QuorumReachable: true})
	}
}

// takeBallot takes a new ballot and requests grants for it.
func (n *node) takeBallot(env algo.Env) {
	n.stage, n.denials = requesting, nil
	env.StopTimer(timerRetry)
	n.ballot, n.vote, n.grantDuration = max(n.ballot+1, n.highestBallot+1, n.nominee.Epoch), n.self, n.options.Duration
	n.requestGrants(env)
}

// requestGrants sends a request. A lease that it brings lasts usableDuration from now, not from
// the replies.
func (n *node) requestGrants(env algo.Env) {
	n.lastRequest++
	n.requests = append(n.requests, request{number: n.lastRequest})
	env.(algo.LeaseEnv).SetDeadline(requestTimer(n.lastRequest), n.options.usableDuration())
	env.SetTimer(timerRenew, n.options.RenewInterval, n.options.RenewInterval)
	n.broadcast(env, n.requestMessage())
	n.countGrants(env)
}

// requestMessage returns the message of the current request. It is periodic while this node
// leads.
func (n *node) requestMessage() algo.Message {
	isLeader := n.leader == algo.Leader{Epoch: n.ballot, ID: n.self}
	return asPeriodic(Request{Ballot: n.ballot, Round: n.lastRequest, ConfigID: n.view.ConfigID(), Duration: n.options.Duration, Leading: isLeader, Again: isLeader}, isLeader)
}

// recordGrant records a grant. It counts for the request with that number and for earlier ones.
func (n *node) recordGrant(env algo.Env, from algo.NodeID, round uint64) {
	n.denials.Remove(from)
	for i := range n.requests {
		if n.requests[i].number <= round {
			n.requests[i].grants.Add(from)
		}
	}
	n.countGrants(env)
}

// countGrants finds the last request that a majority has granted. The lease ends with the timer
// of that request.
func (n *node) countGrants(env algo.Env) {
	for i := len(n.requests) - 1; i >= 0; i-- {
		if r := n.requests[i]; n.isQuorum(r.grants) {
			for _, earlier := range n.requests[:i] {
				env.StopTimer(requestTimer(earlier.number))
			}
			env.StopTimer(requestTimer(n.leaseRequest))
			n.requests = n.requests[i+1:]
			n.leaseRequest = r.number
			env.(algo.LeaseEnv).LeadUntil(requestTimer(n.leaseRequest))
			n.becomeLeader(env)
			return
		}
	}
}

// recordDenial records a member that denies the ballot.
func (n *node) recordDenial(env algo.Env, from algo.NodeID, highest algo.Epoch) {
	n.denials.Add(from)
	switch {
	case n.stage == requesting && !n.canWin():
		n.backOff(env)
	case n.stage == holding && highest > n.ballot:
		n.raiseBallot(env)
	}
}

// canWin reports whether a majority can still grant the ballot.
func (n *node) canWin() bool { return n.view.Len()-n.countMembers(n.denials) >= n.view.Quorum() }

// backOff ends the candidacy and starts the next one after a random time, so that other nominees
// can go first.
func (n *node) backOff(env algo.Env) {
	n.endCandidacy(env)
	n.stage = backingOff
	env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
}

// endCandidacy ends the candidacy of this node.
func (n *node) endCandidacy(env algo.Env) {
	if !n.withdrawn {
		env.StopTimer(timerRetry)
	}
	if n.stage == requesting {
		n.clearLease(env)
		n.sendRelease(env)
	}
	n.stage = idle
}

// PendingGrants returns the members that must still grant a request of this node, possibly itself, and
// whether it is a nominee or has withdrawn while it knows of no leader.
func (n *node) PendingGrants() (missing []algo.NodeID, nominated bool) {
	if n.nominee.ID != n.self && !n.withdrawn || !n.view.IsEligible(n.self) || n.stage >= holding || !n.leader.IsVacant() {
		return nil, false
	}
	granted, own := n.preVotes, !n.grant.active
	if n.stage == requesting && len(n.requests) > 0 {
		granted, own = n.requests[0].grants, true
	}
	for m := range n.view.All() {
		if !granted.Has(m.ID) && (m.ID != n.self || !own) {
			missing = append(missing, m.ID)
		}
	}
	return missing, true
}
