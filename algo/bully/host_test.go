package bully

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// What the tests take from package host, under names that are short enough to read as text:
// n(3) is the ID of node n3, T is the one-way message time.
const T = host.T

var (
	timing     = host.Timing
	n          = host.ID
	name       = host.Name
	members    = host.Members
	viewOf     = host.View
	leadership = host.Leadership
	does       = host.Does
)

// textbook are the options of the sources: no detector, only timers.
func textbook() Options {
	o := Defaults(timing)
	o.SkipSuspected = false
	return o
}

func newCluster(o Options, view algo.View) *host.Cluster {
	return host.New(newSpec(o), view)
}

// settledCluster returns a cluster of N that has agreed on its highest in epoch 1.
func settledCluster(t testing.TB, o Options, count int) *host.Cluster {
	t.Helper()
	c := newCluster(o, viewOf(count))
	c.Tracing = true
	c.StartAll()
	c.Run(3 * T)
	c.WantAgreed(t)
	c.Reset()
	return c
}

// alone returns node i of a cluster, not yet started.
func alone(i int, view algo.View, o Options) *host.Solo { return host.Alone(newSpec(o), i, view) }

// follower returns node i, which follows another since epoch 7.
func follower(t *testing.T, i, leader int, view algo.View) *host.Solo {
	t.Helper()
	s := alone(i, view, Defaults(timing))
	s.Start(6)
	s.Hears(leader, Coordinator{Epoch: 7, Leader: n(leader)})
	if got, want := s.Machine.Leader(), leadership(7, leader); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// leading returns node i, which leads in epoch 7 because those above are dead.
func leading(t *testing.T, i int, view algo.View) *host.Solo {
	t.Helper()
	s := alone(i, view, Defaults(timing))
	s.Start(6)
	for above := range view.Above(n(i)) {
		s.Suspects(host.Number(above))
	}
	informed(s, i, view)
	if got, want := s.Machine.Leader(), leadership(7, i); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// informed has node i, which is about to lead, told by those below that they know nothing newer, and returns
// what it does then.
func informed(s *host.Solo, i int, view algo.View) (does string) {
	for below := range view.Below(n(i)) {
		does = s.Hears(host.Number(below), Answer{})
	}
	return does
}

// newSpec is New of options that are sound.
func newSpec(o Options) algo.Spec {
	spec, err := New(o)
	if err != nil {
		panic(err)
	}
	return spec
}
