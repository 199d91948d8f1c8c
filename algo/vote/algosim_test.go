package vote

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	m.Run()
}

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

// The options of the tests: RTT is 2T, HBT is 4T, a pause takes 6T to 12T.
const (
	rtt = 2 * T
	hbt = 4 * T
)

// textbook returns the options of the source, with rounds: no detector, only timers.
func textbook() Options {
	o := Defaults(timing)
	o.EarlyClose = false
	return o
}

func newCluster(o Options, view algo.View) *algosim.Cluster {
	return algosim.New(newSpec(o), view)
}

// agreedCluster returns a cluster of count nodes that has elected n1 in epoch 1.
func agreedCluster(t testing.TB, o Options, count int) *algosim.Cluster {
	t.Helper()
	c := newCluster(o, viewOf(count))
	c.Tracing = true
	c.StartAll()
	c.Run(rtt + 3*T)
	c.RequireAgreement(t)
	c.RequireLeader(t, 1, leadership(1, 1))
	c.Reset()
	return c
}

// alone returns node i without its cluster. The node is not started.
func alone(i int, view algo.View, o Options) *algosim.Single {
	return algosim.NewSingle(newSpec(o), i, view)
}

// following returns node i, which follows leader in term 7.
func following(t testing.TB, i, leader int, view algo.View, o Options) *algosim.Single {
	t.Helper()
	s := alone(i, view, o)
	s.Start(6)
	s.Receive(leader, Lead{Term: 7, Msg: 1})
	if got, want := s.Machine.Leader(), leadership(7, leader); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// leading returns node i, which leads in term 7 with the votes of the other nodes and its own.
func leading(t testing.TB, i int, view algo.View, o Options) *algosim.Single {
	t.Helper()
	s := alone(i, view, o)
	s.Start(6)
	for other := range view.Others(n(i)) {
		s.Receive(algosim.Number(other), Vote{7})
	}
	if got, want := s.Machine.Leader(), leadership(7, i); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// newSpec returns the algorithm with valid options.
func newSpec(o Options) algo.Spec {
	spec, err := New(o)
	if err != nil {
		panic(err)
	}
	return spec
}
