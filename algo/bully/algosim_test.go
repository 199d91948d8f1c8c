package bully

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// Short names of identifiers of package algosim: n(3) is the ID of node n3, T is the one-way message time.
const T = algosim.T

var (
	timing     = algosim.Timing
	n          = algosim.ID
	name       = algosim.Name
	members    = algosim.Members
	viewOf     = algosim.View
	leadership = algosim.Leadership
	expect     = algosim.Expect
)

// textbook are the options of the sources: no detector, only timers.
func textbook() Options {
	o := Defaults(timing)
	o.SkipSuspected = false
	return o
}

func newCluster(o Options, view algo.View) *algosim.Cluster {
	return algosim.New(newSpec(o), view)
}

// agreedCluster returns a cluster of count nodes that follow the highest in epoch 1.
func agreedCluster(t testing.TB, o Options, count int) *algosim.Cluster {
	t.Helper()
	c := newCluster(o, viewOf(count))
	c.Tracing = true
	c.StartAll()
	c.Run(3 * T)
	c.RequireAgreement(t)
	c.Reset()
	return c
}

// alone returns node i without its cluster. The node is not started.
func alone(i int, view algo.View, o Options) *algosim.Single {
	return algosim.NewSingle(newSpec(o), i, view)
}

// follower returns node i, which follows leader in epoch 7.
func follower(t *testing.T, i, leader int, view algo.View) *algosim.Single {
	t.Helper()
	s := alone(i, view, Defaults(timing))
	s.Start(6)
	s.Receive(leader, Coordinator{Epoch: 7, Leader: n(leader)})
	if got, want := s.Machine.Leader(), leadership(7, leader); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// leading returns node i, which leads in epoch 7 because all higher nodes are suspected.
func leading(t *testing.T, i int, view algo.View) *algosim.Single {
	t.Helper()
	s := alone(i, view, Defaults(timing))
	s.Start(6)
	for above := range view.Higher(n(i)) {
		s.Suspect(algosim.Number(above))
	}
	replyToInquiry(s, i, view)
	if got, want := s.Machine.Leader(), leadership(7, i); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// replyToInquiry makes node i, which is about to lead, receive an Answer without a newer epoch from every lower
// node. It returns the effects of the last one.
func replyToInquiry(s *algosim.Single, i int, view algo.View) (effects string) {
	for below := range view.Lower(n(i)) {
		effects = s.Receive(algosim.Number(below), Answer{})
	}
	return effects
}

// newSpec returns the algorithm with valid options.
func newSpec(o Options) algo.Spec {
	spec, err := New(o)
	if err != nil {
		panic(err)
	}
	return spec
}
