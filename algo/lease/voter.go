package lease

import "github.com/elect-go/elect/algo"

// voter is what a node promises to others.
type voter struct {
	promise promise
	denied  algo.Set // who asked in vain, and is told when this node is free
}

// promise is to have no other leader. It is on until a timer ends.
type promise struct {
	on     bool
	to     algo.NodeID // maybe nobody: after a restart, of which it is not known to whom
	ballot algo.Epoch
}

// asked takes an Ask.
func (n *node) asked(env algo.Env, from algo.NodeID, m Ask) {
	if m.Holds {
		n.follow(env, from, m.Ballot)
	}
	why := n.denies(from, m)
	switch {
	case why != "":
		env.Note("denies %s the ballot %d: %s", from, uint64(m.Ballot), why)
		if !n.open(from) {
			n.denied.Add(from)
		}
	case m.Ballot > 0:
		n.ballot, n.vote, n.kept = m.Ballot, from, n.options.Duration
		n.promise = promise{true, from, m.Ballot}
		env.SetTimer(timerPromise, n.options.Duration, n.options.Duration)
	}
	env.Send(from, repeated(Reply{Ballot: m.Ballot, Round: m.Round, Yes: why == "", Max: n.ballot}, m.Again))
	if n.options.Preempt && n.stage == holds && m.Heard && n.nominee.ID == from && n.view.MayLead(from) {
		n.yield(env) // to its own nominee, which reaches a majority
	}
}

// denies is why this node does not promise what is asked, or nothing.
func (n *node) denies(from algo.NodeID, m Ask) string {
	switch {
	case n.stage >= asks:
		return "it stands itself"
	case m.View.OlderThan(n.view.Stamp()):
		return "that one counts by an older view"
	case m.For != n.options.Duration:
		return "that is for another time than its own"
	case m.Ballot > 0 && (m.Ballot < n.ballot || m.Ballot == n.ballot && n.vote != from):
		return "that ballot is over"
	case n.promise.on && n.promise.to != from:
		return "it has promised another"
	case m.Holds, n.promise.on && n.promise.ballot == m.Ballot:
		return "" // it may not lead any more, and hand over
	case !n.view.MayLead(from), !n.promise.on && !n.open(from):
		return "it has another nominee, or that one may not lead"
	}
	return ""
}

// follow takes somebody for leader who says that a majority has granted it a ballot: also after a vote for
// another one in it, who has lost.
func (n *node) follow(env algo.Env, from algo.NodeID, ballot algo.Epoch) {
	n.heard = max(n.heard, ballot)
	if ballot < n.ballot || n.lease > 0 || !n.view.MayLead(from) {
		return
	}
	if n.stage == asks {
		n.giveUp(env)
	}
	n.ballot, n.vote = ballot, from
	if n.promise.to != from {
		n.promise = promise{} // a majority has promised this one since: the other leads no more
	}
	env.SetTimer(timerFollow, n.options.Duration, n.options.Duration)
	if l := (algo.Leader{Epoch: ballot, ID: from}); n.leader != l {
		n.leader = l
		env.Announce(l)
	}
}

// released ends a promise before its time.
func (n *node) released(env algo.Env, from algo.NodeID, ballot algo.Epoch) {
	if n.promise.to == from && n.promise.ballot <= ballot {
		n.promise = promise{}
		env.StopTimer(timerPromise)
	}
	if n.leader.ID == from && n.leader.Epoch <= ballot {
		n.vacate(env)
	}
}

// Died forgets what a process that is no more said of itself, and ends what this node has promised to it.
func (n *node) Died(env algo.Env, peer algo.NodeID) {
	n.forgive(env, peer)
	if n.options.TrustEvidence {
		n.released(env, peer, n.promise.ballot)
		n.consider(env)
	}
}

// open reports whether this node has promised nothing, and would have nobody else.
func (n *node) open(to algo.NodeID) bool {
	return !n.promise.on && n.stage < asks && n.view.MayLead(to) && (n.nominee.Vacant() || n.nominee.ID == to)
}

// relent tells who asked in vain before.
func (n *node) relent(env algo.Env) {
	for _, id := range n.denied {
		if n.open(id) {
			env.Send(id, Reply{Yes: true, Max: n.ballot})
			n.denied.Remove(id)
			return // there is no other that it could promise
		}
	}
}
