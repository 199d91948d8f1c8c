package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/algosim"
)

// token carries an ID around the ring.
type token struct{ ID algo.NodeID }

func (token) Kind() string { return "token" }

// changRoberts is ChangRoberts.tla of the TLA+ examples (S. Merz, 2016). The smallest ID wins, and
// a node that is no initiator only forwards. Its label n0 is Start, and n1 is Receive.
type changRoberts struct {
	self, next algo.NodeID
	initiator  bool
	state      string // "cand", "lost" or "won"
}

func (c *changRoberts) Start(env algo.Env, view algo.View, _ algo.HardState) {
	c.next, c.state = view.Successor(c.self), "lost"
	if c.initiator {
		c.state = "cand"
		env.Send(c.next, token{c.self})
	}
}

func (c *changRoberts) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	id := m.(token).ID
	switch {
	case c.state == "lost":
		env.Send(c.next, m)
	case id.Compare(c.self) < 0:
		c.state = "lost"
		env.Send(c.next, m)
	case id == c.self:
		c.state = "won"
		env.Announce(algo.Leader{ID: c.self})
	}
}

func (*changRoberts) Expire(algo.Env, algo.Timer)     {}
func (*changRoberts) Suspect(algo.Env, algo.NodeID)   {}
func (*changRoberts) Trust(algo.Env, algo.NodeID)     {}
func (*changRoberts) Campaign(algo.Env)               {}
func (*changRoberts) Reconfigure(algo.Env, algo.View) {}
func (*changRoberts) HardState() algo.HardState       { return algo.HardState{} }
func (c *changRoberts) Clone() algo.Algorithm         { clone := *c; return &clone }
func changRobertsSpec(initiators map[int]bool) algo.Spec {
	return algo.Spec{
		Name:     "chang-roberts",
		Messages: []algo.Message{token{}},
		New: func(self algo.NodeID) algo.Algorithm {
			return &changRoberts{self: self, initiator: initiators[algosim.Number(self)]}
		},
	}
}

// TLC reports 137 distinct states, 227 generated states and a depth of 10 for the model
// MCChangRoberts (N = 3, IDs 1, 2, 3 along the ring). The manifest of the TLA+ examples has these
// numbers.
//
// That model has 8 initial states, one for each set of initiators. The set never changes and is
// part of the state, so the 8 parts have no state in common. Here each is a separate search, and
// the counts are added up. The messages of a node are a set in that model, and a received message
// leaves it: the network Once.
func TestCountsEqualThoseOfTLC(t *testing.T) {
	distinct, generated, depth := 0, 0, 0
	for set := range 8 {
		initiators := map[int]bool{1: set&1 != 0, 2: set&2 != 0, 3: set&4 != 0}
		report, err := explore.Run(context.Background(), explore.Options{
			Spec: changRobertsSpec(initiators), Nodes: 3, Network: explore.Once, Properties: []algo.Property{algo.OneLeaderPerEpoch},
		})
		if noInitiator := set == 0; noInitiator != errors.Is(err, explore.ErrNoLeader) || err != nil && !noInitiator {
			t.Errorf("initiators %v: error %v", initiators, err)
		}
		if !report.Complete || len(report.Violations) > 0 {
			t.Errorf("initiators %v: complete %v, violations %v", initiators, report.Complete, report.Violations)
		}
		distinct, generated, depth = distinct+report.States, generated+report.Generated, max(depth, report.Depth)
	}
	if distinct != 137 || generated != 227 || depth != 10 {
		t.Errorf("%d distinct states, %d generated, depth %d; TLC has 137, 227, 10", distinct, generated, depth)
	}
}
