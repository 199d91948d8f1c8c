// Package bully is the bully algorithm, by the five rules of README.md.
package bully

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// messageTime is T, the time that a message takes.
const messageTime = 10 * time.Millisecond

// The messages.
type (
	Election    struct{}
	Answer      struct{}
	Coordinator struct{ Epoch algo.Epoch }
)

func (Election) Kind() string    { return "election" }
func (Answer) Kind() string      { return "answer" }
func (Coordinator) Kind() string { return "coordinator" }

// The timers. A node has at most one of them, while it is in an election.
const (
	timerAnswer      algo.Timer = "answer"      // until an Answer must have arrived: 2T
	timerCoordinator algo.Timer = "coordinator" // until a Coordinator must have arrived: 4T
)

// Spec describes the algorithm to the simulator and to the search.
func Spec() algo.Spec {
	return algo.Spec{
		Name: "bully", Textbook: true, Claims: algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Answer{}, Coordinator{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &node{self: self} },
	}
}

// node is one node.
type node struct {
	algo.Base

	self   algo.NodeID
	view   algo.View
	epoch  algo.Epoch  // number of the last leadership that this node knows
	leader algo.NodeID // of that epoch
	waits  algo.Timer  // timer of the election that this node is in, or ""
}

// startElection is rule 1: "I suspect the leader. I send Election to each higher node. If there is no higher node, I
// lead immediately (rule 3)."
func (n *node) startElection(env algo.Env) {
	alone := true
	for higher := range n.view.Higher(n.self) {
		alone = false
		env.Send(higher, Election{})
	}
	if alone {
		n.lead(env)
		return
	}
	n.wait(env, timerAnswer, 2*messageTime)
}

// handleElection is rule 2: "I get an Election from a lower node. I reply with Answer: I am alive and take over. Then I
// apply rule 1, unless my own election is running already."
func (n *node) handleElection(env algo.Env, from algo.NodeID) {
	if !n.view.IsHigher(n.self, from) {
		return
	}
	env.Send(from, Answer{})
	if n.waits == "" {
		n.startElection(env)
	}
}

// lead is rule 3: "I get no Answer within 2T. So no higher node is alive. I lead, and send Coordinator to each lower
// node." Each leadership has the next epoch.
func (n *node) lead(env algo.Env) {
	n.epoch++
	for lower := range n.view.Lower(n.self) {
		env.Send(lower, Coordinator{n.epoch})
	}
	n.follow(env, n.self)
}

// handleAnswer is the first half of rule 4: "I get an Answer. A higher node is alive. I wait for a Coordinator."
func (n *node) handleAnswer(env algo.Env) {
	if n.waits == timerAnswer {
		n.wait(env, timerCoordinator, 4*messageTime)
	}
}

// handleCoordinator is rule 5: "I get a Coordinator. I follow the node that sent it." The epoch of a node never
// decreases.
func (n *node) handleCoordinator(env algo.Env, from algo.NodeID, epoch algo.Epoch) {
	n.epoch = max(n.epoch, epoch)
	n.follow(env, from)
}

// Expire handles the end of a timer: rule 3, and the second half of rule 4: "If none arrives within 4T, I apply rule 1
// again."
func (n *node) Expire(env algo.Env, t algo.Timer) {
	n.waits = ""
	switch t {
	case timerAnswer:
		n.lead(env)
	case timerCoordinator:
		n.startElection(env)
	}
}

// The rest is complete: you need not change it.

// Start starts the node, for the first time or after a crash.
func (n *node) Start(env algo.Env, view algo.View, saved algo.HardState) {
	n.view, n.epoch = view, saved.Epoch
	n.startElection(env)
}

// Suspect is called when the failure detector suspects a node that this one monitors.
func (n *node) Suspect(env algo.Env, peer algo.NodeID) {
	if peer == n.leader {
		n.Campaign(env)
	}
}

// Campaign is called when the application wants an election.
func (n *node) Campaign(env algo.Env) {
	if n.waits == "" {
		n.startElection(env)
	}
}

// Receive is called with each message.
func (n *node) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		n.handleElection(env, from)
	case Answer:
		n.handleAnswer(env)
	case Coordinator:
		n.handleCoordinator(env, from, m.Epoch)
	}
}

// follow ends the election of this node, monitors the leader, and announces it.
func (n *node) follow(env algo.Env, leader algo.NodeID) {
	if n.waits != "" {
		env.StopTimer(n.waits)
		n.waits = ""
	}
	if leader == n.self {
		env.Monitor()
	} else {
		env.Monitor(leader)
	}
	n.leader = leader
	env.Announce(algo.Leader{Epoch: n.epoch, ID: leader})
}

// wait starts a timer, the only one from now on.
func (n *node) wait(env algo.Env, t algo.Timer, timeout time.Duration) {
	if n.waits != "" {
		env.StopTimer(n.waits)
	}
	n.waits = t
	env.SetTimer(t, timeout, timeout)
}

// Reconfigure is called when the members change: the nodes elect again.
func (n *node) Reconfigure(env algo.Env, view algo.View) {
	n.view = view
	n.startElection(env)
}

// HardState is what a crash does not erase. It is saved before the messages of the same call are sent.
func (n *node) HardState() algo.HardState { return algo.HardState{Epoch: n.epoch} }

// Clone copies the node for the search, which continues from one state in several ways.
func (n *node) Clone() algo.Algorithm {
	clone := *n
	return &clone
}
