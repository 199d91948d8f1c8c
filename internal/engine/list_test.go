package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// wantMembers fails unless the view of a node has exactly these members.
func (h *host) wantMembers(members ...int) {
	h.w.t.Helper()
	var got []int
	for m := range h.engine.View().All() {
		got = append(got, int(m.ID[15]))
	}
	if !slices.Equal(got, members) {
		h.w.t.Errorf("%v: the members of %s are %v, want %v", h.w.now, h.config.Self.Name, got, members)
	}
}

// A node that leads at once could be a second leader. So it waits until each listed node has sent its Self, refuses the
// connection, or is silent for StartupWait.
func TestListedNodeWaitsForFirstContact(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		w := newWorld(t)
		h := w.add(testMember(1), listed(3)).start()
		if _, running := h.engine.Leader(); running {
			t.Error("it runs before it has dialed the others")
		}
		w.run(2 * hop)
		w.wantLeader(1)
		w.wantView(1)
	})
	t.Run("hello", func(t *testing.T) {
		w := newWorld(t)
		for i := 1; i <= 3; i++ {
			w.add(testMember(i), listed(3)).start()
		}
		w.run(20 * hop)
		w.wantLeader(3)
		w.wantView(1, 2, 3)
		for _, h := range w.nodes {
			if h.leader.Epoch != 1 {
				t.Errorf("%s follows %v, want the first leadership of all", h.config.Self.Name, h.leader)
			}
		}
	})
	t.Run("silence", func(t *testing.T) {
		w := newWorld(t)
		h := w.add(testMember(1), listed(3)).start()
		w.add(testMember(2), listed(3)).start()
		w.add(testMember(3), listed(3)).start()
		w.cutOff(1)
		w.run(h.config.Timing.StartupWait - ms)
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
	t.Run("a connection without a message", func(t *testing.T) {
		e := solo(t, func(c *Config) { listed(2)(c); c.Timing.StartupWait = time.Second })
		e.Start(0)
		e.Up(0, Peer{ID: id(2), Name: testMember(2).Name, Incarnation: 7, Digest: e.Digest(), Addr: addr(2)})
		wakes(e, time.Second-ms)
		if _, running := e.Leader(); running {
			t.Error("it runs, and n2 has not told about itself")
		}
		wakes(e, time.Second)
		if _, running := e.Leader(); !running {
			t.Error("it does not run after its time")
		}
	})
	t.Run("just starting", func(t *testing.T) {
		e := solo(t, func(c *Config) { listed(2)(c); c.Timing.StartupWait = time.Second })
		e.Start(0)
		e.HandleDialFailure(ms, Target{Addr: addr(2)}, fd.DialReset)
		if _, running := e.Leader(); running {
			t.Error("it runs although a node is there")
		}
		e.HandleDialFailure(ms, Target{Addr: addr(2)}, fd.DialRefused)
		if _, running := e.Leader(); !running {
			t.Error("it does not run although no node is there")
		}
	})
	for name, rejects := range map[string]func(e *Engine){
		"rejected by a message": func(e *Engine) {
			e.Up(0, Peer{ID: id(2), Name: testMember(2).Name, Incarnation: 7, Digest: 5, Addr: addr(2)})
			e.Receive(0, id(2), membership.Reject{Reason: "not listed"})
		},
		"rejected by a hello": func(e *Engine) { e.HandleReached(0, addr(2), algo.NodeID{}) },
	} {
		t.Run(name, func(t *testing.T) {
			e := solo(t, func(c *Config) { listed(2)(c); c.Timing.StartupWait = time.Second })
			e.Start(0)
			rejects(e)
			wakes(e, time.Minute)
			if _, running := e.Leader(); running || e.members.End() != nil {
				t.Errorf("it runs: %v, and ends with %v, want that it waits", running, e.members.End())
			}
			if got := e.Undiscovered(); len(got) != 1 || got[0].State != membership.SeedRejected {
				t.Errorf("it waits for %+v, want n2, which rejects it", got)
			}
			e.meet(time.Minute, 2)
			if _, running := e.Leader(); !running || e.View().Len() != 2 {
				t.Errorf("n2 accepts it, and it runs: %v, with %v", running, e.View())
			}
		})
	}
	t.Run("the only one", func(t *testing.T) {
		e := solo(t, listed(1))
		if out := e.Start(0); len(out.Leaders) != 1 || out.Leaders[0].ID != id(1) {
			t.Errorf("it announces %v, want itself", out.Leaders)
		}
	})
}

// Without a list a node has no members, and stops.
func TestNodeWithoutListStops(t *testing.T) {
	e := New(Config{MemberConfig: MemberConfig{Self: testMember(1)}, Timing: detection(), Spec: bullySpec(), Detector: fd.New(detection())})
	if _, isRejected := errors.AsType[*membership.RejectedError](e.Start(0).End); !isRejected {
		t.Errorf("it ends with %v", e.members.End())
	}
}

func TestListedNodeAppearsLater(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), listed(3)).start()
	w.add(testMember(2), listed(3)).start()
	w.run(time.Second)
	w.wantLeader(2)
	w.wantView(1, 2)
	w.run(time.Minute)
	w.add(testMember(3), listed(3)).start()
	w.run(2 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// A cold start costs at most 5·N² frames. At rest, the membership sends and saves nothing.
func TestColdStartOfList(t *testing.T) {
	for _, size := range []int{3, 10, 30} {
		w := newWorld(t)
		all := w.startCluster(bullySpec(), size)
		w.run(3 * time.Second)
		w.wantView(all...)
		w.wantLeader(size)
		t.Logf("N=%d: %v", size, w.kinds)
		if got := w.memberFrames(); got > 2*size*size {
			t.Errorf("N=%d: %d frames of the membership, want at most 2·N²", size, got)
		}
		if got := w.kinds["election"] + w.kinds["answer"]; got > 3*size*size {
			t.Errorf("N=%d: %d messages of the election, want at most 3·N²", size, got)
		}
		if w.rejections() != 0 {
			t.Errorf("N=%d: %d messages or connections were refused", size, w.rejections())
		}
		w.wantQuiet()
		for _, h := range w.nodes {
			if kinds := slices.Sorted(maps.Keys(h.disk)); !slices.Equal(kinds, []string{SavedState{}.Kind()}) {
				t.Errorf("N=%d: %s has saved %v, want the record of its algorithm", size, h.config.Self.Name, kinds)
			}
		}
	}
}

// Nodes with different lists are members for each other if both lists name the other node. They report that the lists
// differ.
func TestListsThatDiffer(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), listed(3)).start()
	w.add(testMember(2), listed(4)).start() // n4 does not run
	w.add(testMember(3), listed(3)).start()
	w.run(3 * time.Second)
	for i, want := range [][]algo.NodeID{{id(2)}, {id(1), id(3)}, {id(2)}} {
		h := w.node(i + 1)
		h.wantMembers(1, 2, 3)
		if got := h.engine.DifferingLists(); !slices.Equal(got, want) {
			t.Errorf("%s: the lists of %v differ, want %v", h.config.Self.Name, got, want)
		}
	}
	w.wantLeader(3)
	w.node(2).setMembers(addrs(3))
	w.run(time.Second)
	w.wantView(1, 2, 3)
	for _, h := range w.nodes {
		if got := h.engine.DifferingLists(); len(got) != 0 {
			t.Errorf("%s: the lists of %v differ, and they are equal", h.config.Self.Name, got)
		}
	}

	// n1 does not list n3. Both list n2.
	w.node(1).setMembers(addrs(2))
	w.run(3 * time.Second)
	w.node(1).wantMembers(1, 2)
	w.node(2).wantMembers(1, 2, 3)
	if !w.node(3).up {
		t.Errorf("n3 has stopped, and n2 lists it")
	}
	w.node(1).setMembers(addrs(3))
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// A node that restarts at its address with an emptied data directory has a new ID, which replaces the old one.
func TestEmptiedListedNodeKeepsItsAddress(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	last := w.node(3)
	for life := range 10 {
		last.crash()
		w.run(100 * ms)
		again := testMember(3)
		again.ID = id(20 + life)
		if life%2 == 0 {
			again.ID = algo.NodeID{14: byte(life % 4), 15: byte(230 - life)} // above and below the other IDs
		}
		last = w.add(again, listed(3)).start()
		w.run(3 * time.Second)
		if !last.up {
			t.Fatalf("life %d has stopped: %q", life, last.rejected)
		}
		want := []algo.NodeID{id(1), id(2), again.ID}
		for _, h := range w.nodes {
			if !h.up {
				continue
			}
			var got []algo.NodeID
			for m := range h.engine.View().All() {
				got = append(got, m.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("life %d: the members of %s are %v, want %v", life, h.config.Self.Name, got, want)
			}
			if h.leader.ID != again.ID {
				t.Errorf("life %d: %s follows %v", life, h.config.Self.Name, h.leader)
			}
		}
	}
	w.node(1).crash()
	w.node(2).crash()
	w.run(100 * ms)
	w.node(1).start()
	w.run(5 * time.Second)
	if got := w.node(1).leader.ID; got != last.config.Self.ID {
		t.Errorf("n1 came back and follows %v", got)
	}
}

// Of two nodes with one listed address, the later one stays and the other stops.
func TestTwoNodesWithOneListedAddress(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	twin := testMember(2)
	twin.ID = id(200)
	h := w.add(twin, listed(3)).start()
	w.run(5 * time.Second)
	w.node(2).wantEnd(membership.ErrNotListed)
	if !h.up {
		t.Errorf("the later one has stopped: %q", h.rejected)
	}
	w.wantView(1, 3, 200)
	w.wantLeader(200)
}

// A list may name a node, also the node itself, by any name that leads to it, and twice.
func TestOtherNamesOfListedNodes(t *testing.T) {
	for name, list := range map[string][]string{
		"all":            {"node-1:7400", "node-2:7400", "node-3:7400"},
		"some":           {addr(1), "node-2:7400", addr(3)},
		"two of another": {addr(1), addr(2), "node-2:7400", addr(3)},
		"two of each":    {addr(1), addr(2), addr(3), "node-1:7400", "node-2:7400", "node-3:7400"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := 1; i <= 3; i++ {
				w.alias[fmt.Sprintf("node-%d:7400", i)] = addr(i)
				w.add(testMember(i), withList(list...)).start()
			}
			w.run(3 * time.Second)
			w.wantView(1, 2, 3)
			w.wantLeader(3)
			for _, h := range w.nodes {
				for m := range h.engine.View().All() {
					if m.ID != h.config.Self.ID && !slices.Contains(list, m.Addr) {
						t.Errorf("%s knows %s at %s, want an address of the list", h.config.Self.Name, m.Name, m.Addr)
					}
				}
			}
			w.wantQuiet()
			w.node(2).crash()
			w.run(time.Second)
			w.node(2).start()
			w.run(3 * time.Second)
			w.wantView(1, 2, 3)
			w.wantLeader(3)
		})
	}
}

// A node that is alone in its list, under two names, does not wait for another node.
func TestListedNodeDoesNotWaitForItself(t *testing.T) {
	e := solo(t, func(c *Config) { c.List, c.Timing.StartupWait = []string{addr(1), "localhost:7400"}, time.Second })
	e.Start(0)
	e.HandleReached(ms, "localhost:7400", id(1))
	if _, running := e.Leader(); !running {
		t.Error("it waits for itself")
	}
	if err := e.static.SetMembers(ms, []string{"localhost:7400"}); err != nil {
		t.Error(err)
	}
}

// One name may stand for all nodes.
func TestOneNameForAllListedNodes(t *testing.T) {
	w := newWorld(t)
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), withList("all:7400")).start()
	}
	for _, h := range w.nodes {
		h.perform(h.engine.HandleResolved(w.now, "all:7400", addrs(3)))
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// A connection serves both ways: it is enough that one of two nodes can dial the other.
func TestOneWayLinksBetweenListedNodes(t *testing.T) {
	w := newWorld(t)
	for _, pair := range [][2]string{{"n1", "n2"}, {"n1", "n3"}, {"n3", "n2"}} {
		w.noDial[pair] = true
	}
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), listed(3)).start()
	}
	w.run(10 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
	for i := 1; i <= 3; i++ { // in turn
		w.node(i).crash()
		w.run(time.Second)
		w.node(i).start()
		w.run(10 * time.Second)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
	}
}

// An operator changes the list on one node after the other, while they run.
func TestListGrowsAndShrinks(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	four := w.add(testMember(4), listed(4)).start()
	w.run(5 * time.Second)
	if _, running := four.engine.Leader(); running || !four.up {
		t.Errorf("n4 runs alone: %v, or has stopped: %v", running, !four.up)
	}
	if out := four.engine.Undiscovered(); len(out) != 3 {
		t.Errorf("n4 waits for %+v, want all others", out)
	}
	for i := 1; i <= 3; i++ {
		w.node(i).setMembers(addrs(4))
		if i == 1 {
			w.run(2 * time.Second)
			w.node(1).wantMembers(1, 2, 3, 4)
			w.node(2).wantMembers(1, 2, 3)
		}
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3, 4)
	w.wantLeader(4)

	out, err := w.node(1).engine.SetMembers(w.now, addrs(4)[1:])
	if err == nil || out != nil {
		t.Errorf("a list without this node: %v", err)
	}
	if !w.node(1).engine.View().Contains(id(1)) {
		t.Error("a list that was refused changes the members")
	}
	for i := 1; i <= 3; i++ {
		w.node(i).setMembers(addrs(3))
		w.run(100 * ms)
	}
	w.run(3 * time.Second)
	four.wantEnd(membership.ErrNotListed)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
	w.wantQuiet()
	before := len(four.out)
	four.start()
	w.run(time.Minute)
	for _, out := range four.out[before:] {
		if len(out.Leaders) > 0 {
			t.Errorf("n4 is in the list of no other node, and announces %v", out.Leaders)
		}
	}
}

// A node that is removed from the lists while it is not connected stops when it is back.
func TestUnlistedNodeStops(t *testing.T) {
	for name, test := range map[string]struct{ leave, back func(w *world) }{
		"it was cut off":        {func(w *world) { w.cutOff(4) }, func(w *world) { clear(w.cut) }},
		"it was paused":         {func(w *world) { w.node(4).paused = true }, func(w *world) { w.node(4).resume() }},
		"another member is off": {func(w *world) { w.node(1).crash() }, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(t, bullySpec(), 4)
			test.leave(w)
			w.run(10 * time.Second)
			for i := 1; i <= 3; i++ {
				w.node(i).setMembers(addrs(3))
			}
			w.run(10 * time.Second)
			test.back(w)
			w.run(10 * time.Second)
			w.node(4).wantEnd(membership.ErrNotListed)
			w.wantLeader(3)
		})
	}
}

// A node that the other members removed from their lists stops, although a silent member may still list it.
func TestUnlistedNodeStopsBesideSilentMember(t *testing.T) {
	w := newCluster(t, bullySpec(), 4)
	w.cutOff(1)
	w.drop(w.node(1), w.node(4), false)
	w.run(10 * time.Second)
	for _, i := range []int{2, 3} {
		w.node(i).setMembers(addrs(3))
	}
	w.run(10 * time.Second)
	w.node(4).wantEnd(membership.ErrNotListed)
}

// With a quorum, a list cannot replace the members.
func TestListOfRegisterDoesNotChange(t *testing.T) {
	w := newCluster(t, voteSpec(), 1)
	if out, err := w.node(1).engine.SetMembers(w.now, addrs(2)); !errors.Is(err, membership.ErrQuorum) || out != nil {
		t.Errorf("it is %v", err)
	}
	if got := w.node(1).engine.DifferingLists(); got != nil {
		t.Errorf("the lists of %v differ", got)
	}
}

// A priority and a resignation reach all nodes, also nodes that connect later.
func TestPriorityAndResignationReachAllListed(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	wantMember := func(i, priority int, eligible bool) {
		t.Helper()
		for _, h := range w.nodes {
			if m, _ := h.engine.View().Member(id(i)); h.up && (m.Priority != priority || m.Eligible != eligible) {
				t.Errorf("%v: %s knows n%d as %+v, want priority %d, eligible %v", w.now, h.config.Self.Name, i, m, priority, eligible)
			}
		}
	}
	one := w.node(1)
	one.perform(one.engine.SetPriority(w.now, 7))
	w.run(time.Second)
	wantMember(1, 7, true)
	w.wantLeader(1)
	one.perform(one.engine.Resign(w.now, 10*time.Second))
	w.run(time.Second)
	wantMember(1, 7, false)
	w.wantLeader(3)
	w.node(2).crash()
	w.run(time.Second)
	w.node(2).start()
	w.enlarge(4)
	w.run(2 * time.Second)
	wantMember(1, 7, false)
	w.wantLeader(4)
	w.run(10 * time.Second)
	wantMember(1, 7, true)
	w.wantLeader(1)
	w.wantQuiet()
}

// A Self about another node than its sender is ignored.
func TestSelfAboutAnotherNodeIsIgnored(t *testing.T) {
	e, _ := met(t, 3, nil)
	before := e.View()
	changed := membership.MemberOf(testMember(3))
	changed.Priority = 7
	nameless := membership.MemberOf(testMember(2))
	nameless.Name = ""
	for _, m := range []membership.Member{changed, membership.MemberOf(testMember(9)), nameless, {}} {
		if out := e.Receive(0, id(2), membership.Self{Member: m}); e.View() != before || out.ViewChanged || len(out.Leaders) > 0 {
			t.Errorf("n2 says %+v, and the members are %v", m, e.View())
		}
	}
}

// A listed node moves to another address. Peers that have met it follow it, also with the old list, until they restart.
func TestListedNodeMoves(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	list := []string{addr(1), addr(2), addr(53)}
	three := w.node(3)
	three.crash()
	w.run(time.Second)
	three.config.Self.Addr = addr(53)
	three.setMembers(list)
	three.start()
	w.run(3 * time.Second)
	w.wantLeader(3)
	for i := 1; i <= 3; i++ {
		w.node(i).wantMembers(1, 2, 3)
	}
	for i := 1; i <= 2; i++ {
		w.node(i).setMembers(list)
		w.run(time.Second)
		w.node(i).crash()
		w.run(time.Second)
		w.node(i).start()
		w.run(3 * time.Second)
	}
	w.wantView(1, 2, 3)
	w.wantLeader(3)
	if m, _ := w.node(1).engine.View().Member(id(3)); m.Addr != addr(53) {
		t.Errorf("n1 knows n3 at %s", m.Addr)
	}
}

// A list that changes while a node waits for its first contacts counts at once.
func TestListChangesDuringFirstContact(t *testing.T) {
	w := newWorld(t)
	w.cut[[2]string{"n1", "n3"}], w.cut[[2]string{"n2", "n3"}] = true, true
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), listed(3)).start()
	}
	w.run(20 * ms)
	if _, running := w.node(1).engine.Leader(); running {
		t.Error("n1 does not wait for n3")
	}
	for i := 1; i <= 2; i++ {
		w.node(i).setMembers(addrs(2))
	}
	w.run(20 * ms)
	for i := 1; i <= 2; i++ {
		if got := w.node(i).leader.ID; got != id(2) {
			t.Errorf("n%d follows %v, want n2", i, got)
		}
	}
}
