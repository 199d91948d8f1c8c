package lease

import "github.com/elect-go/elect/algo"

// holder is what a node does that leads.
type holder struct {
	lease   uint64 // the round with whose deadline the lease ends; 0 for none
	since   uint64 // the first round that this node asked since it leads, and since the members are who they are now
	working bool   // the work of a leadership may be going on, also after it
}

// lead announces this node in its ballot, which a majority has granted.
func (n *node) lead(env algo.Env) {
	l := algo.Leader{Epoch: n.ballot, ID: n.self}
	if n.leader == l || n.stage == yields {
		return
	}
	n.stage, n.leader, n.working = holds, l, n.options.Drain > 0
	env.StopTimer(timerFollow)
	env.StopTimer(timerAside)
	env.Announce(l)
	n.since = n.round + 1
	n.ask(env) // so all hear of it
}

// outbid takes a ballot above those that others have, who cannot follow a lower one. The lease of the old
// one runs on, and there is nobody in between.
func (n *node) outbid(env algo.Env) {
	if !n.couldWin() {
		n.yield(env)
		return
	}
	n.ballot, n.kept = max(n.ballot, n.heard)+1, n.options.Duration
	n.forget(env)
	n.ask(env)
}

// yield ends the leadership of this node, and later its lease. It goes on renewing that until its work has
// returned.
func (n *node) yield(env algo.Env) {
	n.stage = yields
	n.vacate(env)
	env.SetTimer(timerDrain, n.options.Drain, n.options.Drain)
}

// drained has waited for the work long enough. The lease runs out.
func (n *node) drained(env algo.Env) {
	if n.working {
		env.Note("renews its lease no more, although its work has not returned")
		env.StopTimer(timerRenew)
		return
	}
	n.handOver(env)
}

// Returned lets others lead, as soon as nothing of this node works any more.
func (n *node) Returned(env algo.Env) {
	if !n.working || n.stage == holds {
		return // it is not about the leadership that is on
	}
	if n.working = false; n.stage != asks {
		n.handOver(env)
	}
	n.consider(env)
}

// handOver ends the lease of this node, and then the promises of others.
func (n *node) handOver(env algo.Env) {
	if n.stage == yields {
		n.lose(env)
	}
	n.release(env)
}

// over is the deadline of a round.
func (n *node) over(env algo.Env, t algo.Timer) {
	switch {
	case t == deadline(n.lease):
		env.Note("has not heard of a majority for the time of its lease")
		n.lose(env)
	case n.stage == asks:
		n.rest(env)
	case len(n.rounds) > 0 && t == deadline(n.rounds[0].number):
		n.rounds = n.rounds[1:]
	}
}

// lose ends a leadership with its lease.
func (n *node) lose(env algo.Env) {
	env.StopTimer(timerDrain)
	n.end(env)
	n.stage = idle
	n.vacate(env)
}

// end ends the lease of this node, if it has one, and all that it has asked.
func (n *node) end(env algo.Env) {
	n.forget(env)
	env.StopTimer(timerRenew)
	env.StopTimer(deadline(n.lease))
	n.lease = 0
}

// forget leaves the rounds that no majority has granted yet.
func (n *node) forget(env algo.Env) {
	for _, r := range n.rounds {
		env.StopTimer(deadline(r.number))
	}
	n.rounds = nil
}

// release lets those who have promised this node something promise it to another. That waits for all that
// it has worked.
func (n *node) release(env algo.Env) {
	if n.working {
		return
	}
	n.broadcast(env, Release{n.ballot})
	if n.vote == n.self {
		n.kept = 0
	}
}

// Backed reports whether this node leads and a majority of the members as they are now has promised it since. So a
// change of the members that its host begins has a whole lease for the saves that it takes.
func (n *node) Backed() bool { return n.stage == holds && n.lease >= n.since }
