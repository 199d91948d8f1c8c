package theory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/textbook/bully"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// counted is the result of the simulator, counted by a convention.
type counted struct {
	kinds               map[string]uint64
	sent, delivered     uint64
	decided, turnaround float64 // in T
}

// outcome is the result of the simulator.
type outcome struct {
	sim.Result
	arrived float64 // the last message, in T
}

// simulate runs an election in the simulator under the convention of a row.
func simulate(ctx context.Context, r theory.Row, e theory.Election) (outcome, error) {
	o, err := election.Simulation(builtin.Registry(), r, e)
	if err != nil {
		return outcome{}, err
	}
	if r.Convention.Altered != "" {
		o.Spec = tellingAll(o.Spec)
	}
	var arrived time.Duration // the last message
	o.Trace = func(e trace.Event) {
		if e.Kind == trace.Deliver {
			arrived = e.At
		}
	}
	result, err := election.Simulate(ctx, o)
	switch {
	case err != nil:
		return outcome{}, err
	case result.Leader != e.Live():
		return outcome{}, fmt.Errorf("rank %d leads, want the highest that lives", result.Leader)
	}
	return outcome{result, float64(arrived-result.Began) / float64(election.OneWay)}, nil
}

// under returns the outcome, counted by a convention for the same election.
func (o outcome) under(c theory.Convention, n int) counted {
	m := counted{
		kinds: count(c, o.Kinds, n), delivered: o.Delivered, decided: o.Decided, turnaround: o.Turnaround,
	}
	for _, sent := range m.kinds {
		m.sent += sent
	}
	switch c.Counting {
	case broadcast:
		m.delivered = m.sent // the medium loses nothing
	case onlyElection:
		// No other kind is sent to a crashed process: an Answer goes to the sender of an Election,
		// Coordinator and Elected go to live processes.
		m.delivered -= o.Sent - m.sent
	}
	if c.Quiet {
		m.turnaround = o.arrived
	}
	return m
}

// What counts as a message.
const (
	// onlyElection leaves out answers and the announcement of the winner.
	onlyElection = "election messages only"
	// broadcast counts a message to all as one, as on a shared medium, and counts the vote of a
	// server for itself.
	broadcast = "a broadcast is one message"
)

// count returns the sent messages by kind as a convention counts them. n is the number of members.
func count(by theory.Convention, sent map[string]uint64, n int) map[string]uint64 {
	counted := make(map[string]uint64, len(sent))
	for kind, number := range sent {
		switch {
		case by.Counting == onlyElection && kind != "election":
		case by.Counting == broadcast && kind == "vote":
			counted[kind] = number + 1
		case by.Counting == broadcast:
			counted[kind] = number / uint64(max(n-1, 1))
		default:
			counted[kind] = number
		}
	}
	return counted
}

// tellingAll returns textbook bully with a winner that sends Coordinator to higher processes, too.
func tellingAll(spec algo.Spec) algo.Spec {
	inner := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm { return &loud{Algorithm: inner(self), self: self} }
	return spec
}

type loud struct {
	algo.Algorithm
	self algo.NodeID
	view algo.View
}

// megaphone is an Env that also sends Coordinator to the higher processes.
type megaphone struct {
	algo.Env
	*loud
}

func (m megaphone) Announce(l algo.Leader) {
	if l.ID == m.self {
		for above := range m.view.Higher(m.self) {
			m.Send(above, bully.Coordinator{Epoch: l.Epoch})
		}
	}
	m.Env.Announce(l)
}

func (l *loud) Start(env algo.Env, view algo.View, saved algo.HardState) {
	l.view = view
	l.Algorithm.Start(megaphone{env, l}, view, saved)
}

func (l *loud) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	l.Algorithm.Receive(megaphone{env, l}, from, m)
}

func (l *loud) Expire(env algo.Env, t algo.Timer)     { l.Algorithm.Expire(megaphone{env, l}, t) }
func (l *loud) Suspect(env algo.Env, p algo.NodeID)   { l.Algorithm.Suspect(megaphone{env, l}, p) }
func (l *loud) Trust(env algo.Env, p algo.NodeID)     { l.Algorithm.Trust(megaphone{env, l}, p) }
func (l *loud) Campaign(env algo.Env)                 { l.Algorithm.Campaign(megaphone{env, l}) }
func (l *loud) Reconfigure(env algo.Env, v algo.View) { l.Algorithm.Reconfigure(megaphone{env, l}, v) }
