package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// "With neither seeds nor a stored view it founds a cluster of one."
func TestBootstrapAFounder(t *testing.T) {
	w := newWorld(t)
	h := w.add(testMember(1), nil).start()
	w.wantLeader(1)
	w.wantView(1)
	if h.engine.Cluster() != h.config.Cluster {
		t.Errorf("the cluster is %v, want %v, which it drew", h.engine.Cluster(), h.config.Cluster)
	}
	out := h.out[0]
	if len(out.Save) != 2 || !out.ViewChanged {
		t.Errorf("it saves %v, want its epoch and the membership in one", out.Save)
	}
	if got, ok := h.engine.Leader(); !ok || got != h.leader {
		t.Errorf("Leader() = %v, %v, want %v", got, ok, h.leader)
	}
}

// "A node that has seeds and no stored view starts no algorithm until a member has let
// it in."
func TestBootstrapAJoinerWaitsToBeLetIn(t *testing.T) {
	w := newWorld(t)
	h := w.add(testMember(2), joins(addr(1), addr(3))).start()
	w.run(time.Minute)
	if _, running := h.engine.Leader(); running || h.leader != (algo.Leader{}) || h.saves != 0 || !h.engine.Cluster().IsZero() {
		t.Errorf("without a member to let it in it runs: %v, saves %d", h.leader, h.saves)
	}
	h.perform(h.engine.Campaign(w.now))
	h.perform(h.engine.Resign(w.now, time.Second))
	if w.wakes > 200 {
		t.Errorf("%d wakes in a minute of waiting, want about one a second and seed", w.wakes)
	}
	w.add(testMember(3), nil).start()
	w.run(2 * time.Second)
	w.wantView(2, 3)
	w.wantLeader(3)
}

// "A joining node asks any member it can reach, learns the view, and its arrival is
// broadcast to all."
func TestJoinThroughAnyMember(t *testing.T) {
	for through := 1; through <= 3; through++ {
		w := joined(t, 3)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
		w.add(testMember(4), joins(addr(9), addr(through))).start()
		w.run(20 * ms)
		w.wantView(1, 2, 3, 4)
		w.wantLeader(4)
		if w.refused() != 0 {
			t.Errorf("through n%d: %d messages were refused", through, w.refused())
		}
	}
}

// Its messages come right behind its roster, also to members who have not heard of it,
// and to those who joined elsewhere at the same time.
func TestAJoinersFirstMessagesAreNotRefused(t *testing.T) {
	for lag := time.Duration(0); lag < 12*hop; lag += hop / 2 {
		w := joined(t, 3)
		w.add(testMember(10), joins(addr(1))).start()
		w.run(lag)
		w.add(testMember(11), joins(addr(2))).start()
		w.add(testMember(4), joins(addr(3))).start()
		w.run(time.Second)
		w.wantView(1, 2, 3, 4, 10, 11)
		w.wantLeader(11)
		if w.refused() != 0 {
			t.Errorf("a lag of %v: %d messages were refused", lag, w.refused())
		}
	}
}

func TestAColdStartOfJoiners(t *testing.T) {
	for _, size := range []int{5, 20} {
		w := newWorld(t)
		all := w.joiners(bullySpec(), size)
		w.run(5 * time.Second)
		w.wantView(all...)
		w.wantLeader(size)
		t.Logf("N=%d: %v, refused %d", size, w.kinds, w.refused())
		if got := w.kinds["view"]; got > 8*size*size {
			t.Errorf("N=%d: %d rosters sent, want at most 8·N²", size, got)
		}
	}
}

// "A node that has a stored view" needs no seed, and founds nothing.
func TestBootstrapAStoredViewWinsOverSeeds(t *testing.T) {
	w := joined(t, 3)
	two := w.nodes[1]
	two.crash()
	w.run(time.Second)
	two.config.Seeds = []string{addr(77)}
	two.start()
	if !two.out[len(two.out)-1].ViewChanged {
		t.Error("the host is not told where the members are")
	}
	w.run(time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
	for _, h := range w.nodes {
		h.crash()
	}
	w.run(time.Second)
	w.nodes[0].config.Seeds = nil // the founder
	w.nodes[0].start()
	if got := w.nodes[0].engine.Cluster(); got != w.nodes[0].config.Cluster || w.nodes[0].engine.View().Len() != 3 {
		t.Errorf("the founder comes back with cluster %v and view %v", got, w.nodes[0].engine.View())
	}
}

// "Its length is N for every quorum from the first moment."
func TestBootstrapAFixedSetCountsFromTheFirstMoment(t *testing.T) {
	w := newWorld(t)
	h := w.add(testMember(1), fixed(5)).start()
	if view := h.engine.View(); view.Size() != 5 || view.Quorum() != 3 || view.Len() != 1 {
		t.Errorf("N=%d, quorum %d, %d known, want 5, 3, 1", view.Size(), view.Quorum(), view.Len())
	}
	w.add(testMember(2), fixed(5)).start()
	w.run(time.Second)
	for _, h := range w.nodes {
		if view := h.engine.View(); view.Size() != 5 || view.Len() != 2 {
			t.Errorf("%s: N=%d, %d known, want 5, 2", h.config.Self.Name, view.Size(), view.Len())
		}
	}
	// Who joins beside the fixed set counts beside it.
	w.add(testMember(6), joins(addr(1))).start()
	for i := 3; i <= 5; i++ {
		w.add(testMember(i), fixed(5)).start()
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3, 4, 5, 6)
	w.wantLeader(6)
	if view := h.engine.View(); view.Size() != 6 {
		t.Errorf("N=%d, want 6", view.Size())
	}
}

// "bully and ring when every address has said hello, refused or timed out."
func TestBootstrapAFixedSetWaitsForFirstContact(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		w := newWorld(t)
		h := w.add(testMember(1), fixed(3)).start()
		if _, running := h.engine.Leader(); running {
			t.Error("it runs before it has looked for the others")
		}
		w.run(2 * hop)
		w.wantLeader(1)
		_ = h
	})
	t.Run("hello", func(t *testing.T) {
		w := newWorld(t)
		for i := 1; i <= 3; i++ {
			w.add(testMember(i), fixed(3)).start()
		}
		w.run(20 * hop)
		w.wantLeader(3)
		for _, h := range w.nodes {
			if h.leader.Epoch != 1 {
				t.Errorf("%s follows %v, want the first leadership of all", h.config.Self.Name, h.leader)
			}
		}
	})
	t.Run("silence", func(t *testing.T) {
		w := newWorld(t)
		h := w.add(testMember(1), fixed(3)).start()
		w.add(testMember(2), fixed(3)).start()
		w.add(testMember(3), fixed(3)).start()
		w.cut[[2]string{"n1", "n2"}], w.cut[[2]string{"n1", "n3"}] = true, true
		w.run(h.config.Timing.FirstContact - ms)
		if _, running := h.engine.Leader(); running {
			t.Error("it runs before the others had their time")
		}
		w.run(2 * ms)
		if h.leader.ID != id(1) {
			t.Errorf("it follows %v, want itself", h.leader)
		}
		clear(w.cut)
		w.run(10 * time.Second)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
	})
	t.Run("just starting", func(t *testing.T) {
		e := solo(t, func(c *Config) {
			c.Fixed = []string{addr(1), addr(2)}
			c.Timing.FirstContact = time.Second
		})
		e.Start(0)
		e.DialFailed(ms, Target{Addr: addr(2)}, fd.Broken)
		if _, running := e.Leader(); running {
			t.Error("it runs although somebody is there")
		}
		e.DialFailed(ms, Target{Addr: addr(2)}, fd.Refused)
		if _, running := e.Leader(); !running {
			t.Error("it does not run although nobody is there")
		}
	})
}

func TestAMemberOfAFixedSetThatAppearsLater(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), fixed(3)).start()
	w.add(testMember(2), fixed(3)).start()
	w.run(time.Second)
	w.wantLeader(2)
	w.run(time.Minute)
	w.add(testMember(3), fixed(3)).start()
	w.run(2 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// What a cold start of a fixed set costs stays far from N³.
func TestAColdStartOfAFixedSet(t *testing.T) {
	for _, size := range []int{3, 10, 30} {
		w := newWorld(t)
		var all []int
		for i := 1; i <= size; i++ {
			w.add(testMember(i), fixed(size)).start()
			all = append(all, i)
		}
		w.run(3 * time.Second)
		w.wantView(all...)
		w.wantLeader(size)
		t.Logf("N=%d: %v", size, w.kinds)
		if got := w.kinds["view"]; got > 6*size*size {
			t.Errorf("N=%d: %d rosters sent, want at most 6·N²", size, got)
		}
		if got := w.kinds["election"] + w.kinds["answer"]; got > 3*size*size {
			t.Errorf("N=%d: %d messages of the election, want at most 3·N²", size, got)
		}
	}
}

// TestListWithQuorumFoundsOnce has an algorithm with a quorum wait for all nodes of a list. A node that joins
// waits with them.
func TestListWithQuorumFoundsOnce(t *testing.T) {
	needsQuorum := func(c *Config) { c.Spec.Claims.NeedsQuorum = true }
	listed := by(bullySpec(), fixed(5), needsQuorum)
	w := newWorld(t)
	w.add(testMember(1), listed).start()
	w.add(testMember(2), listed).start()
	w.add(testMember(6), by(bullySpec(), joins(addr(1)), needsQuorum)).start()
	w.add(testMember(3), listed).start()
	w.add(testMember(4), listed).start()
	w.run(10 * time.Second)
	for _, h := range w.nodes {
		if _, running := h.engine.Leader(); running || !h.engine.Cluster().IsZero() || h.saves != 0 {
			t.Errorf("%s: running %v, cluster %v, %d saves, before all listed nodes have started",
				h.config.Self.Name, running, h.engine.Cluster(), h.saves)
		}
	}
	w.add(testMember(5), listed).start()
	w.run(5 * time.Second)
	w.wantView(1, 2, 3, 4, 5, 6)
	w.wantConfirmed()
	if got := w.node(1).engine.View().Size(); got != 6 {
		t.Errorf("N=%d, want 6", got)
	}
	for _, h := range w.nodes {
		if h.engine.Cluster() != w.node(1).config.Cluster {
			t.Errorf("%s is in cluster %v, want that of the list", h.config.Self.Name, h.engine.Cluster())
		}
	}
}

func TestASeedThatIsThisNodeItself(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), founds(addr(1))).start() // as it calls itself
	w.wantLeader(1)

	// Under another name: the host finds out. It founds nothing for want of others.
	e := solo(t, joins("localhost:7400"))
	e.Start(0)
	if out := e.Reached(ms, "localhost:7400", id(1)); len(out.Leaders) != 0 {
		t.Errorf("its only seed is itself, and it announces %v", out.Leaders)
	}
	e = solo(t, founds("localhost:7400", addr(2)))
	e.Start(0)
	if out := e.Reached(ms, "elsewhere:1", id(1)); len(out.Leaders) != 0 {
		t.Error("an address that is no seed makes it found a cluster")
	}
	if out := e.Reached(ms, "localhost:7400", id(1)); len(out.Leaders) != 0 {
		t.Error("it founded a cluster although another seed may answer")
	}
	if out := e.DialFailed(ms, Target{Addr: addr(2)}, fd.Refused); len(out.Leaders) != 1 {
		t.Errorf("its only seeds are itself and who refuses, and it announces %v", out.Leaders)
	}

	// Who may not found, and has nobody to ask, says so at once.
	for _, seeds := range [][]string{nil, {addr(1)}} {
		c := e.config
		c.Bootstrap, c.Seeds = false, seeds
		if out := New(c).Start(0); out.End == nil || !strings.Contains(out.End.Error(), "bootstrap: true") {
			t.Errorf("with %v to ask it is told %v", seeds, out.End)
		}
	}

	// One of a fixed set.
	e = solo(t, func(c *Config) { c.Fixed, c.Timing.FirstContact = []string{addr(1), "localhost:7400"}, time.Second })
	e.Start(0)
	e.Reached(ms, "localhost:7400", id(1))
	if _, running := e.Leader(); !running {
		t.Error("it waits for itself")
	}
}

func TestANameThatIsTaken(t *testing.T) {
	w := joined(t, 3)
	thief := testMember(4)
	thief.Name = "n2"
	h := w.add(thief, joins(addr(1))).start()
	w.run(time.Second)
	if !strings.Contains(h.rejected, `"n2"`) || !strings.Contains(h.rejected, addr(2)) || h.saves != 0 {
		t.Errorf("rejected %v after %d saves, want a reason that names the name and its owner", h.rejected, h.saves)
	}
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// The reason always fits its frame.
func TestTheLongestRejection(t *testing.T) {
	long := Entry{ID: id(2), Name: strings.Repeat(`"`, 64), Addr: strings.Repeat("a", 255)}
	e := solo(t, nil)
	e.Start(0)
	e.Receive(0, id(2), Join{Entry: long})
	long.ID, long.Addr = id(3), "elsewhere:1"
	out := e.Receive(0, id(3), Join{Entry: long})
	if len(out.Send) != 1 {
		t.Fatalf("sent %v, want a rejection", out.Send)
	}
	if _, err := frames.Append(nil, out.Send[0].Message.(Reject)); err != nil {
		t.Error(err)
	}
}

// "An earlier life of a node without data": same name and address, new ID.
func TestANodeThatKeepsNothingTakesItsSeatAgain(t *testing.T) {
	for name, change := range map[string]func(*Config){"joined": joins(addr(1)), "fixed": fixed(3)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := 1; i <= 3; i++ {
				c := change
				if i == 1 && name == "joined" {
					c = nil
				}
				w.add(testMember(i), c).start()
			}
			w.run(2 * time.Second)
			for life := 20; life < 30; life++ {
				w.nodes[len(w.nodes)-1].crash()
				w.run(100 * ms)
				again := testMember(3)
				again.ID = id(life)
				if life%2 == 0 {
					again.ID = algo.NodeID{15: byte(256 - life), 14: byte(life % 4), 13: 0} // above and below
				}
				w.add(again, change).start()
				w.run(3 * time.Second)
				for _, h := range w.nodes {
					if !h.up {
						continue
					}
					if h.leader.ID != again.ID && again.ID.Compare(id(2)) > 0 {
						t.Errorf("life %d: %s follows %v", life, h.config.Self.Name, h.leader)
					}
					if got := h.engine.View().Len(); got != 3 || h.engine.View().Size() != 3 {
						t.Errorf("life %d: %s has %d members of %d, want 3", life, h.config.Self.Name, got, h.engine.View().Size())
					}
					if got := len(h.engine.rosters.Roster().Entries); got != 3 {
						t.Errorf("life %d: %s keeps %d entries, want 3", life, h.config.Self.Name, got)
					}
				}
				if !w.nodes[len(w.nodes)-1].up {
					t.Fatalf("life %d was turned away: %q", life, w.nodes[len(w.nodes)-1].rejected)
				}
			}
			w.nodes[0].crash()
			w.nodes[1].crash()
			w.run(100 * ms)
			w.nodes[0].start()
			w.run(5 * time.Second)
			if got := w.nodes[0].leader.ID; got != w.nodes[len(w.nodes)-1].config.Self.ID {
				t.Errorf("n1 came back and follows %v", got)
			}
		})
	}
}

// Two that are set up alike, with one name and one address, do not fight for ever.
func TestTwoNodesWithOneSeat(t *testing.T) {
	w := joined(t, 3)
	twin := testMember(2)
	twin.ID = id(200)
	h := w.add(twin, joins(addr(1))).start()
	w.run(5 * time.Second)
	if old := w.nodes[1]; old.up == h.up {
		t.Errorf("the old one runs: %v, the new one runs: %v, want one of the two", old.up, h.up)
	}
}

// A newcomer that is set up like a member which lives does not push that out, when it asks
// it to be let in.
func TestATwinAsksTheOneThatIsThere(t *testing.T) {
	for size := 1; size <= 3; size++ {
		w := joined(t, size)
		old := w.node(size) // it leads
		twin := testMember(size)
		twin.ID = id(200)
		e := old.engine
		old.perform(e.Up(w.now, Peer{ID: twin.ID, Incarnation: 1, Digest: 0}))
		before := e.Digest()
		out := e.Receive(w.now, twin.ID, Join{Entry: Entry{ID: twin.ID, Name: twin.Name, Addr: twin.Addr, Eligible: true}})
		if len(out.Send) != 1 || out.Send[0].Message.Kind() != "reject" || !strings.Contains(out.Send[0].Message.(Reject).Reason, "belongs to member") {
			t.Errorf("%d members: it answers %v, want a rejection", size, out.Send)
		}
		if !e.View().Contains(id(size)) || e.Digest() != before {
			t.Errorf("%d members: its view is %v", size, e.View())
		}
	}
}

// A name is checked at a restart too.
func TestARestartWithANameThatIsTaken(t *testing.T) {
	for _, spec := range []algo.Spec{bullySpec(), voteSpec()} {
		w := joinedBy(t, spec, 3)
		three := w.node(3)
		three.crash()
		w.run(time.Second)
		three.config.Self.Name = "n2"
		saves := three.saves
		three.start()
		w.run(time.Second)
		reason := map[bool]string{false: `"n2"`, true: "the name n2 belongs to the member at " + addr(2)}[spec.Claims.NeedsQuorum]
		if three.up || !strings.Contains(three.rejected, reason) || three.saves != saves {
			t.Errorf("%s: rejected %v after %d saves, want a reason that names the name", spec.Name, three.rejected, three.saves-saves)
		}
		three.config.Self.Name = "n9"
		three.start()
		w.run(2 * time.Second)
		w.wantView(1, 2, 3)
		for _, h := range w.nodes {
			if m, _ := h.engine.View().Member(id(3)); m.Name != "n9" {
				t.Errorf("%s: %s calls n3 %q", spec.Name, h.config.Self.Name, m.Name)
			}
		}
	}
}

func TestTwoFoundersByMistake(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), nil).start()
	w.add(testMember(2), nil).start()
	w.add(testMember(3), joins(addr(1), addr(2))).start()
	w.run(5 * time.Second)
	three := w.nodes[2].engine
	if three.View().Len() != 2 {
		t.Errorf("n3 is in a cluster of %d, want in one of the two", three.View().Len())
	}
	if a, b := w.nodes[0].engine.Cluster(), w.nodes[1].engine.Cluster(); a == b {
		t.Errorf("both are cluster %v", a)
	}
	// Rosters of the other cluster are refused where no hello keeps them out.
	e := solo(t, nil)
	e.Start(0)
	before := e.Digest()
	out := e.Receive(0, id(2), Roster{Cluster: algo.NodeID{5}, Entries: []Entry{{ID: id(2), Name: "n2", Addr: addr(2)}}})
	if len(out.Refuse) != 1 || len(out.Save) != 0 || e.Digest() != before {
		t.Errorf("%+v", out)
	}
}

// "A restart with a changed address or priority is told to all."
func TestARestartWithAnotherAddress(t *testing.T) {
	w := joined(t, 3)
	three := w.nodes[2]
	three.crash()
	w.run(time.Second)
	w.wantLeader(2)
	three.config.Self.Addr, three.config.Self.Priority = addr(30), -1
	three.start()
	w.run(2 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(2) // n3 is the lowest now
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); m.Addr != addr(30) || m.Priority != -1 {
			t.Errorf("%s knows n3 as %+v", h.config.Self.Name, m)
		}
	}
}

// Those who saw a node die take it for dead until it says hello. So it does when it is
// back, also to those who its algorithm has nothing to say to.
func TestARestartedNodeSaysHelloToAll(t *testing.T) {
	w := joined(t, 4)
	back := w.nodes[2]
	back.crash()
	w.run(time.Second)
	back.start()
	w.run(time.Second)
	for _, h := range w.nodes {
		for _, m := range h.engine.Members() {
			if m.State == fd.Suspected {
				t.Errorf("%s still takes %s for dead", h.config.Self.Name, m.Name)
			}
		}
	}
}

// What an old address says is no evidence about who moved.
func TestARefusalAtAnOldAddressIsNoEvidence(t *testing.T) {
	w := joined(t, 2)
	one := w.nodes[0]
	w.drop(one, w.nodes[1], true)
	w.run(hop)
	one.perform(one.engine.DialFailed(w.now, Target{ID: id(2), Addr: "elsewhere:1"}, fd.Refused))
	w.wantLeader(2)
	out := one.engine.Wake(w.now + detection().MinRedial)
	if want := (Target{ID: id(2), Addr: addr(2)}); !slices.Contains(out.Dial, want) {
		t.Errorf("dials %v, want n2 at its address", out.Dial)
	}
	one.perform(one.engine.DialFailed(w.now, Target{ID: id(2), Addr: addr(2)}, fd.Refused))
	if one.leader.ID != id(1) {
		t.Error("a refusal at its address is evidence")
	}
}

// A dial to a member whose address this node has now is one that nobody answered.
func TestAMemberWhoseAddressIsOurs(t *testing.T) {
	w := joined(t, 2)
	one := w.nodes[0]
	w.drop(one, w.nodes[1], false)
	w.run(hop) // it dials
	one.perform(one.engine.Reached(w.now, addr(2), one.config.Self.ID))
	w.wantLeader(2)
	out := one.engine.Wake(w.now + detection().MinRedial)
	if want := (Target{ID: id(2), Addr: addr(2)}); !slices.Contains(out.Dial, want) {
		t.Errorf("dials %v, want n2 again", out.Dial)
	}
}

func TestABroadcastThatWasLostHeals(t *testing.T) {
	w := joined(t, 4)
	w.cut[[2]string{"n1", "n2"}] = true
	w.add(testMember(5), joins(addr(1))).start()
	w.run(50 * ms)
	w.nodes[4].crash() // before n2 has heard of it from all
	clear(w.cut)
	w.run(5 * time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantLeader(4)
}

// "Removed": told by its entry, at once or at its next start.
func TestARemovedNodeStops(t *testing.T) {
	remover := func(w *world) Roster {
		r := w.nodes[0].engine.rosters.Roster()
		r.Number++
		r.Entries = slices.DeleteFunc(slices.Clone(r.Entries), func(e Entry) bool { return e.ID == id(2) })
		r.Strikes = []algo.NodeID{id(2)}
		return r
	}
	t.Run("connected", func(t *testing.T) {
		w := joined(t, 3)
		one := w.nodes[0]
		one.perform(one.engine.Receive(w.now, id(3), remover(w)))
		w.run(3 * time.Second) // it waits for the word of another
		if two := w.nodes[1]; !two.removed || two.up {
			t.Error("n2 does not know that it was removed")
		}
		w.run(time.Second)
		w.wantView(1, 3)
		two := w.nodes[1].start()
		w.run(3 * time.Second)
		if two.up || !two.removed {
			t.Error("it has forgotten that at its next start")
		}
	})
	t.Run("not running", func(t *testing.T) {
		w := joined(t, 3)
		two := w.nodes[1]
		two.crash()
		w.run(time.Second)
		w.nodes[0].perform(w.nodes[0].engine.Receive(w.now, id(3), remover(w)))
		w.run(time.Second)
		w.wantView(1, 3)
		two.start()
		w.run(time.Second)
		if !two.removed {
			t.Error("it was not told at its return")
		}
		w.wantView(1, 3)
	})
	t.Run("it has lost its view but not its ID", func(t *testing.T) {
		w := joined(t, 3)
		w.nodes[1].crash()
		w.run(time.Second)
		w.nodes[0].perform(w.nodes[0].engine.Receive(w.now, id(3), remover(w)))
		w.run(time.Second)
		two := w.nodes[1]
		two.config.Seeds = []string{addr(1)}
		clear(two.disk)
		two.start()
		w.run(time.Second)
		if !strings.Contains(two.rejected, "removed") {
			t.Errorf("rejected %v, want for its removal", two.rejected)
		}
	})
	t.Run("its seat was taken", func(t *testing.T) {
		r := Roster{Cluster: algo.NodeID{9}, Entries: []Entry{{ID: id(2), Name: "n1", Addr: addr(1), Eligible: true}}}
		out := solo(t, nil, r).Start(0)
		if out.End == nil {
			t.Error("it starts with a view that is not its own")
		}
	})
}
