package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// endless monitors one peer. When it suspects this peer, it monitors the next one.
type endless struct {
	algo.Base
	self algo.NodeID
	view algo.View
}

func (p *endless) Start(env algo.Env, view algo.View, _ algo.HardState) {
	p.view = view
	env.Monitor(view.Successor(p.self))
}

func (p *endless) Suspect(env algo.Env, peer algo.NodeID) {
	next := p.view.Successor(peer)
	if next == p.self {
		next = p.view.Successor(next)
	}
	env.Monitor(next)
}

func (p *endless) Receive(algo.Env, algo.NodeID, algo.Message) {}
func (p *endless) HardState() algo.HardState                   { return algo.HardState{} }
func (p *endless) Clone() algo.Algorithm                       { clone := *p; return &clone }

// An algorithm that answers each suspicion by monitoring another suspected peer would keep the node busy for ever.
func TestEndlessSuspicionsViolateContract(t *testing.T) {
	spec := algo.Spec{Name: "endless", New: func(self algo.NodeID) algo.Algorithm { return &endless{self: self} }}
	w := newWorld(t)
	for i := range 3 {
		w.add(testMember(i+1), by(spec, listed(3))).start()
	}
	w.run(time.Second)
	w.nodes[1].crash()
	w.nodes[2].crash()
	defer func() {
		violation, ok := recover().(*driver.ContractError)
		if !ok || violation.Property != algo.Contract || !strings.Contains(violation.Action, "without end") {
			t.Errorf("violation %v, want one of the contract that says 'without end'", violation)
		}
	}()
	w.run(time.Minute)
	t.Error("the contract is not violated")
}
