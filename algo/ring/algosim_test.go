package ring

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	m.Run()
}

// Short names of identifiers of package algosim: n(3) is the ID of node n3, T is the one-way message time. The ring is
// n1, n2, …, n1.
const T = algosim.T

var (
	timing     = algosim.Timing
	n          = algosim.ID
	name       = algosim.Name
	members    = algosim.Members
	viewOf     = algosim.View
	leadership = algosim.Leadership
	expect     = algosim.Expect

	spec = newSpec(Defaults(timing))
)

// newCluster returns a cluster in which no node is started.
func newCluster(view algo.View) *algosim.Cluster {
	c := algosim.New(spec, view)
	c.Tracing = true
	return c
}

// agreedCluster returns a cluster in which all nodes follow the highest in epoch 1 and have saved that.
func agreedCluster(t testing.TB, view algo.View) *algosim.Cluster {
	t.Helper()
	c := newCluster(view)
	c.StartAll()
	c.Run(5 * time.Duration(view.Len()) * T)
	c.RequireAgreement(t)
	c.Reset()
	return c
}

// ranked returns the view of a ring in which node i has the i-th priority.
func ranked(priorities ...int) algo.View {
	all := members(len(priorities))
	for i, priority := range priorities {
		all[i].Priority = priority
	}
	return algo.NewView(1, all...)
}

// witnessing returns version 2 of the view of a ring with witnesses.
func witnessing(count int, witnesses ...int) algo.View {
	all := members(count)
	for _, i := range witnesses {
		all[i-1].Eligible = false
	}
	return algo.NewView(2, all...)
}

// alone returns node i without its cluster. The node is not started.
func alone(i int, view algo.View) *algosim.Single { return algosim.NewSingle(spec, i, view) }

// follower returns node i of a ring of four, which follows n4 in epoch 7 and has
// saved that.
func follower(t *testing.T, i int) *algosim.Single {
	t.Helper()
	s := alone(i, viewOf(4))
	s.Start(6)
	s.Receive((i+2)%4+1, token(7, 4, 1))
	s.Receive((i+2)%4+1, Elected{Epoch: 7, ID: n(4), Hops: 1})
	s.Expire(timerSave)
	if got, want := s.Machine.Leader(), leadership(7, 4); got != want {
		t.Fatalf("n%d follows %v, want %v", i, got, want)
	}
	return s
}

// leading returns n4 of a ring of four, which leads in epoch 7 and has saved that.
func leading(t *testing.T) *algosim.Single {
	t.Helper()
	s := alone(4, viewOf(4))
	s.Start(6)
	s.Receive(3, token(7, 4, 4))
	s.Receive(3, Elected{Epoch: 7, ID: n(4), Hops: 4})
	s.Expire(timerSave)
	if got, want := s.Machine.Leader(), leadership(7, 4); got != want {
		t.Fatalf("n4 follows %v, want %v", got, want)
	}
	return s
}

// token returns the token of node i, which is eligible and has priority 0.
func token(e algo.Epoch, i int, hops uint32) Election {
	return Election{Epoch: e, Eligible: true, ID: n(i), Hops: hops}
}

// newSpec returns the algorithm with valid options.
func newSpec(o Options) algo.Spec {
	spec, err := New(o)
	if err != nil {
		panic(err)
	}
	return spec
}
