package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
)

func TestCheckerFindsViolation(t *testing.T) {
	for _, test := range []struct {
		name string
		want algo.Property // empty for none
		do   func(w *World, n1, n2 *node)
	}{
		{"correct leadership", "", func(w *World, n1, n2 *node) {
			n1.kept.Epoch, n2.kept.Epoch = 7, 7
			w.checkClaim(n1, algo.Leader{Epoch: 7, ID: n1.id})
			w.checkAnnouncement(n1, algo.Leader{Epoch: 7, ID: n1.id})
			w.checkAnnouncement(n2, algo.Leader{Epoch: 7, ID: n1.id})
			w.checkAnnouncement(n2, algo.Leader{Epoch: 7})
		}},
		{"announced before saved", algo.Durable, func(w *World, n1, _ *node) {
			n1.kept.Epoch = 6
			w.checkAnnouncement(n1, algo.Leader{Epoch: 7})
		}},
		{"announces an older epoch", algo.MonotonicEpochs, func(w *World, n1, _ *node) {
			n1.kept.Epoch = 7
			w.checkAnnouncement(n1, algo.Leader{Epoch: 7})
			w.checkAnnouncement(n1, algo.Leader{Epoch: 6})
		}},
		{"saves an older epoch", algo.MonotonicEpochs, func(_ *World, n1, _ *node) {
			n1.save([]algo.Message{engine.SavedState{Epoch: 7}})
			n1.save([]algo.Message{engine.SavedState{Epoch: 6}})
		}},
		{"followed and never led", algo.NoPhantom, func(w *World, n1, n2 *node) {
			n1.kept.Epoch = 7
			w.checkClaim(n2, algo.Leader{Epoch: 6, ID: n2.id})
			w.checkAnnouncement(n1, algo.Leader{Epoch: 7, ID: n2.id})
		}},
		{"two leaders in one epoch", algo.OneLeaderPerEpoch, func(w *World, n1, n2 *node) {
			w.checkClaim(n1, algo.Leader{Epoch: 7, ID: n1.id})
			w.checkClaim(n1, algo.Leader{Epoch: 7, ID: n1.id})
			w.checkClaim(n2, algo.Leader{Epoch: 7, ID: n2.id})
		}},
		{"the lowest leads", algo.Agreement, func(w *World, n1, n2 *node) {
			n1.leader = algo.Leader{Epoch: 7, ID: n1.id}
			n2.leader = n1.leader
			w.halted = true
			w.Await(time.Second)
		}},
		{"different configs", OneConfig, func(w *World, n1, n2 *node) {
			n1.leader = algo.Leader{Epoch: 7, ID: n2.id}
			n2.leader = n1.leader
			config := w.everyone().(membership.Shared).Config
			config.ID = membership.ConfigID{Term: 1, Version: 2}
			n2.engine.Receive(w.now, n1.id, membership.Update{Config: config})
			w.halted = true
			w.Await(time.Second)
		}},
		{"two configs with one ID", OneConfigPerID, func(w *World, n1, n2 *node) {
			config := membership.Config{ID: membership.ConfigID{Term: 3, Version: 5}, Members: []membership.Member{{ID: n1.id}}}
			w.checkRecord(n1, membership.Record{Config: config})
			w.checkRecord(n2, membership.Record{Config: config})
			config.Members = []membership.Member{{ID: n2.id}}
			w.checkRecord(n2, membership.Record{Config: config})
		}},
		{"a removed node is a member again", RemovedStays, func(w *World, n1, n2 *node) {
			n2.record = membership.Record{WasMember: true}
			records(w, n1, true, n1, n2)
			records(w, n1, true, n1)
			records(w, n1, false, n1, n2)
		}},
		{"a node removed before it knew its membership joins again", "", func(w *World, n1, n2 *node) {
			records(w, n1, true, n1, n2)
			records(w, n1, true, n1)
			n2.record = membership.Record{}
			records(w, n1, false, n1, n2)
			n2.record = membership.Record{WasMember: true}
			records(w, n1, true, n1, n2)
		}},
		{"a restarted node leads immediately, and a peer is reachable", RemovedStays, func(w *World, n1, n2 *node) {
			w.network.connected = true
			w.checkClaim(n1, algo.Leader{Epoch: 7, ID: n1.id})
		}},
		{"a restarted node leads immediately, and its peer has a new address", "", func(w *World, n1, n2 *node) {
			w.network.connected = true
			n2.member.Addr = "n2:7401"
			w.checkClaim(n1, algo.Leader{Epoch: 7, ID: n1.id})
		}},
		{"a node stops as removed, and is not removed", RemovedStays, func(w *World, n1, n2 *node) {
			n1.perform(&engine.Output{End: membership.ErrRemoved})
		}},
		{"a removed node stops", "", func(w *World, n1, n2 *node) {
			n2.knownRemoved = append(n2.knownRemoved, n1.id)
			n1.perform(&engine.Output{End: membership.ErrRemoved})
		}},
		{"nodes follow different leaders", algo.Agreement, func(w *World, n1, n2 *node) {
			n1.leader = algo.Leader{Epoch: 7, ID: n1.id}
			n2.leader = algo.Leader{Epoch: 7, ID: n2.id}
			w.halted = true
			w.Await(time.Second)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := spec(t)
			spec.Claims.OneLeaderPerEpoch, spec.Claims.NeedsQuorum = true, true
			w := New(Config{Spec: spec, Detector: Perfect})
			if err := w.Cluster(2); err != nil {
				t.Fatal(err)
			}
			w.checker = New(w.config).checker
			for _, n := range w.nodes {
				n.kept, n.highest = engine.SavedState{}, 0
			}
			test.do(w, w.nodes[0], w.nodes[1])
			var got []algo.Property
			for _, v := range w.Violations() {
				got = append(got, v.Property)
			}
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0] != test.want) {
				t.Errorf("violations %v, want %q", w.Violations(), test.want)
			}
		})
	}
}

// TestAwaitDetectsLaterLeaderChange: n2 becomes eligible again during the final check.
func TestAwaitDetectsLaterLeaderChange(t *testing.T) {
	w := New(Config{Spec: spec(t)})
	if err := w.Cluster(2); err != nil {
		t.Fatal(err)
	}
	w.Run(time.Second)
	if err := w.Do("resign n2 1.5s"); err != nil {
		t.Fatal(err)
	}
	w.Await(time.Second)
	if got := w.Violations(); len(got) != 1 || got[0].Property != algo.Agreement {
		t.Errorf("violations %v, want one of agreement", got)
	}
}

// TestRunEndsAtBudget: an algorithm that never stops sending does not run for ever.
func TestRunEndsAtBudget(t *testing.T) {
	r, err := Run(t.Context(), Options{Spec: known(t, "textbook-bully"), Nodes: 5, Crashed: 1, Initiators: []int{1}, Delay: Fixed(T), Budget: 30})
	if err != nil {
		t.Fatal(err)
	}
	var found bool
	for _, v := range r.Violations {
		found = found || v.Property == Budget
	}
	if !found || r.Agreed {
		t.Errorf("agreed %v and violations %v, want a violation of the budget", r.Agreed, r.Violations)
	}
}

// TestRunEndsAtBudgetDuringStart: the first nodes to start exhaust the budget.
func TestRunEndsAtBudgetDuringStart(t *testing.T) {
	r, err := Run(t.Context(), Options{Spec: known(t, "textbook-bully"), Nodes: 500, Delay: Fixed(T), Budget: 1000})
	if err != nil || r.Agreed || len(r.Violations) == 0 || r.Violations[0].Property != Budget {
		t.Errorf("error %v, agreed %v and violations %v, want one of the budget", err, r.Agreed, r.Violations)
	}
}

// TestHaltedWorldPerformsNothing: the event that exhausts the budget may produce more messages than fit in memory.
func TestHaltedWorldPerformsNothing(t *testing.T) {
	const budget = 1000
	for _, test := range []struct {
		name string
		stop func(*World)
		want string // violation text
	}{
		{"budget", func(w *World) { w.config.Budget = budget }, "1001 messages were sent"},
		{"room", func(w *World) { w.room = budget }, "1000 messages are in flight at once"},
		{"context", func(w *World) {
			stop := make(chan struct{})
			close(stop)
			w.stop = stop
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := New(Config{Spec: known(t, "textbook-bully"), Detector: Scripted})
			test.stop(w)
			if err := w.Cluster(500); err != nil { // each node asks all higher nodes
				t.Fatal(err)
			}
			if w.queue.Len() > budget || len(w.running()) > 4 {
				t.Errorf("%d messages are in flight, %d nodes have started", w.queue.Len(), len(w.running()))
			}
			var text string
			for _, v := range w.Violations() {
				text += v.Text
			}
			if text != test.want {
				t.Errorf("violations %v, want %q", w.Violations(), test.want)
			}
		})
	}
}

// TestRunOfManyNodesEndsWithContext: a run also ends within one event.
func TestRunOfManyNodesEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Spec: known(t, "textbook-bully"), Nodes: 500}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// running returns the numbers of the running nodes.
func (w *World) running() (all []int) {
	for _, n := range w.nodes {
		if n.up && !n.paused {
			all = append(all, n.number())
		}
	}
	return all
}

// records makes a node save the next config.
func records(w *World, n *node, committed bool, members ...*node) {
	r, _ := n.record.(membership.Record)
	r.Config.ID = membership.ConfigID{Term: 3, Version: r.Config.ID.Version + 1}
	r.Config.Members, r.Committed = nil, committed
	for _, m := range members {
		r.Config.Members = append(r.Config.Members, membership.Member{ID: m.id})
	}
	w.checkRecord(n, r)
	n.record = r
}
