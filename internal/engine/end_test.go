package engine

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/fd"
)

// leaseSpec returns bully with a lease of one second.
func leaseSpec(t testing.TB) algo.Spec {
	spec, err := lease.Wrap(bullySpec(), detection(), lease.Options{Duration: time.Second, ClockDrift: 10, Margin: ms, RenewInterval: 100 * ms, Preempt: true})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// leasedCluster returns an idle cluster of three with the lease.
func leasedCluster(t testing.TB) *world {
	spec, before := leaseSpec(t), frames
	frames = codec(append(Messages(), spec.Messages...)...)
	t.Cleanup(func() { frames = before })
	return newCluster(t, spec, 3)
}

// A member that receives a report of the leader's end does not wait until the lease expires.
func TestEndOfLeaderIsNotWaitedFor(t *testing.T) {
	for _, reported := range []bool{false, true} {
		w := leasedCluster(t)
		w.wantLeader(3)
		leader := w.node(3)
		epoch := leader.leader.Epoch
		leader.crash()
		if reported {
			for _, h := range w.nodes[:2] {
				out, used := h.engine.HandleEnd(w.now, id(3), leader.incarnation, epoch)
				if !used {
					t.Fatal("the report was not used")
				}
				h.perform(out)
			}
		}
		w.run(20 * hop)
		if has := w.node(2).leader.ID == id(2); has != reported {
			t.Errorf("reported: %v, and n2 leads: %v", reported, has)
		}
		w.run(2 * time.Second)
		w.wantLeader(2)
	}
}

// A member ignores a report about an earlier incarnation, about itself, or about a non-member.
func TestEndOfEarlierIncarnationIsIgnored(t *testing.T) {
	w := leasedCluster(t)
	restarted := w.node(3)
	earlier, epoch := restarted.incarnation, restarted.leader.Epoch
	restarted.crash()
	w.run(5 * time.Second)
	restarted.start()
	w.run(5 * time.Second)
	w.wantLeader(3)
	led := w.node(1).leader
	for _, report := range []struct {
		what        string
		at          int
		member      algo.NodeID
		incarnation uint64
	}{
		{"an earlier incarnation", 1, id(3), earlier},
		{"the node itself", 1, id(1), w.node(1).incarnation},
		{"a non-member", 1, id(9), 1},
	} {
		h := w.node(report.at)
		out, used := h.engine.HandleEnd(w.now, report.member, report.incarnation, epoch)
		if h.perform(out); used {
			t.Errorf("%s: the report was used", report.what)
		}
	}
	w.run(hop)
	for _, m := range w.node(1).engine.Members() {
		if m.State == fd.Suspected {
			t.Errorf("%s is %v after the reports", m.Name, m.State)
		}
	}
	w.run(time.Minute)
	if w.node(1).leader != led {
		t.Errorf("the leader changed from %v to %v", led, w.node(1).leader)
	}
}
