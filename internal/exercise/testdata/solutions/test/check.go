// Package check tests a bully.
package check

import (
	"context"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
)

// Check fails t if the algorithm has a bug.
func Check(t testing.TB, spec algo.Spec) {
	checkFaults(t, spec)
	checkRest(t, spec)
	checkStates(t, spec)
}

// checkFaults requires the highest node that may lead, after each of some faults.
func checkFaults(t testing.TB, spec algo.Spec) {
	for _, fault := range []struct {
		commands []string
		leader   int // 3 s after them
	}{
		{nil, 5},
		{[]string{"crash n5"}, 4},
		{[]string{"resign n5 10s"}, 4},
		{[]string{"partition n1,n2 n3,n4,n5", "run 5s", "heal", "run 2s"}, 5},
		{[]string{"pause n5", "run 5s", "resume n5", "run 2s"}, 5},
	} {
		w := sim.New(sim.Config{Spec: spec, Seed: 1, Delay: sim.Fixed(time.Millisecond)})
		if err := w.Cluster(5); err != nil {
			t.Fatal(err)
		}
		w.Run(3 * time.Second)
		for _, command := range fault.commands {
			if err := w.Do("%s", command); err != nil {
				t.Fatal(err)
			}
		}
		w.Run(3 * time.Second)
		if leader, _, agreed := w.Leader(); !agreed || leader != fault.leader {
			t.Errorf("after %q: %s, want n%d as the leader of all", fault.commands, w.Opinions(), fault.leader)
		}
		for _, v := range w.Violations() {
			t.Errorf("after %q: %v", fault.commands, v)
		}
	}
}

// checkRest requires that ten nodes without a fault hold no election, and send few heartbeats.
func checkRest(t testing.TB, spec algo.Spec) {
	const nodes, rest = 10, time.Minute
	w := sim.New(sim.Config{Spec: spec, Seed: 1, Delay: sim.Fixed(time.Millisecond)})
	if err := w.Cluster(nodes); err != nil {
		t.Fatal(err)
	}
	w.Run(3 * time.Second)
	_, before, _ := w.Leader()
	frames := w.Frames()
	w.ResetCounts()
	w.Run(rest)
	if _, after, _ := w.Leader(); after != before || len(w.Counts().Sent) > 0 {
		t.Errorf("at rest the epoch goes from %d to %d, with %v", before, after, w.Counts().Sent)
	}
	intervals := uint64(rest / algo.LAN().Heartbeat)
	if perInterval := (w.Frames() - frames) / intervals; perInterval > 4*nodes {
		t.Errorf("at rest there are %d frames in each heartbeat interval, want at most %d", perInterval, 4*nodes)
	}
}

// checkStates visits states of two and three nodes.
func checkStates(t testing.TB, spec algo.Spec) {
	for _, o := range []explore.Options{
		{Nodes: 2, StartAgreed: true, Epochs: 4, Crashes: 1, FalseSuspicions: 1},
		{Nodes: 3, StartAgreed: true, Epochs: 3, FalseSuspicions: 1},
	} {
		o.Spec, o.PeriodicSends, o.Limits.States = spec, 2, 6_000
		r, err := explore.Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s\n%s", v.Property, v.What, v.Scenario)
		}
	}
}
