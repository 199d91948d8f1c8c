package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/member"
)

// wantConfirmed fails unless all live nodes know that a majority holds their view.
func (w *world) wantConfirmed() {
	w.t.Helper()
	for _, h := range w.nodes {
		if h.up && !h.engine.Committed() {
			w.t.Errorf("%v: %s does not know view %v to be confirmed", w.now, h.config.Self.Name, h.engine.View().Stamp())
		}
	}
}

// rosters is how many were sent so far.
func (w *world) rosters() int { return w.kinds["view"] }

func TestJoinThroughTheLeader(t *testing.T) {
	for through := 1; through <= 3; through++ {
		w := joinedBy(t, voteSpec(), 3)
		w.wantView(1, 2, 3)
		w.wantLeader(1)
		w.add(testMember(4), by(voteSpec(), joins(addr(9), addr(through)))).start()
		w.run(50 * ms)
		w.wantView(1, 2, 3, 4)
		w.wantConfirmed()
		w.run(time.Second)
		w.wantLeader(1)
		if w.refused() != 0 {
			t.Errorf("through n%d: %d messages were refused", through, w.refused())
		}
	}
}

// Who joins while others do waits for its turn, and not longer than it takes.
func TestJoinersTakeTurns(t *testing.T) {
	for _, size := range []int{5, 20} {
		w := newWorld(t)
		all := w.joiners(voteSpec(), size)
		w.run(2 * time.Second)
		w.wantView(all...)
		w.wantConfirmed()
		w.wantLeader(1)
		t.Logf("N=%d: %v", size, w.kinds)
		// One roster to each, confirmed by another, for each of N joins.
		if got := w.rosters(); got > 4*size*size {
			t.Errorf("N=%d: %d rosters sent, want at most 4·N²", size, got)
		}
	}
}

// A quiet membership costs nothing but the digest: no roster, also in an election.
func TestAConfirmedMembershipIsNotToldAgain(t *testing.T) {
	w := joinedBy(t, voteSpec(), 5)
	w.node(3).perform(w.node(3).engine.Campaign(w.now)) // so that all have met
	w.run(time.Second)
	before := w.rosters()
	w.run(time.Minute)
	w.node(2).perform(w.node(2).engine.Campaign(w.now))
	w.run(time.Second)
	w.node(1).crash()
	w.run(time.Second)
	if got := w.rosters() - before; got != 0 {
		t.Errorf("%d rosters were sent in a minute and two elections, want none", got)
	}
	w.node(1).start()
	w.run(time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantConfirmed()
}

func TestRemove(t *testing.T) {
	for name, spec := range map[string]algo.Spec{"bully": bullySpec(), "vote": voteSpec()} {
		for at := 1; at <= 3; at++ {
			t.Run(fmt.Sprintf("%s at n%d", name, at), func(t *testing.T) {
				w := joinedBy(t, spec, 4)
				w.node(4).crash()
				w.run(time.Second)
				if err := w.remove(at, 4); err != nil {
					t.Fatal(err)
				}
				w.run(100 * ms)
				w.wantView(1, 2, 3)
				w.wantConfirmed()
				if got := w.node(1).engine.View().Size(); got != 3 {
					t.Errorf("N=%d, want 3: who was removed does not count", got)
				}
				w.node(4).start()
				w.run(time.Second)
				if !w.node(4).removed {
					t.Error("n4 was not told at its return")
				}
				w.wantView(1, 2, 3)
			})
		}
		t.Run(name+" alive", func(t *testing.T) {
			w := joinedBy(t, spec, 4)
			for _, op := range [][2]int{{1, 4}, {2, 1}} { // both leaders among them
				at, i := op[0], op[1]
				if err := w.remove(at, i); err != nil {
					t.Fatal(err)
				}
				w.run(2 * time.Second)
				if !w.node(i).removed || errors.Is(w.node(i).out[len(w.node(i).out)-1].End, member.ErrLeft) {
					t.Errorf("n%d was removed, and does not know it", i)
				}
			}
			w.wantView(2, 3)
			w.wantConfirmed()
			w.run(2 * time.Second)
			if l := w.node(2).leader; l.Vacant() || l != w.node(3).leader {
				t.Errorf("those who are left follow %v and %v", l, w.node(3).leader)
			}
		})
		t.Run(name+" cannot be", func(t *testing.T) {
			w := joinedBy(t, spec, 1)
			if err := w.remove(1, 1); !errors.Is(err, member.ErrLastMember) {
				t.Errorf("the last: %v", err)
			}
			if err := w.remove(1, 7); !errors.Is(err, member.ErrNoMember) {
				t.Errorf("a stranger: %v", err)
			}
			w.run(time.Second)
			w.wantView(1)
			w.wantLeader(1)
		})
	}
}

// A node that leaves stops when it is struck. Until then it resigns, so that another
// leads at once.
func TestLeave(t *testing.T) {
	for name, spec := range map[string]algo.Spec{"bully": bullySpec(), "vote": voteSpec()} {
		for i := 1; i <= 3; i++ {
			t.Run(fmt.Sprintf("%s n%d", name, i), func(t *testing.T) {
				w := joinedBy(t, spec, 3)
				h := w.node(i)
				out, err := h.engine.Remove(w.now, h.config.Self.ID)
				if err != nil {
					t.Fatal(err)
				}
				h.perform(out)
				w.run(2 * time.Second)
				if h.up || !h.removed || !errors.Is(h.out[len(h.out)-1].End, member.ErrLeft) {
					t.Errorf("it runs on: %v, was removed: %v", h.up, h.removed)
				}
				others := slices.DeleteFunc([]int{1, 2, 3}, func(o int) bool { return o == i })
				w.wantView(others...)
				w.wantConfirmed()
				w.run(time.Second)
				if a, b := w.node(others[0]).leader, w.node(others[1]).leader; a.Vacant() || a != b {
					t.Errorf("the others follow %v and %v", a, b)
				}
				h.start()
				w.run(time.Second)
				if !h.removed || h.up {
					t.Error("it has forgotten that at its next start")
				}
			})
		}
	}
}

// Without anybody to tell, a node has not left. It stays if it thinks better of it.
func TestLeaveWithdrawn(t *testing.T) {
	for name, spec := range map[string]algo.Spec{"bully": bullySpec(), "vote": voteSpec()} {
		w := joinedBy(t, spec, 3)
		w.cutOff(3)
		w.run(3 * time.Second)
		three := w.node(3)
		out, err := three.engine.Remove(w.now, id(3))
		if err != nil {
			t.Fatal(err)
		}
		three.perform(out)
		w.run(3 * time.Second)
		if !three.up {
			t.Errorf("%s: it left without a word to anybody", name)
		}
		three.perform(three.engine.CancelRemove(w.now, id(3)))
		clear(w.cut)
		w.run(5 * time.Second)
		w.wantView(1, 2, 3)
		w.wantConfirmed()
		for _, h := range w.nodes {
			if m, _ := h.engine.View().Member(id(3)); !m.Eligible {
				t.Errorf("%s: %s takes n3 for one that may not lead", name, h.config.Self.Name)
			}
		}
	}
}

// Where only the leader strikes members, somebody must be left who may lead.
func TestTheOnlyOneWhoMayLeadStays(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), by(voteSpec())).start()
	for i := 2; i <= 3; i++ {
		m := testMember(i)
		m.Eligible = false
		w.add(m, by(voteSpec(), joins(addr(1)))).start()
	}
	w.run(2 * time.Second)
	for at := 1; at <= 3; at++ {
		if err := w.remove(at, 1); !errors.Is(err, member.ErrNoEligibleMember) {
			t.Errorf("at n%d: %v", at, err)
		}
	}
	if err := w.remove(2, 3); err != nil {
		t.Error(err)
	}
	w.run(time.Second)
	w.wantView(1, 2)
	w.wantLeader(1)
}

// A witness that founded a cluster could let nobody in, and nobody would know why.
func TestAWitnessFoundsNothing(t *testing.T) {
	witness := func(c *Config) { c.Self.Eligible = false }
	for name, start := range map[string]func() (*Engine, *Output){
		"no seed": func() (*Engine, *Output) {
			e := solo(t, by(voteSpec(), witness))
			return e, e.Start(0)
		},
		"no seed but itself": func() (*Engine, *Output) {
			e := solo(t, by(voteSpec(), witness, founds("localhost:7400")))
			e.Start(0)
			return e, e.Reached(0, "localhost:7400", id(1))
		},
	} {
		if e, out := start(); out.End == nil || !strings.Contains(out.End.Error(), "witness") || len(out.Save) != 0 || !e.Cluster().IsZero() {
			t.Errorf("%s: rejected %v, saved %v", name, out.End, out.Save)
		}
	}
	// Of a fixed set others may lead, and one that was founded before others may have joined.
	if out := solo(t, by(voteSpec(), witness, fixed(3))).Start(0); out.End != nil {
		t.Errorf("rejected %v, as one of a set", out.End)
	}
	of := settled(5)
	of.Epoch, of.Number, of.Confirmed = 1, 9, true
	if out := solo(t, by(voteSpec(), witness), of).Start(0); out.End != nil {
		t.Errorf("rejected %v, as a member", out.End)
	}
}

// Attributes are changed by the leader too: for a follower, and for itself.
func TestAttributesThroughTheLeader(t *testing.T) {
	w := joinedBy(t, voteSpec(), 3)
	three := w.node(3)
	three.perform(three.engine.SetPriority(w.now, 5))
	w.run(20 * ms)
	w.wantView(1, 2, 3)
	w.wantConfirmed()
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); m.Priority != 5 {
			t.Errorf("%s knows n3 with priority %d, want 5", h.config.Self.Name, m.Priority)
		}
	}
	w.wantLeader(1)

	one := w.node(1)
	one.perform(one.engine.Resign(w.now, time.Second))
	w.run(500 * ms)
	w.wantLeader(3) // of equal claims the one of the higher priority
	w.wantConfirmed()
	w.run(time.Second)
	w.wantView(1, 2, 3)
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(1)); !m.Eligible {
			t.Errorf("%s takes n1 for one that may not lead, and its time is over", h.config.Self.Name)
		}
	}

	// Another address after a restart.
	two := w.node(2)
	two.crash()
	w.run(time.Second)
	two.config.Self.Addr = addr(20)
	two.start()
	w.run(time.Second)
	w.wantView(1, 2, 3)
	w.wantConfirmed()
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(2)); m.Addr != addr(20) {
			t.Errorf("%s knows n2 at %s", h.config.Self.Name, m.Addr)
		}
	}
}

// A restart with other attributes makes no roster either: the leader does, where that is
// sound. Of two rosters with one stamp, members would choose blindly.
func TestAttributesOfARestart(t *testing.T) {
	for cluster := range 8 { // whatever the digests are
		w := newWorld(t)
		w.add(testMember(1), by(voteSpec(), func(c *Config) { c.Cluster[0] = byte(cluster) })).start()
		for i := 2; i <= 3; i++ {
			m := testMember(i)
			m.Eligible = false
			w.add(m, by(voteSpec(), joins(addr(1)))).start()
		}
		w.run(2 * time.Second)
		one := w.node(1)
		before := one.engine.Digest()
		one.crash()
		w.run(time.Second)
		one.config.Self.Priority = 7
		one.config.Self.Eligible = false
		one.start()
		if one.engine.Digest() != before {
			t.Errorf("cluster %d: it starts with a roster of its own making", cluster)
		}
		w.run(10 * time.Second)
		w.wantLeader(1) // nobody else may
		w.wantView(1, 2, 3)
		one.crash()
		w.run(time.Second)
		one.config.Self.Eligible = true
		one.start()
		w.run(3 * time.Second)
		w.wantLeader(1)
		w.wantConfirmed()
		if m, _ := w.node(2).engine.View().Member(id(1)); m.Priority != 7 {
			t.Errorf("cluster %d: n2 knows n1 with priority %d, want 7", cluster, m.Priority)
		}
	}
}

// Without a majority nothing changes. What was asked for is done when there is one.
func TestWithoutAMajorityNothingChanges(t *testing.T) {
	w := joinedBy(t, voteSpec(), 2)
	w.run(31 * time.Second) // one that dies before that is out by itself
	w.node(2).crash()
	w.run(3 * time.Second)
	if err := w.remove(1, 2); err != nil {
		t.Fatal(err)
	}
	w.node(1).perform(w.node(1).engine.SetPriority(w.now, 3))
	w.run(time.Minute)
	w.wantView(1, 2)
	if !w.node(1).leader.Vacant() {
		t.Errorf("one of two leads: %v", w.node(1).leader)
	}
	if m, _ := w.node(1).engine.View().Member(id(1)); m.Priority != 0 {
		t.Error("it changed its priority alone")
	}
	w.node(1).perform(w.node(1).engine.CancelRemove(w.now, id(2)))
	w.node(2).start()
	w.run(3 * time.Second)
	w.wantView(1, 2)
	w.wantConfirmed()
	if m, _ := w.node(2).engine.View().Member(id(1)); m.Priority != 3 {
		t.Error("n2 has not heard of the priority")
	}
}

// A change after which no majority would be there is not made: of three of whom one is
// dead the other one that lives stays. The dead one may go.
func TestTheLeaderKeepsAMajority(t *testing.T) {
	w := joinedBy(t, voteSpec(), 3)
	w.node(3).crash()
	w.run(3 * time.Second)
	if err := w.remove(1, 2); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(1)
	w.node(1).perform(w.node(1).engine.CancelRemove(w.now, algo.NodeID{}))
	if err := w.remove(2, 3); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	w.wantView(1, 2)
	w.wantConfirmed()
	w.wantLeader(1)

	// Nor may the empty seats of a fixed set become the majority.
	w = newWorld(t)
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), by(voteSpec(), fixed(5))).start()
	}
	w.run(3 * time.Second)
	if err := w.remove(1, 3); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(1)
}

// led returns how many nodes have led in each epoch.
func (w *world) led() map[algo.Epoch]map[string]bool {
	led := map[algo.Epoch]map[string]bool{}
	for _, h := range w.nodes {
		for _, out := range h.out {
			for _, l := range out.Leaders {
				if l.ID != h.config.Self.ID {
					continue
				}
				if led[l.Epoch] == nil {
					led[l.Epoch] = map[string]bool{}
				}
				led[l.Epoch][h.config.Self.Name] = true
			}
		}
	}
	return led
}

// Of n1 to n4, n1 leads, is cut off and removes n4. n2 is elected by the others and
// removes n3, which is cut off as well and joins n1. {1, 3} is a majority of those whom
// n1 knows, {2, 4} of those whom n2 knows, and they share nobody. What keeps them from
// both being elected in one round is that n2 may remove nobody before a majority of all
// four hold the roster with its epoch.
func TestDisjointMajorities(t *testing.T) {
	w := newWorld(t)
	for i := 1; i <= 4; i++ {
		w.add(testMember(i), by(voteSpec(), fixed(4))).start()
	}
	w.run(3 * time.Second)
	w.wantLeader(1)
	w.wantConfirmed()
	w.cutOff(1)
	if err := w.remove(1, 4); err != nil {
		t.Fatal(err)
	}
	if got := w.node(1).engine.View().Len(); got != 3 {
		t.Fatalf("n1 knows %d members, want 3: it may make one change", got)
	}
	w.run(2 * time.Second)
	if got := w.node(2).leader; got.ID != id(2) {
		t.Fatalf("n2 follows %v, want itself", got)
	}
	w.cutOff(3, 1)
	clear(w.cut)
	for _, pair := range [][2]string{{"n1", "n2"}, {"n1", "n4"}, {"n3", "n2"}, {"n3", "n4"}} {
		w.cut[pair] = true
	}
	if err := w.remove(2, 3); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	for range 30 { // through every round that n1 may have led in
		w.node(2).perform(w.node(2).engine.Campaign(w.now))
		w.run(200 * ms)
	}
	for epoch, names := range w.led() {
		if len(names) > 1 {
			t.Errorf("%d led in epoch %d", len(names), epoch)
		}
	}
	clear(w.cut)
	w.run(10 * time.Second)
	w.wantView(1, 2) // in the end both get what they want
	w.wantConfirmed()
}

// What a member says that it holds counts for that roster, from a member, once, and
// never from who has taken part in a later epoch.
func TestHeldCounts(t *testing.T) {
	w := joinedBy(t, voteSpec(), 5)
	e := w.node(1).engine
	w.cutOff(1)
	w.node(1).perform(e.SetPriority(w.now, 1))
	stamp := e.View().Stamp()
	hear := func(from int, m Held) {
		w.node(1).perform(e.Receive(w.now, id(from), m))
	}
	hear(2, Held{Epoch: stamp.Epoch, Number: stamp.Number})
	hear(2, Held{Epoch: stamp.Epoch, Number: stamp.Number})
	hear(3, Held{Epoch: stamp.Epoch, Number: stamp.Number - 1})
	hear(4, Held{Epoch: stamp.Epoch - 1, Number: stamp.Number})
	hear(9, Held{Epoch: stamp.Epoch, Number: stamp.Number})
	if e.Committed() {
		t.Error("confirmed by two of five")
	}
	hear(5, Held{Epoch: stamp.Epoch, Number: stamp.Number})
	if !e.Committed() {
		t.Error("three of five hold it")
	}

	// The other side of it.
	roster := e.rosters.Roster()
	roster.Number++
	roster.Confirmed = false
	follower := w.node(3).engine
	answers := func() (held int) {
		for _, s := range follower.Receive(w.now, id(1), roster).Send {
			if s.Message == (Held{Epoch: roster.Epoch, Number: roster.Number}) {
				held++
			}
		}
		return held
	}
	for _, what := range []string{"it does not say that it holds a roster", "not again"} {
		if answers() != 1 {
			t.Error(what)
		}
	}
	w.node(3).perform(follower.Campaign(w.now)) // a later epoch
	if answers() != 0 {
		t.Error("it says that it holds a roster of an epoch that is over for it")
	}
	roster.Number++
	if answers() != 0 || follower.View().Number() != roster.Number {
		t.Error("it takes it over all the same, or says so")
	}
}

// A leader that has taken part in a later epoch makes no roster any more, though nobody else
// leads yet: somebody may, whom it has helped.
func TestALeaderInALaterEpochMakesNoRoster(t *testing.T) {
	w := joinedBy(t, voteSpec(), 3)
	e := w.node(1).engine
	digest, led := e.Digest(), e.machine.Leader()
	taken := func() algo.Epoch { return e.machine.Stable().Epoch }
	changed := e.rosters.Roster().Entries[1]
	changed.Priority = 7
	for _, s := range w.node(3).engine.Campaign(w.now).Send {
		if s.To == id(1) {
			e.Receive(w.now, id(3), s.Message)
		}
	}
	if l, _ := e.Leader(); l != led || taken() <= l.Epoch {
		t.Fatalf("n1 follows %v in epoch %d: the test shows nothing", l, taken())
	}
	e.Receive(w.now, id(2), Propose{Entry: changed})
	if e.Digest() != digest {
		t.Errorf("the leader of epoch %d, in epoch %d, has changed the members", led.Epoch, taken())
	}
}

// A new leader finishes what the one before began and what reached it. What did not
// reach it is undone.
func TestAChangeThatWasNotFinished(t *testing.T) {
	for name, reached := range map[string]bool{"it reached the next leader": true, "it reached nobody": false} {
		t.Run(name, func(t *testing.T) {
			w := joinedBy(t, voteSpec(), 4)
			w.cutOff(1)
			if reached {
				delete(w.cut, [2]string{"n1", "n2"})
			}
			if err := w.remove(1, 4); err != nil {
				t.Fatal(err)
			}
			w.run(2 * hop)
			w.node(1).crash()
			clear(w.cut)
			w.run(5 * time.Second)
			w.node(1).start()
			w.run(5 * time.Second)
			if reached {
				w.wantView(1, 2, 3)
			} else {
				w.wantView(1, 2, 3, 4)
			}
			if w.node(4).removed != reached {
				t.Errorf("n4 stopped: %v, want %v", w.node(4).removed, reached)
			}
			w.wantConfirmed()
		})
	}
}

// Who was struck by a roster that nobody has confirmed takes no notice.
func TestAStrikeThatIsNotConfirmed(t *testing.T) {
	w := joinedBy(t, voteSpec(), 3)
	e := w.node(3).engine
	roster := w.node(1).engine.rosters.Roster()
	roster.Number++
	roster.Confirmed = false
	roster.Entries = roster.Entries[:2]
	roster.Strikes = []algo.NodeID{id(3)}
	if out := e.Receive(w.now, id(1), roster); out.End != nil || !e.View().Contains(id(3)) {
		t.Error("it stops")
	}
	roster.Confirmed = true
	if out := e.Receive(w.now, id(1), roster); out.End != nil {
		t.Error("it stops at the word of one")
	}
	roster.Entries = slices.Clone(roster.Entries) // n2 has it too
	if out := e.Receive(w.now, id(2), roster); out.End == nil {
		t.Error("it runs on")
	}
}

// A member of a fixed set that comes when there is a leader takes its seat, and is a
// member again after that.
func TestALateMemberOfAFixedSet(t *testing.T) {
	w := newWorld(t)
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), by(voteSpec(), fixed(5))).start()
	}
	w.run(3 * time.Second)
	w.wantLeader(1)
	w.wantConfirmed()
	if got := w.node(1).engine.View(); got.Size() != 5 || got.Len() != 3 {
		t.Fatalf("N=%d, %d known, want 5, 3", got.Size(), got.Len())
	}
	w.add(testMember(5), by(voteSpec(), fixed(5))).start()
	w.node(1).crash() // nobody is there to let it in
	w.run(3 * time.Second)
	w.node(1).start()
	w.run(5 * time.Second)
	w.wantView(1, 2, 3, 5)
	w.wantConfirmed()
	// One of the set is still to come: nobody else takes its place.
	six := w.add(testMember(6), by(voteSpec(), joins(addr(2)))).start()
	w.run(3 * time.Second)
	if !six.engine.Cluster().IsZero() {
		t.Error("n6 was let in")
	}
	w.add(testMember(4), by(voteSpec(), fixed(5))).start()
	w.run(5 * time.Second)
	w.wantView(1, 2, 3, 4, 5, 6)
	if got := w.node(1).engine.View().Size(); got != 6 {
		t.Errorf("N=%d, want 6", got)
	}
}

// Each member has one roster of one cluster, and nobody is let into two.
func TestAJoinerWithoutALeaderWaits(t *testing.T) {
	w := joinedBy(t, voteSpec(), 3)
	w.node(2).crash()
	w.node(3).crash()
	w.run(3 * time.Second)
	four := w.add(testMember(4), by(voteSpec(), joins(addr(1)))).start()
	w.run(5 * time.Second)
	if !four.engine.Cluster().IsZero() {
		t.Error("n4 was let in without a majority")
	}
	w.node(2).start()
	w.run(4 * time.Second)
	w.wantView(1, 2, 3, 4)
	w.wantConfirmed()
}

func TestPoisonedStampsAreRefused(t *testing.T) {
	for name, change := range map[string]func(r *Roster){
		"the largest epoch":  func(r *Roster) { r.Epoch = 1<<64 - 1 },
		"an epoch far ahead": func(r *Roster) { r.Epoch += 1<<33 + 1 },
		"the largest number": func(r *Roster) { r.Number = 1<<64 - 1 },
		"a number far ahead": func(r *Roster) { r.Number += 1<<33 + 1 },
		"no epoch":           func(r *Roster) { r.Epoch = 0 },
	} {
		w := joinedBy(t, voteSpec(), 3)
		e := w.node(3).engine
		digest, stable := e.Digest(), e.machine.Stable()
		r := w.node(2).engine.rosters.Roster()
		change(&r)
		out := e.Receive(w.now, id(2), r)
		if len(out.Refuse) != 1 || len(out.Save) != 0 || e.Digest() != digest || e.machine.Stable() != stable {
			t.Errorf("%s: refused %v, saved %v", name, out.Refuse, out.Save)
		}
	}
	w := joinedBy(t, voteSpec(), 3)
	leader := w.node(1).engine
	for _, m := range []algo.Message{Propose{Entry: Entry{ID: id(2)}}, Propose{Gone: true}} {
		if out := leader.Receive(w.now, id(2), m); len(out.Refuse) != 1 || leader.View().Len() != 3 {
			t.Errorf("%+v: refused %+v", m, out.Refuse)
		}
	}
	// One that is not the leader changes nothing.
	two := w.node(2).engine
	digest := two.Digest()
	two.Receive(w.now, id(3), Propose{Entry: Entry{ID: id(3)}, Gone: true})
	if two.Digest() != digest {
		t.Error("a follower has struck a member")
	}
}

// In a cluster that is told to, the leader removes who was dead for long, unless most
// are.
func TestForgetAfter(t *testing.T) {
	const after = 5 * time.Second // to be removed, once it is suspected
	forgets := func(c *Config) { c.ForgetAfter = after }
	cluster := func() *world {
		w := newWorld(t)
		for i := 1; i <= 5; i++ {
			change := joins(addr(1))
			if i == 1 {
				change = nil
			}
			w.add(testMember(i), by(bullySpec(), change, forgets)).start()
		}
		w.run(5 * time.Second)
		return w
	}
	t.Run("the dead", func(t *testing.T) {
		w := cluster()
		w.node(2).crash() // whom nobody monitors
		w.run(after - time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.run(2 * time.Second)
		w.wantView(1, 3, 4, 5)
		w.node(2).start()
		w.run(time.Second)
		if !w.node(2).removed {
			t.Error("n2 is back, and was not told")
		}
	})
	t.Run("the hung", func(t *testing.T) {
		w := cluster()
		w.node(2).paused = true // its connections stand
		w.run(after + 2*time.Second)
		if got := w.node(5).engine.View().Len(); got != 4 {
			t.Errorf("the leader knows %d members, want 4", got)
		}
	})
	t.Run("who comes back in time", func(t *testing.T) {
		w := cluster()
		for range 3 {
			w.node(2).crash()
			w.run(after - time.Second)
			w.node(2).start()
			w.run(2 * time.Second)
		}
		w.wantView(1, 2, 3, 4, 5)
	})
	t.Run("the old leader", func(t *testing.T) {
		w := cluster()
		w.node(5).crash()
		w.run(after + 2*time.Second)
		w.wantView(1, 2, 3, 4)
		w.wantLeader(4)
		w.node(4).crash() // the next one goes on
		w.run(after + 2*time.Second)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
	})
	t.Run("not by the smaller side", func(t *testing.T) {
		w := cluster()
		for _, a := range []string{"n4", "n5"} {
			for _, b := range []string{"n1", "n2", "n3"} {
				w.cut[[2]string{a, b}] = true
			}
		}
		w.run(after - time.Second)
		w.node(1).crash() // nobody has a majority now
		w.run(4 * after)
		clear(w.cut)
		w.node(1).start()
		w.run(5 * time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.wantLeader(5)
	})
	t.Run("not by half of them", func(t *testing.T) {
		w := newWorld(t)
		for i := 1; i <= 4; i++ {
			w.add(testMember(i), by(bullySpec(), fixed(4), forgets)).start()
		}
		w.run(5 * time.Second)
		for _, a := range []string{"n3", "n4"} {
			for _, b := range []string{"n1", "n2"} {
				w.cut[[2]string{a, b}] = true
			}
		}
		w.run(4 * after)
		w.wantView(1, 2, 3, 4)
		clear(w.cut)
		w.run(5 * time.Second)
		w.wantView(1, 2, 3, 4)
		w.wantLeader(4)
	})
	t.Run("not for the time without a majority", func(t *testing.T) {
		w := cluster()
		w.node(1).crash()
		w.run(after - time.Second)
		w.node(2).crash()
		w.node(3).crash()
		w.run(4 * after)
		w.node(2).start()
		w.node(3).start()
		w.run(after - time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.run(2 * time.Second)
		w.wantView(2, 3, 4, 5)
	})
	t.Run("by the leader alone", func(t *testing.T) {
		w := cluster()
		w.cut[[2]string{"n1", "n2"}] = true
		w.run(4 * after)
		w.wantView(1, 2, 3, 4, 5)
	})
	t.Run("by the larger side", func(t *testing.T) {
		w := cluster()
		for _, a := range []string{"n4", "n5"} {
			for _, b := range []string{"n1", "n2", "n3"} {
				w.cut[[2]string{a, b}] = true
			}
		}
		w.run(2 * after)
		clear(w.cut)
		w.run(5 * time.Second)
		w.wantView(1, 2, 3)
		if !w.node(4).removed || !w.node(5).removed {
			t.Error("those who were forgotten run on")
		}
	})
	t.Run("not with a majority", func(t *testing.T) {
		w := newWorld(t)
		for i := 1; i <= 3; i++ {
			w.add(testMember(i), by(voteSpec(), fixed(3), forgets)).start()
		}
		w.run(3 * time.Second)
		w.node(3).crash()
		w.run(4 * after)
		w.wantView(1, 2, 3)
	})
	t.Run("the algorithm hears of it", func(t *testing.T) {
		// The leader's detector watches n2 for the engine alone. When the algorithm asks
		// for n2 as well, it is told what is known.
		e, p := probed(t, func(env algo.Env, what string) {
			if what == "campaign" {
				env.Monitor(id(2))
			}
		})
		e.watched = []algo.NodeID{id(2)}
		e.detector.Monitor(0, e.watched)
		e.detector.Goodbye(0, id(2))
		e.detector.Take()
		p.said = nil
		e.begin(ms)
		e.step(ms, algo.Event{Kind: algo.EventCampaign})
		e.settle(ms)
		p.want(t, "n2 is dead already", "campaign", "suspect n2")
	})
}
