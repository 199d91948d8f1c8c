package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/membership"
)

// wantCommitted fails unless all live nodes know that their config is committed.
func (w *world) wantCommitted() {
	w.t.Helper()
	for _, h := range w.nodes {
		if h.up && !h.engine.Committed() {
			w.t.Errorf("%v: %s does not know view %v to be confirmed", w.now, h.config.Self.Name, h.engine.View().ConfigID())
		}
	}
}

// updates returns the number of configs sent so far.
func (w *world) updates() int { return w.kinds["config"] }

func TestJoinThroughLeader(t *testing.T) {
	for through := 1; through <= 3; through++ {
		w := newCluster(t, voteSpec(), 3)
		w.wantView(1, 2, 3)
		w.wantLeader(1)
		w.add(testMember(4), by(voteSpec(), joins(addr(9), addr(through)))).start()
		w.run(50 * ms)
		w.wantView(1, 2, 3, 4)
		w.wantCommitted()
		w.run(time.Second)
		w.wantLeader(1)
		if w.rejections() != 0 {
			t.Errorf("through n%d: %d messages were refused", through, w.rejections())
		}
	}
}

// Nodes that join at the same time join one after another, without further delay.
func TestJoinersTakeTurns(t *testing.T) {
	for _, size := range []int{5, 20} {
		w := newWorld(t)
		all := w.startCluster(voteSpec(), size)
		w.run(2 * time.Second)
		w.wantView(all...)
		w.wantCommitted()
		w.wantLeader(1)
		t.Logf("N=%d: %v", size, w.kinds)
		// For each of N joins, each member receives a config and its commit.
		if got := w.updates(); got > 4*size*size || got < size {
			t.Errorf("N=%d: %d configs sent, want at most 4·N²", size, got)
		}
	}
}

// A committed config is not sent again, also in an election: members compare digests.
func TestCommittedConfigIsNotSentAgain(t *testing.T) {
	w := newCluster(t, voteSpec(), 5)
	w.node(3).perform(w.node(3).engine.Campaign(w.now)) // so that all have met
	w.run(time.Second)
	before := w.updates()
	if before == 0 {
		t.Error("no config is counted")
	}
	w.run(time.Minute)
	w.node(2).perform(w.node(2).engine.Campaign(w.now))
	w.run(time.Second)
	w.node(1).crash()
	w.run(time.Second)
	if got := w.updates() - before; got != 0 {
		t.Errorf("%d configs were sent in a minute and two elections, want none", got)
	}
	w.node(1).start()
	w.run(time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantCommitted()
}

func TestRemove(t *testing.T) {
	for at := 1; at <= 3; at++ {
		t.Run(fmt.Sprintf("at n%d", at), func(t *testing.T) {
			w := newCluster(t, voteSpec(), 4)
			w.node(4).crash()
			w.run(time.Second)
			if err := w.remove(at, 4); err != nil {
				t.Fatal(err)
			}
			w.run(100 * ms)
			w.wantView(1, 2, 3)
			w.wantCommitted()
			if got := w.node(1).engine.View().Len(); got != 3 {
				t.Errorf("N=%d, want 3: a removed node does not count", got)
			}
			w.node(4).start()
			w.run(time.Second)
			if !w.node(4).removed {
				t.Error("n4 was not told at its return")
			}
			w.wantView(1, 2, 3)
		})
	}
	t.Run("alive", func(t *testing.T) {
		w := newCluster(t, voteSpec(), 4)
		for _, op := range [][2]int{{1, 4}, {2, 1}} { // n1 is the leader
			at, i := op[0], op[1]
			if err := w.remove(at, i); err != nil {
				t.Fatal(err)
			}
			w.run(2 * time.Second)
			w.node(i).wantEnd(membership.ErrRemoved)
		}
		w.wantView(2, 3)
		w.wantCommitted()
		w.run(2 * time.Second)
		w.wantOneLeader()
	})
	t.Run("cannot be", func(t *testing.T) {
		w := newCluster(t, voteSpec(), 1)
		if err := w.remove(1, 1); !errors.Is(err, membership.ErrLastMember) {
			t.Errorf("the last: %v", err)
		}
		if err := w.remove(1, 7); !errors.Is(err, membership.ErrNoMember) {
			t.Errorf("a non-member: %v", err)
		}
		w.run(time.Second)
		w.wantView(1)
		w.wantLeader(1)
	})
	t.Run("without a quorum", func(t *testing.T) {
		w := newCluster(t, bullySpec(), 3)
		if err := w.remove(1, 2); !errors.Is(err, membership.ErrNoQuorum) {
			t.Errorf("a member of a list: %v", err)
		}
		w.node(1).perform(w.node(1).engine.CancelRemove(w.now, id(2)))
		w.run(time.Second)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
	})
}

// A node that leaves stops once it is removed. A leader resigns first, so that another node leads at once.
func TestLeave(t *testing.T) {
	for i := 1; i <= 3; i++ {
		t.Run(fmt.Sprintf("n%d", i), func(t *testing.T) {
			w := newCluster(t, voteSpec(), 3)
			h := w.node(i)
			if err := w.remove(i, i); err != nil {
				t.Fatal(err)
			}
			w.run(2 * time.Second)
			h.wantEnd(membership.ErrLeft)
			w.wantView(slices.DeleteFunc([]int{1, 2, 3}, func(o int) bool { return o == i })...)
			w.wantCommitted()
			w.run(time.Second)
			w.wantOneLeader()
			h.start()
			w.run(time.Second)
			if !h.removed || h.up {
				t.Error("it has forgotten that at its next start")
			}
		})
	}
}

// A node that leaves without reaching a leader does not stop. If the request is cancelled, it stays a member.
func TestLeaveIsCancelled(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	w.cutOff(3)
	w.run(3 * time.Second)
	three := w.node(3)
	if err := w.remove(3, 3); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	if !three.up {
		t.Error("it left, and no other node knows it")
	}
	three.perform(three.engine.CancelRemove(w.now, id(3)))
	clear(w.cut)
	w.run(5 * time.Second)
	w.wantView(1, 2, 3)
	w.wantCommitted()
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); !m.Eligible {
			t.Errorf("%s takes n3 for one that may not lead", h.config.Self.Name)
		}
	}
}

// Only a leader can remove members, so an eligible member must remain.
func TestOnlyEligibleMemberStays(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), by(voteSpec())).start()
	for i := 2; i <= 3; i++ {
		m := testMember(i)
		m.Eligible = false
		w.add(m, by(voteSpec(), joins(addr(1)))).start()
	}
	w.run(2 * time.Second)
	for at := 1; at <= 3; at++ {
		if err := w.remove(at, 1); !errors.Is(err, membership.ErrNoEligibleMember) {
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

// A witness cannot bootstrap a cluster: no node could lead it, so no other node could join.
func TestWitnessDoesNotBootstrap(t *testing.T) {
	witness := func(c *Config) { c.Self.Eligible = false }
	for name, start := range map[string]func() (*Engine, *Output){
		"no seed": func() (*Engine, *Output) {
			e := solo(t, by(voteSpec(), witness))
			return e, e.Start(0)
		},
		"no seed but itself": func() (*Engine, *Output) {
			e := solo(t, by(voteSpec(), witness, bootstraps("localhost:7400")))
			e.Start(0)
			return e, e.HandleReached(0, "localhost:7400", id(1))
		},
	} {
		if e, out := start(); out.End == nil || !strings.Contains(out.End.Error(), "witness") || len(out.Save) != 0 || !e.Cluster().IsZero() {
			t.Errorf("%s: rejected %v, saved %v", name, out.End, out.Save)
		}
	}
	// Other nodes of a list may lead, and others may have joined a cluster since its bootstrap.
	if out := solo(t, by(voteSpec(), witness, listed(3))).Start(0); out.End != nil {
		t.Errorf("rejected %v, as one of a set", out.End)
	}
	if out := solo(t, by(voteSpec(), witness), committed(5)).Start(0); out.End != nil {
		t.Errorf("rejected %v, as a member", out.End)
	}
}

// The leader writes changed attributes, those of a follower and its own.
func TestAttributesChangeThroughLeader(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	three := w.node(3)
	three.perform(three.engine.SetPriority(w.now, 5))
	w.run(20 * ms)
	w.wantView(1, 2, 3)
	w.wantCommitted()
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); m.Priority != 5 {
			t.Errorf("%s knows n3 with priority %d, want 5", h.config.Self.Name, m.Priority)
		}
	}
	w.wantLeader(1)

	one := w.node(1)
	one.perform(one.engine.Resign(w.now, time.Second))
	w.run(500 * ms)
	w.wantLeader(3) // of equal claims, the one with the higher priority wins
	w.wantCommitted()
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
	w.wantCommitted()
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(2)); m.Addr != addr(20) {
			t.Errorf("%s knows n2 at %s", h.config.Self.Name, m.Addr)
		}
	}
}

// A node that restarts with other attributes writes no config: the leader does. Otherwise, two configs could have one
// config ID, and members could not order them.
func TestAttributesOfRestart(t *testing.T) {
	for cluster := range 8 { // with different digests
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
			t.Errorf("cluster %d: it starts with a config that it has not saved", cluster)
		}
		w.run(10 * time.Second)
		w.wantLeader(1) // no other node is eligible
		w.wantView(1, 2, 3)
		one.crash()
		w.run(time.Second)
		one.config.Self.Eligible = true
		one.start()
		w.run(3 * time.Second)
		w.wantLeader(1)
		w.wantCommitted()
		if m, _ := w.node(2).engine.View().Member(id(1)); m.Priority != 7 {
			t.Errorf("cluster %d: n2 knows n1 with priority %d, want 7", cluster, m.Priority)
		}
	}
}

// Without a quorum the config does not change. Pending changes are made once there is a quorum.
func TestConfigStaysWithoutQuorum(t *testing.T) {
	w := newCluster(t, voteSpec(), 2)
	w.node(2).crash()
	w.run(3 * time.Second)
	if err := w.remove(1, 2); err != nil {
		t.Fatal(err)
	}
	w.node(1).perform(w.node(1).engine.SetPriority(w.now, 3))
	w.run(time.Minute)
	w.wantView(1, 2)
	if !w.node(1).leader.IsVacant() {
		t.Errorf("one of two leads: %v", w.node(1).leader)
	}
	if m, _ := w.node(1).engine.View().Member(id(1)); m.Priority != 0 {
		t.Error("it changed its priority alone")
	}
	w.node(1).perform(w.node(1).engine.CancelRemove(w.now, id(2)))
	w.node(2).start()
	w.run(3 * time.Second)
	w.wantView(1, 2)
	w.wantCommitted()
	if m, _ := w.node(2).engine.View().Member(id(1)); m.Priority != 3 {
		t.Error("n2 has not heard of the priority")
	}
}

// The leader makes no change that would leave it without a quorum: of three members with one dead, the other live one
// stays. The dead one may be removed.
func TestLeaderKeepsQuorum(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
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
	w.wantCommitted()
	w.wantLeader(1)

	// Two of five members are dead. A third one stays, a dead one may be removed.
	w = newWorld(t)
	for i := 1; i <= 5; i++ {
		w.add(testMember(i), by(voteSpec(), listed(5))).start()
	}
	w.run(3 * time.Second)
	w.wantLeader(1)
	w.node(4).crash()
	w.node(5).crash()
	w.run(3 * time.Second)
	if err := w.remove(1, 3); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantLeader(1)
	w.node(1).perform(w.node(1).engine.CancelRemove(w.now, id(3)))
	if err := w.remove(1, 5); err != nil {
		t.Fatal(err)
	}
	w.run(3 * time.Second)
	w.wantView(1, 2, 3, 4)
	w.wantCommitted()
	w.wantLeader(1)
}

// led returns the names of the nodes that have led, by epoch.
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

// n1 leads n1 to n4, is cut off and removes n4. The others elect n2, which removes n3. Then n3 is cut off from n2, and
// connected to n1. {1, 3} is a quorum of n1's config, {2, 4} one of n2's, and they are disjoint. The two cannot both be
// elected in one round, because n2 may remove no member before a quorum of all four holds a config with its term.
func TestDisjointQuorums(t *testing.T) {
	w := newWorld(t)
	for i := 1; i <= 4; i++ {
		w.add(testMember(i), by(voteSpec(), listed(4))).start()
	}
	w.run(3 * time.Second)
	w.wantLeader(1)
	w.wantCommitted()
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
	w.wantView(1, 2) // in the end both removals are done
	w.wantCommitted()
}

// An Ack counts once for each member, and only for the current config. A member that has taken part in a later epoch
// sends none.
func TestAcksThatCount(t *testing.T) {
	w := newCluster(t, voteSpec(), 5)
	e := w.node(1).engine
	w.cutOff(1)
	w.node(1).perform(e.SetPriority(w.now, 1))
	written := e.dynamic.Config().ID
	older, earlier := written, written
	older.Version--
	earlier.Term--
	ack := func(from int, config membership.ConfigID) {
		w.node(1).perform(e.Receive(w.now, id(from), membership.Ack{Config: config}))
	}
	ack(2, written)
	ack(2, written)
	ack(3, older)
	ack(4, earlier)
	ack(9, written)
	if e.Committed() {
		t.Error("committed by two of five")
	}
	ack(5, written)
	if !e.Committed() {
		t.Error("not committed, and three of five hold it")
	}

	follower := w.node(3).engine
	next := follower.dynamic.Config() // as if the leader had written another
	next.ID = written
	receive := func() (acks int) {
		for _, s := range follower.Receive(w.now, id(1), membership.Update{Config: next}).Send {
			if s.To == id(1) && s.Message == algo.Message(membership.Ack{Config: next.ID}) {
				acks++
			}
		}
		return acks
	}
	for _, what := range []string{"it does not acknowledge a config", "it acknowledges it only once"} {
		if receive() != 1 {
			t.Error(what)
		}
	}
	w.node(3).perform(follower.Campaign(w.now)) // a later epoch
	if receive() != 0 {
		t.Error("it acknowledges a config of an epoch that is over for it")
	}
	next.ID.Version++
	if receive() != 0 || follower.dynamic.Config().ID != next.ID {
		t.Error("it does not adopt a newer config of that epoch, or acknowledges it")
	}
}

// A leader that has taken part in a later epoch writes no config, even if it knows no other leader. It may have helped
// to elect one.
func TestLeaderInLaterEpochWritesNothing(t *testing.T) {
	request := func(e *Engine) algo.Message {
		changed := membership.MemberOf(testMember(2))
		changed.Priority = 7
		return membership.Self{Member: changed, Holds: e.dynamic.Config().ID}
	}
	w := newCluster(t, voteSpec(), 3)
	e := w.node(1).engine
	before, led := e.dynamic.Config(), e.machine.Leader()
	taken := func() algo.Epoch { return e.machine.HardState().Epoch }
	for _, s := range w.node(3).engine.Campaign(w.now).Send {
		if s.To == id(1) {
			e.Receive(w.now, id(3), s.Message)
		}
	}
	if l, _ := e.Leader(); l != led || taken() <= l.Epoch {
		t.Fatalf("n1 follows %v in epoch %d: the test shows nothing", l, taken())
	}
	e.Receive(w.now, id(2), request(e))
	if got := e.dynamic.Config(); got.ID != before.ID {
		t.Errorf("the leader of epoch %d, in epoch %d, has written config %v", led.Epoch, taken(), got.ID)
	}
	// In its own epoch it writes one.
	e = newCluster(t, voteSpec(), 3).node(1).engine
	e.Receive(w.now, id(2), request(e))
	if got, _ := e.dynamic.Config().Find(id(2)); got.Priority != 7 {
		t.Error("the leader does not change the members in its own epoch: the test shows nothing")
	}
}

// A new leader completes a change of the previous leader that it has received. A change that it
// has not received is lost.
func TestNewLeaderResolvesUnfinishedChange(t *testing.T) {
	for name, reached := range map[string]bool{"it reached the next leader": true, "it reached no member": false} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(t, voteSpec(), 4)
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
			w.wantCommitted()
		})
	}
}

// A node that an uncommitted config leaves out stays a member. A committed config ends it.
func TestUncommittedRemovalIsNoEnd(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	e := w.node(3).engine
	before := e.dynamic.Config().ID
	next := w.node(1).engine.dynamic.Config()
	next.ID.Version++
	next.Members = next.Members[:2]
	for _, from := range []int{1, 2} {
		out := e.Receive(w.now, id(from), membership.Update{Config: next})
		if out.End != nil || !e.View().Contains(id(3)) || e.dynamic.Config().ID != before || len(out.Save) != 0 {
			t.Errorf("n%d sends an uncommitted config without n3: it ends with %v and holds %v", from, out.End, e.dynamic.Config().ID)
		}
	}
	out := e.Receive(w.now, id(2), membership.Update{Config: next, Committed: true})
	if !errors.Is(out.End, membership.ErrRemoved) || len(out.Save) == 0 {
		t.Errorf("a committed config without n3: it ends with %v and saves %v", out.End, out.Save)
	}
}

// A list bootstraps one cluster once its first node is back. Later nodes join that cluster.
func TestFirstOfListIsDownWhenLastStarts(t *testing.T) {
	w := newWorld(t)
	for i := 1; i <= 4; i++ {
		w.add(testMember(i), by(voteSpec(), listed(5))).start()
	}
	w.run(3 * time.Second)
	w.node(1).crash()
	w.add(testMember(5), by(voteSpec(), listed(5))).start()
	w.run(3 * time.Second)
	for _, h := range w.nodes {
		if !h.engine.Cluster().IsZero() {
			t.Errorf("%s is in a cluster without the first node of its list", h.config.Self.Name)
		}
	}
	w.node(1).start()
	w.run(3 * time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantCommitted()
	w.wantLeader(1)
	w.add(testMember(6), by(voteSpec(), joins(addr(2)))).start()
	w.run(time.Second)
	w.wantView(1, 2, 3, 4, 5, 6)
	w.wantCommitted()
	w.wantLeader(1)
	if got := w.node(1).engine.View().Len(); got != 6 {
		t.Errorf("N=%d, want 6", got)
	}
}

// A learner holds the config, but no node adds it while there is no quorum.
func TestLearnerWithoutLeaderWaits(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	w.node(2).crash()
	w.node(3).crash()
	w.run(3 * time.Second)
	four := w.add(testMember(4), by(voteSpec(), joins(addr(1)))).start()
	w.run(5 * time.Second)
	if _, running := four.engine.Leader(); running {
		t.Error("n4 runs without a quorum of the members")
	}
	w.wantView(1, 2, 3)
	if four.engine.Cluster() != w.node(1).engine.Cluster() {
		t.Errorf("n4 waits to join cluster %v, want that of n1", four.engine.Cluster())
	}
	w.node(2).start()
	w.run(4 * time.Second)
	w.wantView(1, 2, 3, 4)
	w.wantCommitted()
	leader := w.node(1).leader.ID
	w.wantLeader(int(leader[15]))
	if leader.IsZero() {
		t.Error("three of four follow no leader")
	}
}

// A node rejects a malformed config or one of another cluster, which changes nothing. A leader rejects a request of a
// non-member or about another node, and a follower carries out no request.
func TestMalformedConfigIsRejected(t *testing.T) {
	for name, change := range map[string]func(c *membership.Config){
		"no cluster":            func(c *membership.Config) { c.Cluster = algo.NodeID{} },
		"another cluster":       func(c *membership.Config) { c.Cluster = id(5) },
		"no version":            func(c *membership.Config) { c.ID.Version = 0 },
		"the last term":         func(c *membership.Config) { c.ID.Term = 1<<64 - 1 },
		"the last term but one": func(c *membership.Config) { c.ID.Term = 1<<64 - 2 },
		"the last version":      func(c *membership.Config) { c.ID.Version = 1<<64 - 1 },
		"no members":            func(c *membership.Config) { c.Members = nil },
		"members not sorted":    func(c *membership.Config) { slices.Reverse(c.Members) },
		"a member twice":        func(c *membership.Config) { c.Members[1] = c.Members[0] },
		"a member without name": func(c *membership.Config) { c.Members[1].Name = "" },
		"a name for the log":    func(c *membership.Config) { c.Members[1].Name = "n2\nlevel=ERROR" },
	} {
		w := newCluster(t, voteSpec(), 3)
		e := w.node(3).engine
		digest, stable := e.Digest(), e.machine.HardState()
		c := w.node(2).engine.dynamic.Config()
		c.ID.Term, c.ID.Version = c.ID.Term+1, c.ID.Version+1 // without the change it would be adopted
		c.Members = slices.Clone(c.Members)
		change(&c)
		for time := range 3 { // also when it is repeated
			out := e.Receive(w.now, id(2), membership.Update{Config: c, Committed: true})
			if len(out.Rejections) != 1 || out.Rejections[0].Peer != id(2) || len(out.Save) != 0 || out.End != nil || e.Counters()["rejected"] != uint64(time+1) {
				t.Errorf("%s: refused %v, counted %d, saved %v, ends with %v", name, out.Rejections, e.Counters()["rejected"], out.Save, out.End)
			}
		}
		if e.Digest() != digest || e.machine.HardState() != stable {
			t.Errorf("%s: it changed something", name)
		}
	}
	w := newCluster(t, voteSpec(), 3)
	leader, held := w.node(1).engine, w.node(1).engine.dynamic.Config()
	foreign := membership.RemoveRequest{ID: id(3)}
	for from, m := range map[int]algo.Message{9: foreign, 2: membership.Self{Member: membership.MemberOf(testMember(3)), Holds: held.ID}} {
		if out := leader.Receive(w.now, id(from), m); len(out.Rejections) != 1 || leader.dynamic.Config().ID != held.ID {
			t.Errorf("%+v from n%d: refused %+v", m, from, out.Rejections)
		}
	}
	two := w.node(2).engine
	changed := membership.MemberOf(testMember(3))
	changed.Priority = 7
	for _, m := range []algo.Message{membership.RemoveRequest{ID: id(1)}, membership.Self{Member: changed, Holds: held.ID}} {
		if two.Receive(w.now, id(3), m); two.dynamic.Config().ID != held.ID {
			t.Errorf("a follower carries out %+v", m)
		}
	}
}

// With RemoveSuspectedAfter, the leader removes a member that it has suspected for that time. It needs a quorum, and
// three members remain.
func TestRemoveSuspectedAfter(t *testing.T) {
	const after = 5 * time.Second // time from the suspicion to the removal
	forgets := func(c *Config) { c.RemoveSuspectedAfter = after }
	cluster := func(t *testing.T, size int) *world {
		w := newWorld(t)
		for i := 1; i <= size; i++ {
			w.add(testMember(i), by(voteSpec(), listed(size), forgets)).start()
		}
		w.run(5 * time.Second)
		w.wantLeader(1)
		return w
	}
	t.Run("a crashed member", func(t *testing.T) {
		w := cluster(t, 5)
		w.node(2).crash() // no node monitors it
		w.run(after - time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.run(2 * time.Second)
		w.wantView(1, 3, 4, 5)
		w.node(2).start()
		w.run(time.Second)
		if !w.node(2).removed {
			t.Error("n2 is back and does not know that it was removed")
		}
	})
	t.Run("a member that hangs", func(t *testing.T) {
		w := cluster(t, 5)
		w.node(2).paused = true // its connections stay open
		w.run(after + 2*time.Second)
		if got := w.node(1).engine.View().Len(); got != 4 {
			t.Errorf("the leader knows %d members, want 4", got)
		}
	})
	t.Run("a member that restarts in time", func(t *testing.T) {
		w := cluster(t, 5)
		for range 3 {
			w.node(2).crash()
			w.run(after - time.Second)
			w.node(2).start()
			w.run(2 * time.Second)
		}
		w.wantView(1, 2, 3, 4, 5)
	})
	t.Run("the old leader", func(t *testing.T) {
		w := cluster(t, 5)
		w.node(1).crash()
		w.run(after + 2*time.Second)
		w.wantView(2, 3, 4, 5)
		next := w.wantOneLeader()
		w.find(next.ID).crash() // the next leader continues
		w.run(after + 2*time.Second)
		if w.wantOneLeader(); w.node(5).engine.View().Len() != 3 {
			t.Errorf("n5 knows %v", w.node(5).engine.View())
		}
	})
	t.Run("not by the smaller side", func(t *testing.T) {
		w := cluster(t, 5)
		for _, a := range []string{"n4", "n5"} {
			for _, b := range []string{"n1", "n2", "n3"} {
				w.cut[[2]string{a, b}] = true
			}
		}
		w.run(after - time.Second)
		w.node(1).crash() // no node reaches a quorum now
		w.run(4 * after)
		clear(w.cut)
		w.node(1).start()
		w.run(5 * time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.wantOneLeader()
	})
	t.Run("not by half of them", func(t *testing.T) {
		w := cluster(t, 4)
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
		w.wantOneLeader()
	})
	t.Run("not for the time without a majority", func(t *testing.T) {
		w := cluster(t, 5)
		w.node(5).crash()
		w.run(after - time.Second)
		w.node(3).crash()
		w.node(4).crash()
		w.run(4 * after)
		w.node(3).start()
		w.node(4).start()
		w.run(after - time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.run(3 * time.Second)
		w.wantView(1, 2, 3, 4)
	})
	t.Run("by the leader alone", func(t *testing.T) {
		w := cluster(t, 5)
		w.cut[[2]string{"n2", "n3"}] = true
		w.run(4 * after)
		w.wantView(1, 2, 3, 4, 5)
	})
	t.Run("by the larger side", func(t *testing.T) {
		w := cluster(t, 5)
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
			t.Error("the removed nodes run on")
		}
	})
	t.Run("down to three", func(t *testing.T) {
		w := cluster(t, 5)
		w.node(5).crash()
		w.run(after - time.Second)
		w.wantView(1, 2, 3, 4, 5)
		w.run(3 * time.Second)
		w.wantView(1, 2, 3, 4)
		w.wantCommitted()
		w.node(1).crash() // the next leader removes n1
		w.run(2 * after)
		w.wantView(2, 3, 4)
		w.wantCommitted()
		w.node(4).crash()
		w.run(4 * after)
		w.wantView(2, 3, 4)
		w.wantCommitted()
		if l := w.node(2).leader; l.IsVacant() || l != w.node(3).leader {
			t.Errorf("n2 follows %v, n3 %v", l, w.node(3).leader)
		}
		w.node(5).start()
		w.run(time.Second)
		if end := w.node(5).out[len(w.node(5).out)-1].End; !errors.Is(end, membership.ErrExpired) {
			t.Errorf("n5 ends with %v", end)
		}
		w.wantView(2, 3, 4)
	})
	t.Run("the algorithm hears of it", func(t *testing.T) {
		// The leader's detector monitors n2 for the engine alone. When the algorithm also
		// monitors n2, it receives the current suspicion.
		e, p := probed(t, func(env algo.Env, what string) {
			if what == "campaign" {
				env.Monitor(id(2))
			}
		})
		e.monitorSet = []algo.NodeID{id(2)}
		e.detector.Monitor(0, e.monitorSet)
		e.detector.HandleGoodbye(0, id(2))
		e.detector.TakeOutput()
		p.said = nil
		e.startCall(ms)
		e.stepAlgorithm(ms, driver.Event{Kind: driver.EventCampaign})
		e.deliverSuspicions(ms)
		p.want(t, "n2 is dead already", "campaign", "suspect n2")
	})
}
