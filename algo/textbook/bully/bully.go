// Package bully implements the bully algorithm exactly as it is taught: the process with the
// highest ID becomes leader. It is for lessons. Package algo/bully is the algorithm for
// production, and docs/from-textbook-to-production.md explains the differences.
//
// # The source
//
// The rules are those of the readme of https://github.com/gsharma/leader-election ([R1] to
// [R5], its five numbered actions), with what the notes "Distributed System (10)"
// (https://yzzzf.xyz/2024/02/23/distributed-system-10/) add to them ([N1] to [N7]):
//
//	[R0] "When a process P recovers from failure, or the failure detector indicates that the
//	     current coordinator has failed, P performs the following actions:"
//	[R1] "If P has the highest process id, it sends a Victory message to all other processes
//	     and becomes the new Coordinator. Otherwise, P broadcasts an Election message to all
//	     other processes with higher process IDs than itself."
//	[R2] "If P receives no Answer after sending an Election message, then it broadcasts a
//	     Victory message to all other processes and becomes the Coordinator."
//	[R3] "If P receives an Answer from a process with a higher ID, it sends no further messages
//	     for this election and waits for a Victory message. (If there is no Victory message
//	     after a period of time, it restarts the process at the beginning.)"
//	[R4] "If P receives an Election message from another process with a lower ID it sends an
//	     Answer message back and starts the election process at the beginning, by sending an
//	     Election message to higher-numbered processes."
//	[R5] "If P receives a Coordinator message, it treats the sender as the coordinator."
//	[R6] "A new round bumps the cluster's epoch." (Implementation notes, 4.)
//	[N1] "Any process can call for an election."
//	[N2] "A process can call for at most one election at a time."
//	[N3] "sends a Coordinator message to all processes with lower identifiers"
//	[N4] "first timeout: 2T + (processing time) ≈ 2T"
//	[N5] "wait for coordinator message. If none received after another timeout, start a new
//	     election run."
//	[N6] "A process that receives an Election message replies with disagree message, and starts
//	     its own leader election protocol (unless it has already done so)."
//
// If the two differ, this package follows the notes: the Victory of [R1] and [R2] goes to lower
// processes only ([N3]). A higher process has crashed, because otherwise it would have answered.
//
// Both retell H. Garcia-Molina, "Elections in a Distributed Computing System", IEEE
// Transactions on Computers C-31(1), 1982, https://doi.org/10.1109/TC.1982.1675885. That paper
// has another step: a coordinator halts the others before it leads, and each must accept it.
//
// # Cost
//
// With N members, a crashed leader, and an election that the lowest process starts: N(N−1)/2
// Election, (N−1)(N−2)/2 Answer and N−2 Coordinator, together N²−N−1 messages, in 4T.
//
// # Parts of the sources without counterpart
//
//	"The system is synchronous", "Message        assumptions 1 and 5 about the network, which this
//	delivery … is reliable"                      package does not check
//	"broadcasts an Election message to all       a repetition of [R4]
//	other processes with higher process IDs"
//	"an epoch stamped on all the members",       implementation notes 3, 5, 7: these concern the
//	"metadata … saved", "addition/removal"       cluster, not the election, and belong to the driver
//	"Safety", "Liveness" (notes)                 goals, not actions
//	"the best (highest) … attribute value"       the order of the view: priority, then ID
//
// Code that the contract of package algo requires, but no source, is marked "contract:".
package bully

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// The readme's "following message types". [R6] has a Coordinator carry the epoch.
type (
	// Election is "sent to announce election".
	Election struct{}
	// Answer "responds to the Election message". Other names for it are alive and disagree.
	Answer struct{}
	// Coordinator is "sent by winner of the election to announce victory".
	Coordinator struct{ Epoch algo.Epoch }
)

// Kind is "election".
func (Election) Kind() string { return "election" }

// Kind is "answer".
func (Answer) Kind() string { return "answer" }

// Kind is "coordinator".
func (Coordinator) Kind() string { return "coordinator" }

const (
	timerAnswer      algo.Timer = "answer"
	timerCoordinator algo.Timer = "coordinator"
)

// process is P.
type process struct {
	algo.Base // contract: Trust. In the sources, a process returns only by [R0].

	self    algo.NodeID
	options Options
	view    algo.View

	epoch       algo.Epoch
	coordinator algo.NodeID
	election    algo.Timer // timer of the election that P is in, or none
}

// Start is [R0]: "recovers from failure".
func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.elect(env)
}

// Suspect is [R0]: "the failure detector indicates that the current coordinator has failed".
func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	if peer == p.coordinator {
		p.Campaign(env)
	}
}

// Campaign is [N1], [N2].
func (p *process) Campaign(env algo.Env) {
	if p.election == "" {
		p.elect(env)
	}
}

// elect is [R1].
func (p *process) elect(env algo.Env) {
	highest := true
	for higher := range p.view.Higher(p.self) {
		highest = false
		env.Send(higher, Election{})
	}
	if highest {
		p.win(env)
	} else {
		p.await(env, timerAnswer, 2*p.options.MessageTime) // [N4]
	}
}

// win is the end of [R1] and [R2].
func (p *process) win(env algo.Env) {
	p.epoch++                                 // [R6]
	for lower := range p.view.Lower(p.self) { // [N3]
		env.Send(lower, Coordinator{p.epoch})
	}
	p.accept(env, p.self)
}

func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election: // [R4]
		if p.view.IsHigher(p.self, from) {
			env.Send(from, Answer{})
			if p.options.Guard {
				p.Campaign(env) // [N6]
			} else {
				p.elect(env)
			}
		}
	case Answer: // [R3]
		if p.election == timerAnswer {
			p.await(env, timerCoordinator, 4*p.options.MessageTime)
		}
	case Coordinator: // [R5]
		p.epoch = max(p.epoch, m.Epoch) // contract: an epoch never decreases
		p.accept(env, from)
	}
}

func (p *process) Expire(env algo.Env, t algo.Timer) {
	p.election = ""
	switch t {
	case timerAnswer:
		p.win(env) // [R2]
	case timerCoordinator:
		p.elect(env) // [R3], [N5]
	}
}

// accept is [R5]. It ends the election that P is in.
func (p *process) accept(env algo.Env, coordinator algo.NodeID) {
	p.await(env, "", 0)
	p.coordinator = coordinator
	if coordinator == p.self {
		env.Monitor()
	} else {
		env.Monitor(coordinator) // [R0]
	}
	env.Announce(algo.Leader{Epoch: p.epoch, ID: coordinator})
}

// await arms t, the only timer that P waits for from now on.
func (p *process) await(env algo.Env, t algo.Timer, timeout time.Duration) {
	if p.election != "" && p.election != t {
		env.StopTimer(p.election)
	}
	if t != "" {
		env.SetTimer(t, timeout, timeout)
	}
	p.election = t
}

// Reconfigure is contract: in the sources, the set of processes never changes. A new set is a
// new system, in which P starts as in [R0].
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.elect(env)
}

// HardState is contract: "epochs are/can be saved in persistent storage".
func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.epoch} }

// Clone is contract: the explorer continues from a state more than once.
func (p *process) Clone() algo.Algorithm {
	clone := *p
	return &clone
}

// Options are contract: the values that the sources call known.
type Options struct {
	// MessageTime is T: "the one-way message transmission time (T) is known".
	MessageTime time.Duration `yaml:"message_time" help:"T, the one-way message time: half the round trip"`
	// Guard is "(unless it has already done so)" of [N6]. Without it only [R4] applies, and N
	// processes send up to 2^(N−1)−1 Elections after a crash of the leader.
	Guard bool `yaml:"guard" help:"a process in an election starts no other when it receives an election; false doubles the messages with each process"`
}

// Name selects the algorithm.
const Name = "textbook-bully"

// Factory is the [algo.Factory] of this package.
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build(Name, t, Options{MessageTime: t.RoundTrip / 2, Guard: true}, decode, func(o Options, c *algo.OptionCheck) algo.Spec {
		c.Duration("message_time", o.MessageTime, "half the round trip", t.RoundTrip/2)
		c.Bool("guard", o.Guard)
		return algo.Spec{
			Textbook: true, Claims: algo.Claims{HighestLeads: true},
			Messages: []algo.Message{Election{}, Answer{}, Coordinator{}},
			New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
		}
	})
}
