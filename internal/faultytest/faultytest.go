// Package faultytest makes algorithms that take part in elections and never lead. Only tests import it.
//
//	spec, err := bully.New(bully.Defaults(timing))
//	spec = faultytest.NeverLeads(spec) // its nodes win elections, and do not announce it
//
// Testkit cannot contain it, because the tests inside the algorithms import testkit.
package faultytest

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
)

// NeverLeads returns spec with processes that do not announce that they lead.
func NeverLeads(spec algo.Spec) algo.Spec {
	made := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm { return mute{made(self)} }
	return spec
}

type mute struct{ algo.Algorithm }

type silent struct{ algo.Env }

func (e silent) Send(to algo.NodeID, m algo.Message) {
	inner, _ := algo.Unwrap(m)
	switch inner := inner.(type) {
	case bully.Coordinator:
		e.Env.Send(to, bully.Answer{Epoch: inner.Epoch})
	case ring.Elected, vote.Lead:
	default:
		e.Env.Send(to, m)
	}
}

func (m mute) Start(env algo.Env, view algo.View, saved algo.HardState) {
	m.Algorithm.Start(silent{env}, view, saved)
}

func (m mute) Receive(env algo.Env, from algo.NodeID, said algo.Message) {
	m.Algorithm.Receive(silent{env}, from, said)
}

func (m mute) Expire(env algo.Env, t algo.Timer)        { m.Algorithm.Expire(silent{env}, t) }
func (m mute) Suspect(env algo.Env, peer algo.NodeID)   { m.Algorithm.Suspect(silent{env}, peer) }
func (m mute) Reconfigure(env algo.Env, view algo.View) { m.Algorithm.Reconfigure(silent{env}, view) }
func (m mute) Clone() algo.Algorithm                    { return mute{m.Algorithm.Clone()} }
