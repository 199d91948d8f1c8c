package algo_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
)

// process is one node of an algorithm that elects the highest node which is not suspected.
type process struct {
	algo.Base // ignores timers, campaigns and changes of the view

	self      algo.NodeID
	view      algo.View
	epoch     algo.Epoch // highest known epoch; saved
	suspected algo.Set
}

// Lead announces the leadership of its sender.
type Lead struct{ Epoch algo.Epoch }

// Kind names the message on the wire and in traces.
func (Lead) Kind() string { return "lead" }

// Start starts the process, for the first time or after a crash.
func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.update(env)
}

// Suspect handles a suspicion of the failure detector.
func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	p.update(env)
}

// update monitors the highest node that is not suspected, or leads if this process is that node.
func (p *process) update(env algo.Env) {
	highest := p.self
	for id := range p.view.Higher(p.self) {
		if !p.suspected.Has(id) && p.view.IsHigher(id, highest) {
			highest = id
		}
	}
	if highest != p.self {
		env.Monitor(highest)
		return
	}
	p.epoch++
	env.Announce(algo.Leader{Epoch: p.epoch, ID: p.self}) // the driver saves the epoch first
	for id := range p.view.Lower(p.self) {
		env.Send(id, Lead{p.epoch})
	}
}

// Receive follows the sender of a Lead.
func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	if lead := m.(Lead); lead.Epoch > p.epoch {
		p.epoch = lead.Epoch
		env.Announce(algo.Leader{Epoch: lead.Epoch, ID: from})
	}
}

// HardState returns what must survive a crash.
func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.epoch} }

// Clone copies the process, for the search.
func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// A minimal algorithm in virtual time: the four required methods and Suspect. It is not fit for use, because a lost
// Lead leaves a node without a leader. Package algotest finds such faults. The algorithm in examples/omega has none.
func Example() {
	spec := algo.Spec{
		Name:     "highest",
		Messages: []algo.Message{Lead{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self} },
	}
	w := sim.New(sim.Config{Spec: spec, Detector: sim.Perfect, Delay: sim.Fixed(time.Millisecond)})
	if err := w.Cluster(3); err != nil {
		fmt.Println(err)
		return
	}
	w.Run(time.Second)
	fmt.Println(w.Opinions())
	if err := w.Crash(3); err != nil {
		fmt.Println(err)
		return
	}
	w.Run(time.Second)
	fmt.Println(w.Opinions())
	// Output:
	// n1 follows n3 in epoch 1; n2 follows n3 in epoch 1; n3 leads in epoch 1
	// n1 follows n2 in epoch 2; n2 leads in epoch 2; n3 is down
}
