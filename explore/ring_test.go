package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/algosim"
)

// token carries an id around the ring.
type token struct{ ID algo.NodeID }

func (token) Kind() string { return "token" }

// changRoberts is ChangRoberts.tla of the TLA+ examples (S. Merz, 2016), where the
// smallest id wins and who does not initiate only relays. Its label n0 is Start, and n1
// is Receive.
type changRoberts struct {
	self, next algo.NodeID
	initiator  bool
	state      string // "cand", "lost" or "won"
}

func (c *changRoberts) Start(env algo.Env, view algo.View, _ algo.Stable) {
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
func (*changRoberts) Stable() algo.Stable             { return algo.Stable{} }
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

// TLC finds 137 distinct states, generates 227 and has a depth of 10 in the model
// MCChangRoberts (N = 3, ids 1, 2, 3 along the ring). The numbers stand in the manifest of
// the TLA+ examples.
//
// That model begins in 8 states, one for each set of initiators. Who initiates never
// changes and is part of the state, so that the 8 parts have no state in common: each is a
// search of its own here, and the counts add up. A node's messages are a set there, which
// a message leaves when it is taken: the network Once.
func TestCountsAreThoseOfTLC(t *testing.T) {
	distinct, generated, depth := 0, 0, 0
	for set := range 8 {
		initiators := map[int]bool{1: set&1 != 0, 2: set&2 != 0, 3: set&4 != 0}
		report, err := explore.Run(context.Background(), explore.Options{
			Spec: changRobertsSpec(initiators), Nodes: 3, Network: explore.Once, Properties: []algo.Property{algo.OneLeaderPerEpoch},
		})
		if nobody := set == 0; nobody != errors.Is(err, explore.ErrNoLeader) || err != nil && !nobody {
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
