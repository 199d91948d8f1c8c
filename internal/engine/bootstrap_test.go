package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// A node with neither seeds nor a saved config bootstraps a cluster of one.
func TestBootstrapCreatesCluster(t *testing.T) {
	w := newWorld(t)
	h := w.add(testMember(1), by(voteSpec())).start()
	w.run(time.Second)
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
func TestJoinerWaitsUntilItIsMember(t *testing.T) {
	w := newWorld(t)
	h := w.add(testMember(2), by(voteSpec(), joins(addr(1), addr(3)))).start()
	w.run(time.Minute)
	if _, running := h.engine.Leader(); running || h.leader != (algo.Leader{}) || h.saves != 0 || !h.engine.Cluster().IsZero() {
		t.Errorf("without a member to let it in it runs: %v, saves %d", h.leader, h.saves)
	}
	h.perform(h.engine.Campaign(w.now))
	h.perform(h.engine.Resign(w.now, time.Second))
	if w.wakes > 320 {
		t.Errorf("%d wakes in a minute of waiting, want about one each 400ms and seed", w.wakes)
	}
	w.add(testMember(3), by(voteSpec())).start()
	w.run(2 * time.Second)
	w.wantView(2, 3)
	w.wantLeader(3)
}

// The first messages of a joiner follow right after its config. They also reach members that do not know the joiner
// yet, and nodes that joined elsewhere at the same time.
func TestFirstMessagesOfJoinerAreNotRejected(t *testing.T) {
	for lag := time.Duration(0); lag < 12*hop; lag += hop / 2 {
		w := newCluster(t, voteSpec(), 3)
		w.add(testMember(10), by(voteSpec(), joins(addr(1)))).start()
		w.run(lag)
		w.add(testMember(11), by(voteSpec(), joins(addr(2)))).start()
		w.add(testMember(4), by(voteSpec(), joins(addr(3)))).start()
		w.run(time.Second)
		w.wantView(1, 2, 3, 4, 10, 11)
		w.wantLeader(1)
		if w.rejections() != 0 {
			t.Errorf("a lag of %v: %d messages were refused", lag, w.rejections())
		}
	}
}

// A node with a saved config needs no seed, and bootstraps no cluster.
func TestSavedConfigPrecedesSeeds(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	two := w.nodes[1]
	two.crash()
	w.run(time.Second)
	two.config.Join = []string{addr(77)}
	two.start()
	if !two.out[len(two.out)-1].ViewChanged {
		t.Error("the host is not told where the members are")
	}
	w.run(time.Second)
	w.wantView(1, 2, 3)
	w.wantOneLeader()
	for _, h := range w.nodes {
		h.crash()
	}
	w.run(time.Second)
	w.nodes[0].config.Join = nil // the node that bootstrapped the cluster
	w.nodes[0].start()
	if got := w.nodes[0].engine.Cluster(); got != w.nodes[0].config.Cluster || w.nodes[0].engine.View().Len() != 3 {
		t.Errorf("the bootstrap node comes back with cluster %v and view %v", got, w.nodes[0].engine.View())
	}
}

// With a quorum, a list bootstraps one cluster after all its nodes have started. A node that joins waits with them.
func TestListWithQuorumBootstrapsOnce(t *testing.T) {
	needsQuorum := func(c *Config) { c.Spec.Claims.NeedsQuorum = true }
	listed := by(bullySpec(), listed(5), needsQuorum)
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
	w.wantCommitted()
	if got := w.node(1).engine.View().Len(); got != 6 {
		t.Errorf("N=%d, want 6", got)
	}
	for _, h := range w.nodes {
		if h.engine.Cluster() != w.node(1).config.Cluster {
			t.Errorf("%s is in cluster %v, want that of the list", h.config.Self.Name, h.engine.Cluster())
		}
	}
}

func TestSeedMayBeOwnAddress(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), by(voteSpec(), bootstraps(addr(1)))).start() // its own address
	w.run(time.Second)
	w.wantLeader(1)

	// Under another name: the driver finds out by a dial. A node that joins only itself bootstraps no cluster.
	e := solo(t, by(voteSpec(), joins("localhost:7400")))
	e.Start(0)
	if e.HandleReached(ms, "localhost:7400", id(1)); !e.Cluster().IsZero() {
		t.Error("its only seed is itself, and it bootstraps a cluster")
	}
	e = solo(t, by(voteSpec(), bootstraps("localhost:7400", addr(2))))
	e.Start(0)
	if e.HandleReached(ms, "elsewhere:1", id(1)); !e.Cluster().IsZero() {
		t.Error("an address that is no seed makes it bootstrap a cluster")
	}
	if e.HandleReached(ms, "localhost:7400", id(1)); !e.Cluster().IsZero() {
		t.Error("it bootstrapped a cluster although another seed may answer")
	}
	if e.HandleDialFailure(ms, Target{Addr: addr(2)}, fd.DialRefused); e.Cluster().IsZero() {
		t.Error("its seeds are itself and an address that refuses, and it bootstraps no cluster")
	}

	// A node that may not bootstrap and has no seed reports this at once.
	c := e.config
	c.Bootstrap, c.Join = false, nil
	if out := New(c).Start(0); out.End == nil || !strings.Contains(out.End.Error(), "set bootstrap, join or members") {
		t.Errorf("without a seed it ends with %v", out.End)
	}
}

func TestTakenNameIsRejected(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	thief := testMember(4)
	thief.Name = "n2"
	h := w.add(thief, by(voteSpec(), joins(addr(1)))).start()
	w.run(time.Second)
	if !strings.Contains(h.rejected, "n2") || !strings.Contains(h.rejected, addr(2)) {
		t.Errorf("rejected %v, want a reason that names the name and its owner", h.rejected)
	}
	w.wantView(1, 2, 3)
	w.wantLeader(1)
}

// The longest reason of a rejection fits in its frame.
func TestLongestRejectionFits(t *testing.T) {
	w := newCluster(t, voteSpec(), 1)
	long := testMember(2)
	long.Name, long.Addr = strings.Repeat(`"`, 64), strings.Repeat("a", 255)
	w.add(long, by(voteSpec(), joins(addr(1)))).start()
	w.run(time.Second)
	w.wantView(1, 2)
	long.ID, long.Addr = id(3), addr(3)
	h := w.add(long, by(voteSpec(), joins(addr(1)))).start()
	w.run(time.Second) // the world encodes each frame
	if !strings.Contains(h.rejected, w.node(2).config.Self.Addr) {
		t.Errorf("rejected %q, want the reason in full", h.rejected)
	}
}

// A name is checked at a restart too.
func TestRestartWithTakenNameEnds(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	three := w.node(3)
	three.crash()
	w.run(time.Second)
	three.config.Self.Name = "n2"
	saves := three.saves
	three.start()
	w.run(time.Second)
	reason := "the name n2 belongs to the member at " + addr(2)
	if three.up || !strings.Contains(three.rejected, reason) || three.saves != saves {
		t.Errorf("rejected %v after %d saves, want a reason that names the name", three.rejected, three.saves-saves)
	}
	three.config.Self.Name = "n9"
	three.start()
	w.run(2 * time.Second)
	w.wantView(1, 2, 3)
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); m.Name != "n9" {
			t.Errorf("%s calls n3 %q", h.config.Self.Name, m.Name)
		}
	}
}

func TestJoinerEntersOneOfTwoClusters(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), by(voteSpec())).start()
	w.add(testMember(2), by(voteSpec())).start()
	w.add(testMember(3), by(voteSpec(), joins(addr(1), addr(2)))).start()
	w.run(5 * time.Second)
	three := w.nodes[2].engine
	if three.View().Len() != 2 {
		t.Errorf("n3 is in a cluster of %d, want in one of the two", three.View().Len())
	}
	if a, b := w.nodes[0].engine.Cluster(), w.nodes[1].engine.Cluster(); a == b {
		t.Errorf("both are cluster %v", a)
	}
}

// A member suspects a node that has died until that node connects again. So a restarted node dials all members, also
// those that its algorithm sends nothing to.
func TestRestartedNodeDialsAllMembers(t *testing.T) {
	w := newCluster(t, bullySpec(), 4)
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

// A refusal at an old address is no evidence about a member that has moved.
func TestRefusalAtOldAddressIsNoEvidence(t *testing.T) {
	w := newCluster(t, bullySpec(), 2)
	one := w.nodes[0]
	w.drop(one, w.nodes[1], true)
	w.run(hop)
	one.perform(one.engine.HandleDialFailure(w.now, Target{ID: id(2), Addr: "elsewhere:1"}, fd.DialRefused))
	w.wantLeader(2)
	out := one.engine.Wake(w.now + detection().MinRedial)
	if want := (Target{ID: id(2), Addr: addr(2)}); !slices.Contains(out.Dial, want) {
		t.Errorf("dials %v, want n2 at its address", out.Dial)
	}
	one.perform(one.engine.HandleDialFailure(w.now, Target{ID: id(2), Addr: addr(2)}, fd.DialRefused))
	if one.leader.ID != id(1) {
		t.Error("a refusal at its address is evidence")
	}
}

// A dial of a member at the address of this node counts as a dial without an answer.
func TestDialOfOwnAddressCountsAsTimeout(t *testing.T) {
	w := newCluster(t, bullySpec(), 2)
	one := w.nodes[0]
	w.drop(one, w.nodes[1], false)
	w.run(hop) // n1 dials n2
	one.perform(one.engine.HandleReached(w.now, addr(2), one.config.Self.ID))
	w.wantLeader(2)
	out := one.engine.Wake(w.now + detection().MinRedial)
	if want := (Target{ID: id(2), Addr: addr(2)}); !slices.Contains(out.Dial, want) {
		t.Errorf("dials %v, want n2 again", out.Dial)
	}
}

func TestLostConfigIsSentAgain(t *testing.T) {
	w := newCluster(t, voteSpec(), 4)
	w.cut[[2]string{"n1", "n2"}] = true
	w.add(testMember(5), by(voteSpec(), joins(addr(1)))).start()
	w.run(50 * ms)
	w.nodes[4].crash() // before n2 has received the config with n5
	clear(w.cut)
	w.run(5 * time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantCommitted()
	w.wantOneLeader()
}
