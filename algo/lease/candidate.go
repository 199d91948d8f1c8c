package lease

import (
	"strconv"

	"github.com/elect-go/elect/algo"
)

// candidate is what a node does that is nominated, until it leads.
type candidate struct {
	stage stage

	free    algo.Set // who would grant a ballot
	heardBy algo.Set // who has answered the last question
	against algo.Set // who has denied the ballot

	round  uint64  // the last one
	rounds []round // that no majority has granted, of this ballot
}

// stage is how far a nominee is.
type stage uint8

const (
	idle   stage = iota // it is none
	rests               // it was denied a ballot
	tries               // it asks who would grant one
	asks                // it has taken one, and asks for it
	holds               // it leads; with a ballot above that of leader it asks for it
	yields              // it has ended its leadership, and its work may not have ended yet
)

// round is one question. It has a deadline of its own, from when it was asked: what is granted after that
// is worth nothing.
type round struct {
	number  uint64
	granted algo.Set
}

func deadline(round uint64) algo.Timer {
	return algo.Timer("lease/" + strconv.FormatUint(round, 10))
}

// try asks who would grant a ballot, and takes none before a majority would: higher ballots of those who
// fail keep the others apart.
func (n *node) try(env algo.Env) {
	m := Ask{View: n.view.Stamp(), For: n.options.Duration, Again: n.stage == tries || n.away}
	if n.free, n.heardBy = nil, nil; !n.away {
		n.stage = tries
	}
	env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
	n.broadcast(env, repeated(m, m.Again))
}

// answered takes a Reply.
func (n *node) answered(env algo.Env, from algo.NodeID, m Reply) {
	n.heard = max(n.heard, m.Max)
	switch {
	case m.Ballot == 0 && (n.stage == tries || n.away):
		n.weigh(env, from, m.Yes)
	case m.Ballot == 0 && n.stage == holds && !m.Yes:
		env.Send(from, n.request()) // a member that has restarted does not know the leader
	case m.Ballot != n.ballot || n.stage < asks:
	case m.Yes:
		n.granted(env, from, m.Round)
	default:
		n.refused(env, from, m.Max)
	}
}

// weigh counts who would grant a ballot. When a majority has answered, who leads is told: it may hand over to
// this node, unless that has promised yet another.
func (n *node) weigh(env algo.Env, from algo.NodeID, free bool) {
	if n.free.Remove(from); free {
		n.free.Add(from)
	}
	before := n.majority(n.heardBy)
	n.heardBy.Add(from)
	if before || !n.majority(n.heardBy) {
		return
	}
	if n.patience(env); n.away {
		n.stepAside(env, false)
	}
	if n.view.Contains(n.leader.ID) && (!n.promise.on || n.promise.to == n.leader.ID) {
		env.Send(n.leader.ID, Ask{View: n.view.Stamp(), For: n.options.Duration, Heard: true})
	}
}

// stand takes a ballot.
func (n *node) stand(env algo.Env) {
	n.stage, n.against = asks, nil
	env.StopTimer(timerRetry)
	n.ballot, n.vote, n.kept = max(n.ballot+1, n.heard+1, n.nominee.Epoch), n.self, n.options.Duration
	n.ask(env)
}

// ask begins a round. What it brings ends a term after this moment, not after the answers.
func (n *node) ask(env algo.Env) {
	n.round++
	n.rounds = append(n.rounds, round{number: n.round})
	env.(algo.LeaseEnv).SetDeadline(deadline(n.round), n.options.term())
	env.SetTimer(timerRenew, n.options.Renew, n.options.Renew)
	n.broadcast(env, n.request())
	n.count(env)
}

// request is what this node asks in the current round. It repeats itself while this node leads.
func (n *node) request() algo.Message {
	leads := n.leader == algo.Leader{Epoch: n.ballot, ID: n.self}
	return repeated(Ask{Ballot: n.ballot, Round: n.round, View: n.view.Stamp(), For: n.options.Duration, Holds: leads, Again: leads}, leads)
}

// granted counts a promise. It is for the rounds before, too.
func (n *node) granted(env algo.Env, from algo.NodeID, round uint64) {
	n.against.Remove(from)
	for i := range n.rounds {
		if n.rounds[i].number <= round {
			n.rounds[i].granted.Add(from)
		}
	}
	n.count(env)
}

// count looks for the last round that a majority has granted. The lease ends with its deadline.
func (n *node) count(env algo.Env) {
	for i := len(n.rounds) - 1; i >= 0; i-- {
		if r := n.rounds[i]; n.majority(r.granted) {
			for _, earlier := range n.rounds[:i] {
				env.StopTimer(deadline(earlier.number))
			}
			env.StopTimer(deadline(n.lease))
			n.rounds = n.rounds[i+1:]
			n.lease = r.number
			env.(algo.LeaseEnv).Bound(deadline(n.lease))
			n.lead(env)
			return
		}
	}
}

// refused counts who does not promise.
func (n *node) refused(env algo.Env, from algo.NodeID, highest algo.Epoch) {
	n.against.Add(from)
	switch {
	case n.stage == asks && !n.couldWin():
		n.rest(env)
	case n.stage == holds && highest > n.ballot:
		n.outbid(env)
	}
}

// couldWin reports whether a majority has not denied the ballot.
func (n *node) couldWin() bool { return n.view.Len()-n.among(n.against) >= n.view.Quorum() }

// rest lets others go first, for a time that is not the same for all.
func (n *node) rest(env algo.Env) {
	n.giveUp(env)
	n.stage = rests
	env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
}

// giveUp ends a candidacy.
func (n *node) giveUp(env algo.Env) {
	if !n.away {
		env.StopTimer(timerRetry)
	}
	if n.stage == asks {
		n.end(env)
		n.release(env)
	}
	n.stage = idle
}

// Ungranted is who keeps this node from leading, which is nominated, or stands aside, while it knows of no leader:
// whose promise it waits for, its own as well.
func (n *node) Ungranted() (missing []algo.NodeID, nominated bool) {
	if n.nominee.ID != n.self && !n.away || !n.view.MayLead(n.self) || n.stage >= holds || !n.leader.Vacant() {
		return nil, false
	}
	granted, own := n.free, !n.promise.on
	if n.stage == asks && len(n.rounds) > 0 {
		granted, own = n.rounds[0].granted, true
	}
	for m := range n.view.All() {
		if !granted.Has(m.ID) && (m.ID != n.self || !own) {
			missing = append(missing, m.ID)
		}
	}
	return missing, true
}
