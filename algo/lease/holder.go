package lease

import "github.com/elect-go/elect/algo"

// holder is the state of a node that leads.
type holder struct {
	leaseRequest uint64 // request that has the timer for the end of the lease; 0 if there is no lease
	firstValid   uint64 // first request of this leadership with the current members
	workRunning  bool   // the Lead callback may be running, possibly after the leadership
}

// becomeLeader announces this node as leader in its ballot, which a majority has granted.
func (n *node) becomeLeader(env algo.Env) {
	l := algo.Leader{Epoch: n.ballot, ID: n.self}
	if n.leader == l || n.stage == draining {
		return
	}
	n.stage, n.leader, n.workRunning = holding, l, n.options.DrainTimeout > 0
	env.StopTimer(timerFollow)
	env.StopTimer(timerWithdraw)
	env.Announce(l)
	n.firstValid = n.lastRequest + 1
	n.requestGrants(env) // announces the leader to all
}

// raiseBallot takes a ballot above those of members that cannot follow the current one. The lease
// of the current ballot continues, so there is no gap.
func (n *node) raiseBallot(env algo.Env) {
	if !n.canWin() {
		n.startDrain(env)
		return
	}
	n.ballot, n.grantDuration = max(n.ballot, n.highestBallot)+1, n.options.Duration
	n.dropRequests(env)
	n.requestGrants(env)
}

// startDrain ends the leadership of this node. The lease ends later: the node renews it until the
// Lead callback has returned.
func (n *node) startDrain(env algo.Env) {
	n.stage = draining
	n.announceVacancy(env)
	env.SetTimer(timerDrain, n.options.DrainTimeout, n.options.DrainTimeout)
}

// handleDrainTimeout handles the end of the wait for the Lead callback. The node stops renewing,
// and the lease expires.
func (n *node) handleDrainTimeout(env algo.Env) {
	if n.workRunning {
		env.Note("stops renewing its lease: the Lead callback is still running")
		env.StopTimer(timerRenew)
		return
	}
	n.handOver(env)
}

// WorkReturned lets other members lead, once the Lead callback has returned.
func (n *node) WorkReturned(env algo.Env) {
	if !n.workRunning || n.stage == holding {
		return // not for the current leadership
	}
	if n.workRunning = false; n.stage != requesting {
		n.handOver(env)
	}
	n.advance(env)
}

// handOver ends the lease of this node, and then the grants of the voters.
func (n *node) handOver(env algo.Env) {
	if n.stage == draining {
		n.loseLease(env)
	}
	n.sendRelease(env)
}

// handleDeadline handles the end of the time of a request.
func (n *node) handleDeadline(env algo.Env, t algo.Timer) {
	switch {
	case t == requestTimer(n.leaseRequest):
		env.Note("has not heard from a majority for the duration of its lease")
		n.loseLease(env)
	case n.stage == requesting:
		n.backOff(env)
	case len(n.requests) > 0 && t == requestTimer(n.requests[0].number):
		n.requests = n.requests[1:]
	}
}

// DrainEnded stops the renewal at once. Otherwise the node would wait twice for a Lead callback that hangs: the driver
// has waited for it before the drain began here.
func (n *node) DrainEnded(env algo.Env) {
	if n.stage == draining && n.workRunning {
		env.StopTimer(timerDrain)
		n.handleDrainTimeout(env)
	}
}

// loseLease ends the leadership together with its lease.
func (n *node) loseLease(env algo.Env) {
	env.StopTimer(timerDrain)
	n.clearLease(env)
	n.stage = idle
	n.announceVacancy(env)
}

// clearLease ends the lease, if there is one, and all requests.
func (n *node) clearLease(env algo.Env) {
	n.dropRequests(env)
	env.StopTimer(timerRenew)
	env.StopTimer(requestTimer(n.leaseRequest))
	n.leaseRequest = 0
}

// dropRequests drops the requests that no majority has granted yet.
func (n *node) dropRequests(env algo.Env) {
	for _, r := range n.requests {
		env.StopTimer(requestTimer(r.number))
	}
	n.requests = nil
}

// sendRelease ends the grants for this node early, so that the voters can grant to another. It
// does nothing while a Lead callback of this node may still run.
func (n *node) sendRelease(env algo.Env) {
	if n.workRunning {
		return
	}
	n.broadcast(env, Release{n.ballot})
	if n.vote == n.self {
		n.grantDuration = 0
	}
}

// HoldsLease reports whether this node leads and a majority of the current members has granted its
// lease since the last change of members. A change that the driver starts now has a whole lease
// for its saves.
func (n *node) HoldsLease() bool { return n.stage == holding && n.leaseRequest >= n.firstValid }
