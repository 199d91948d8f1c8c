// Package ring implements the ring algorithm exactly as it is taught: the process with the
// highest ⟨attribute, ID⟩ becomes leader. It is for lessons. Package algo/ring is the algorithm
// for production, and docs/from-textbook-to-production.md explains the differences.
//
// # The source
//
// The rules are those of the notes "Distributed System (10)"
// (https://yzzzf.xyz/2024/02/23/distributed-system-10/), in their order:
//
//	[1] "N processes are organized in a logical ring"
//	[2] "All messages are sent clockwise around the ring."
//	[3] "When Pi start election: send election message with Pi's ⟨attr_i, i⟩ to ring successor;
//	    set state to participating"
//	[4] "If (attr_x, x) > (attr_j, j): forward message (election, ⟨attr_x, x⟩) to successor; set
//	    state to participating"
//	[5] "If (attr_x, x) < (attr_j, j): If (not participating): send (election, ⟨attr_j, j⟩) to
//	    successor; set state to participating"
//	[6] "If (attr_x, x) = (attr_j, j): Pj is the elected leader …; send elected message
//	    containing Pj's id."
//	[7] "elected message forwarded along the ring until it reaches the leader. Set state to not
//	    participating when an elected message is received."
//	[8] "A process can detect failure of a process via its own local failure detector: Repair the
//	    ring. Stop forwarding message on failed process. Start a new run of leader election."
//	[9] "Any process can call for an election. A process can call for at most one election at a
//	    time."
//
// They retell E. Chang and R. Roberts, "An Improved Algorithm for Decentralized Extrema-Finding
// in Circular Configurations of Processes", Communications of the ACM 22(5), 1979,
// https://doi.org/10.1145/359104.359108. In that paper no process fails, and the end of an
// election is announced "around the circle" as in [7].
//
// # Cost
//
// With N members: 2N+d messages if one process starts and the highest is d hops ahead, which is
// 2N to 3N−1. If all start, 3N−1 in the best order and N(N+1)/2+N in the worst.
//
// # Parts of the sources without counterpart
//
//	"assume no failures occur during the         an assumption of the analysis; [8] says what
//	election protocol itself"                    happens otherwise
//	"failure detectors cannot be both complete   the reason why [8] is not enough; the notes give
//	and accurate"                                no remedy
//	"Safety", "Liveness"                         goals, not actions
//	"the initiator" (1979)                       any process can be one: [9]
//
// The sources do not say what a process does at its start. Here it starts an election, by [9]:
// otherwise there would never be a first one.
//
// Code that the contract of package algo requires, but no source, is marked "contract:".
package ring

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

type (
	// Election is (election, ⟨attr, id⟩).
	Election struct {
		Attr int
		ID   algo.NodeID
	}
	// Elected is the elected message.
	Elected struct {
		ID    algo.NodeID
		Epoch algo.Epoch // contract: leaderships have epochs
	}
)

// Kind is "election".
func (Election) Kind() string { return "election" }

// Kind is "elected".
func (Elected) Kind() string { return "elected" }

// process is Pj.
type process struct {
	algo.Base // contract: Expire. There is no timer.

	self          algo.NodeID
	view          algo.View
	participating bool
	failed        algo.Set    // failed processes between Pj and its successor
	elected       algo.Leader // contract: announced leader. Its epoch is the highest that Pj knows
}

// Start is [9].
func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.elected.Epoch = saved.Epoch
	p.Reconfigure(env, view)
}

// Campaign is [9].
func (p *process) Campaign(env algo.Env) {
	if !p.participating {
		p.elect(env)
	}
}

// elect is [3].
func (p *process) elect(env algo.Env) {
	p.sendElection(env, Election{p.asMember().Priority, p.self})
}

func (p *process) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		switch order := m.compare(p.asMember()); {
		case order > 0:
			p.sendElection(env, m) // [4]
		case order < 0 && !p.participating:
			p.elect(env) // [5]
		case order == 0:
			p.win(env) // [6]
		}
	case Elected:
		p.accept(env, m)
		if m.ID != p.self {
			p.send(env, m) // [7]
		}
	}
}

// compare is the order of (attr_x, x) and (attr_j, j).
func (m Election) compare(j algo.Member) int {
	return algo.Member{Priority: m.Attr, ID: m.ID, Eligible: j.Eligible}.Compare(j)
}

// win is [6].
func (p *process) win(env algo.Env) {
	m := Elected{p.self, p.elected.Epoch + 1}
	p.accept(env, m)
	p.send(env, m)
}

// accept is [7].
func (p *process) accept(env algo.Env, m Elected) {
	p.participating = false
	elected := algo.Leader{Epoch: max(p.elected.Epoch, m.Epoch), ID: m.ID} // contract: an epoch never decreases
	if elected != p.elected {
		p.elected = elected
		env.Announce(elected)
	}
}

// sendElection is the end of [3], [4] and [5].
func (p *process) sendElection(env algo.Env, m Election) {
	p.participating = true
	p.send(env, m)
}

// send is [2].
func (p *process) send(env algo.Env, m algo.Message) {
	if next := p.successor(); next != p.self {
		env.Send(next, m)
	} else if own, ok := m.(Election); ok && own.ID == p.self { // contract: a process does not send to itself
		p.win(env)
	}
}

// successor is [1], and [8]: "Stop forwarding message on failed process".
func (p *process) successor() algo.NodeID {
	next := p.view.Successor(p.self)
	for p.failed.Has(next) {
		next = p.view.Successor(next)
	}
	return next
}

// Suspect is [8]: "Repair the ring. … Start a new run of leader election."
func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.failed.Add(peer)
	p.updateMonitored(env)
	p.elect(env)
}

// Trust is contract: a repaired ring would exclude a process that returns, so it is included
// again.
func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.failed.Remove(peer)
	p.updateMonitored(env)
}

// updateMonitored makes the failure detector of [8] monitor the successor, and the failed
// processes before it.
func (p *process) updateMonitored(env algo.Env) {
	var monitored algo.Set
	next, last := p.view.Successor(p.self), p.successor()
	for ; next != last; next = p.view.Successor(next) {
		monitored.Add(next)
	}
	if last != p.self {
		monitored.Add(last)
	}
	p.failed.Retain(monitored) // contract: the detector also forgets its suspicion of the others
	env.Monitor(monitored...)
}

// asMember returns Pj with its attribute.
func (p *process) asMember() algo.Member {
	m, _ := p.view.Member(p.self)
	return m
}

// Reconfigure is contract: in the sources, the set of processes never changes. A new set is a
// new ring, in which Pj starts an election.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.updateMonitored(env)
	p.elect(env)
}

// HardState is contract: epochs do not decrease over a crash.
func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.elected.Epoch} }

// Clone is contract: the explorer continues from a state more than once.
func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.failed = slices.Clone(p.failed)
	return &clone
}

// Options are contract: there are none.
type Options struct{}

// Name selects the algorithm.
const Name = "textbook-ring"

// Factory is the [algo.Factory] of this package.
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build(Name, t, Options{}, decode, func(Options, *algo.OptionCheck) algo.Spec {
		return algo.Spec{
			Textbook: true, Claims: algo.Claims{HighestLeads: true},
			Messages: []algo.Message{Election{}, Elected{}},
			New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self} },
		}
	})
}
