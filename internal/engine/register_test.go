package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
)

// memberFrames returns the number of frames of the register sent so far.
func (w *world) memberFrames() (sum int) {
	for _, m := range membership.Messages() {
		sum += w.kinds[m.Kind()]
	}
	return sum
}

// wantQuiet fails if a frame of the register is sent within a minute.
func (w *world) wantQuiet() {
	w.t.Helper()
	before := w.memberFrames()
	w.run(time.Minute)
	if got := w.memberFrames() - before; got != 0 {
		w.t.Errorf("%v: %d frames of the membership in a minute of rest: %v", w.now, got, w.kinds)
	}
}

// wantOneLeader fails unless all live nodes follow one member, in one epoch.
func (w *world) wantOneLeader() (leader algo.Leader) {
	w.t.Helper()
	for _, h := range w.nodes {
		switch {
		case !h.up:
		case leader.IsVacant():
			leader = h.leader
		case h.leader != leader:
			w.t.Errorf("%v: %s follows %v, another node %v", w.now, h.config.Self.Name, h.leader, leader)
		}
	}
	if leader.IsVacant() || w.find(leader.ID) == nil {
		w.t.Errorf("%v: the leader is %v, which does not run", w.now, leader)
	}
	return leader
}

// wantEnd fails unless a node has stopped for a reason.
func (h *host) wantEnd(reason error) {
	h.w.t.Helper()
	if end := h.out[len(h.out)-1].End; h.up || !errors.Is(end, reason) {
		h.w.t.Errorf("%v: %s runs: %v, and ends with %v, want %v", h.w.now, h.config.Self.Name, h.up, end, reason)
	}
}

// A list of five bootstraps one cluster. Before the last of them has started, no algorithm starts and no node saves a
// record.
func TestListBootstrapsWhenAllHaveStarted(t *testing.T) {
	for last := 1; last <= 5; last++ {
		t.Run(fmt.Sprintf("the last is n%d", last), func(t *testing.T) {
			w := newWorld(t)
			for i := 1; i <= 5; i++ {
				w.add(testMember(i), by(voteSpec(), listed(5)))
			}
			for i, h := range w.nodes {
				if i+1 != last {
					h.start()
					w.run(300 * ms)
				}
			}
			w.run(10 * time.Second)
			for _, h := range w.nodes {
				if h.engine == nil {
					continue
				}
				if _, running := h.engine.Leader(); running || h.saves != 0 || !h.engine.Cluster().IsZero() {
					t.Errorf("%s: running %v, %d saves, cluster %v, before the last has started", h.config.Self.Name, running, h.saves, h.engine.Cluster())
				}
			}
			w.node(last).start()
			w.run(3 * time.Second)
			w.wantView(1, 2, 3, 4, 5)
			w.wantCommitted()
			w.wantOneLeader()
			w.wantQuiet()
			for _, h := range w.nodes {
				if got, want := h.engine.dynamic.Config(), w.node(1).engine.dynamic.Config(); got.ID != want.ID || got.Cluster != w.node(1).config.Cluster {
					t.Errorf("%s holds config %v of cluster %v", h.config.Self.Name, got.ID, got.Cluster)
				}
			}
			for epoch, names := range w.led() {
				if len(names) > 1 {
					t.Errorf("%d nodes have led in epoch %d", len(names), epoch)
				}
			}
		})
	}
}

// If all nodes of a list start at once, the bootstrap costs at most 5·N² frames of the membership.
func TestBootstrapCost(t *testing.T) {
	for _, size := range []int{5, 10, 20} {
		w := newWorld(t)
		var all []int
		for i := 1; i <= size; i++ {
			w.add(testMember(i), by(voteSpec(), listed(size))).start()
			all = append(all, i)
		}
		w.run(3 * time.Second)
		w.wantView(all...)
		w.wantCommitted()
		w.wantOneLeader()
		t.Logf("N=%d: %v", size, w.kinds)
		if got := w.memberFrames(); got > 5*size*size {
			t.Errorf("N=%d: %d frames of the membership, want at most 5·N²", size, got)
		}
	}
}

// A node that was removed while it was down stops when it restarts. After that, the membership sends nothing.
func TestNodeRemovedWhileDown(t *testing.T) {
	for _, i := range []int{1, 4} { // the leader, and a follower
		w := newCluster(t, voteSpec(), 4)
		w.wantLeader(1)
		w.node(i).crash()
		w.run(3 * time.Second)
		if err := w.remove(2, i); err != nil {
			t.Fatal(err)
		}
		w.run(time.Second)
		others := slices.DeleteFunc([]int{1, 2, 3, 4}, func(o int) bool { return o == i })
		w.wantView(others...)
		w.wantCommitted()
		leader := w.wantOneLeader()
		for range 2 { // it stops at each start
			w.node(i).start()
			w.run(time.Second)
			w.node(i).wantEnd(membership.ErrRemoved)
		}
		w.wantView(others...)
		w.wantCommitted()
		w.wantQuiet()
		if again := w.wantOneLeader(); again != leader {
			t.Errorf("n%d was back, and %v leads after %v", i, again, leader)
		}
	}
}

// A node that missed several changes adopts the newest config from a peer that is in none of its configs.
func TestMissedChangesComeFromUnknownPeer(t *testing.T) {
	w := newCluster(t, voteSpec(), 5)
	w.wantLeader(1)
	five := w.node(5)
	five.crash()
	w.run(time.Second)
	for i := 6; i <= 8; i++ {
		w.add(testMember(i), by(voteSpec(), joins(addr(2)))).start()
		w.run(time.Second)
	}
	if err := w.remove(2, 3); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	w.wantView(1, 2, 4, 5, 6, 7, 8)
	w.cutOff(5, 7)
	five.start()
	w.run(time.Second)
	seven := w.node(7)
	if five.engine.View().Contains(id(7)) || five.engine.View().Len() != 5 {
		t.Fatalf("n5 knows the members %v: the test shows nothing", five.engine.View())
	}
	before := w.updates()
	w.connect(seven, five, addr(5)) // as if n7 had dialed it
	w.run(4 * hop)
	if got, want := five.engine.dynamic.Config(), seven.engine.dynamic.Config(); got.ID != want.ID || five.engine.Digest() != seven.engine.Digest() {
		t.Errorf("n5 holds config %v, n7 %v", got.ID, want.ID)
	}
	if got := w.updates() - before; got > 2 { // each sends its own once
		t.Errorf("%d configs were sent for five changes, want at most 2", got)
	}
	clear(w.cut)
	w.run(5 * time.Second)
	w.wantView(1, 2, 4, 5, 6, 7, 8)
	w.wantCommitted()
	w.wantOneLeader()
}

// A message of a non-member does not reach the algorithm. A heartbeat or subscription that shows another digest is
// answered with the config, once per retry.
func TestPeerThatIsNoMemberReceivesConfig(t *testing.T) {
	digest := uint64(0) // digest of the config of this node
	for name, test := range map[string]struct {
		message func() algo.Message
		configs []int // configs sent for the first message, for one right after it, and for one after a retry
	}{
		"an election":                  {func() algo.Message { return bullySpec().Messages[0] }, []int{0, 0, 0}},
		"a goodbye":                    {func() algo.Message { return Goodbye{} }, []int{0, 0, 0}},
		"a probe":                      {func() algo.Message { return fd.Probe{Peer: id(2)} }, []int{0, 0, 0}},
		"a heartbeat with its digest":  {func() algo.Message { return fd.Heartbeat{Digest: digest} }, []int{0, 0, 0}},
		"a watch with its digest":      {func() algo.Message { return fd.Subscribe{Digest: digest} }, []int{0, 0, 0}},
		"a heartbeat with another one": {func() algo.Message { return fd.Heartbeat{Digest: digest + 1} }, []int{1, 0, 1}},
		"a watch with another one": {func() algo.Message {
			return fd.Subscribe{Digest: digest + 1, Interval: interval, TTL: timeout}
		}, []int{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &probe{}
			e := solo(t, func(c *Config) {
				c.Spec = p.spec()
				c.Spec.Claims.NeedsQuorum = true
			}, committed(3))
			e.Start(0)
			p.want(t, "its start", "start 0")
			held := e.dynamic.Config()
			digest = e.Digest()
			e.Up(0, Peer{ID: id(9), Name: testMember(9).Name, Incarnation: 7, Digest: digest, Addr: addr(9)})
			for i, now := range []time.Duration{0, ms, ms + e.config.Timing.AnnounceInterval()} {
				m := test.message()
				out := e.Receive(now, id(9), m)
				for _, s := range out.Send {
					if u, _ := s.Message.(membership.Update); s.To != id(9) || u.Config.ID != held.ID || !u.Committed {
						t.Errorf("%v: it sends %+v to %v", now, s.Message, s.To)
					}
				}
				if len(out.Send) != test.configs[i] {
					t.Errorf("%v: it sends %d configs, want %d", now, len(out.Send), test.configs[i])
				}
				if len(out.Save)+len(out.Leaders)+len(out.Rejections)+len(out.Elections) > 0 || out.ViewChanged || out.End != nil || e.Digest() != digest {
					t.Errorf("%v: it changes something: %+v", now, out)
				}
			}
			p.want(t, "what a peer says that is no member")
		})
	}
}

// A node that loses its data directory restarts with a new ID. It replaces its predecessor when that is suspected.
func TestEmptiedNodeReplacesItself(t *testing.T) {
	for name, test := range map[string]struct {
		lost     int
		settings func(i int) func(*Config)
	}{
		"a follower that joined": {3, func(i int) func(*Config) { return joins(map[bool][]string{false: {addr(1), addr(2)}}[i == 1]...) }},
		"a follower of a list":   {2, func(int) func(*Config) { return listed(3) }},
		"the first of a list":    {1, func(int) func(*Config) { return listed(3) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := 1; i <= 3; i++ {
				w.add(testMember(i), by(voteSpec(), test.settings(i))).start()
			}
			w.run(3 * time.Second)
			w.wantLeader(1)
			others := slices.DeleteFunc([]int{1, 2, 3}, func(i int) bool { return i == test.lost })
			old := w.node(test.lost)
			for life := 1; life <= 3; life++ {
				previous := w.nodes[len(w.nodes)-1]
				if life == 1 {
					previous = old
				}
				previous.crash()
				w.run(time.Second)
				again := testMember(test.lost)
				again.ID = id(70 + life)
				h := w.add(again, by(voteSpec(), test.settings(test.lost))).start()
				w.run(3 * time.Second)
				if !h.up {
					t.Fatalf("life %d has stopped: %q", life, h.rejected)
				}
				w.wantView(append(slices.Clone(others), 70+life)...)
				w.wantCommitted()
				w.wantOneLeader()
				w.wantQuiet()
				h.crash()
				previous.start() // with its saved state
				w.run(3 * time.Second)
				previous.wantEnd(membership.ErrExpired)
				w.wantView(append(slices.Clone(others), 70+life)...)
				h.start()
				w.run(3 * time.Second)
				w.wantView(append(slices.Clone(others), 70+life)...)
				w.wantOneLeader()
			}
		})
	}
}

// A node with the name and the address of a live member does not replace it.
func TestLiveMemberIsNotReplaced(t *testing.T) {
	for lives := 1; lives <= 3; lives++ { // the leader, and followers
		w := newCluster(t, voteSpec(), 3)
		leader := w.wantOneLeader()
		twin := testMember(lives)
		twin.ID = id(77)
		h := w.add(twin, by(voteSpec(), joins(addr(1), addr(2), addr(3)))).start()
		w.run(20 * time.Second)
		if _, running := h.engine.Leader(); running || h.engine.View().Contains(id(77)) {
			t.Errorf("the twin of n%d is a member", lives)
		}
		h.crash()
		w.run(time.Second)
		w.wantView(1, 2, 3)
		w.wantCommitted()
		if again := w.wantOneLeader(); again != leader {
			t.Errorf("a twin of n%d was there, and %v leads after %v", lives, again, leader)
		}
	}
}

// A priority is in the committed config of all nodes. A resignation is in no config, and still reaches all nodes, also
// those that join later.
func TestPriorityAndResignationReachAll(t *testing.T) {
	w := newCluster(t, voteSpec(), 4)
	w.wantLeader(1)
	for _, i := range []int{1, 3} { // the leader, and a follower
		before := w.node(i).engine.dynamic.Config().ID
		w.node(i).perform(w.node(i).engine.SetPriority(w.now, 10+i))
		w.run(time.Second)
		w.wantView(1, 2, 3, 4)
		w.wantCommitted()
		for _, h := range w.nodes {
			c := h.engine.dynamic.Config()
			if e, _ := c.Find(id(i)); e.Priority != 10+i || c.ID.Compare(before) <= 0 {
				t.Errorf("%s: n%d has the priority %d in config %v", h.config.Self.Name, i, e.Priority, c.ID)
			}
			if m, _ := h.engine.View().Member(id(i)); m.Priority != 10+i {
				t.Errorf("%s: the algorithm sees n%d with the priority %d", h.config.Self.Name, i, m.Priority)
			}
		}
	}
	w.wantQuiet()

	wantEligible := func(i int, want bool) {
		t.Helper()
		for _, h := range w.nodes {
			if m, known := h.engine.View().Member(id(i)); !known || m.Eligible != want {
				t.Errorf("%v: %s takes n%d for eligible: %v, want %v", w.now, h.config.Self.Name, i, m.Eligible, want)
			}
		}
	}
	before := w.node(1).engine.dynamic.Config().ID
	w.node(1).perform(w.node(1).engine.Resign(w.now, 5*time.Second))
	w.run(time.Second)
	wantEligible(1, false)
	w.wantLeader(3) // the highest priority of the others
	w.wantCommitted()
	for _, h := range w.nodes {
		if got := h.engine.dynamic.Config().ID; got != before {
			t.Errorf("%s holds config %v, and %v before the resignation", h.config.Self.Name, got, before)
		}
	}
	w.add(testMember(5), by(voteSpec(), joins(addr(1)))).start()
	w.run(time.Second)
	w.wantView(1, 2, 3, 4, 5)
	w.wantCommitted()
	wantEligible(1, false)
	w.run(4 * time.Second)
	wantEligible(1, true)
	w.wantView(1, 2, 3, 4, 5)
	w.wantOneLeader()
	w.wantQuiet()
}

// Three nodes that all bootstrap, with the same seeds, at start times a few hops apart, create one cluster.
func TestOneOfSeveralBootstraps(t *testing.T) {
	const offsets = 7
	for i := range offsets * offsets * offsets {
		w := newWorld(t)
		for k, at := range []int{i % offsets, i / offsets % offsets, i / offsets / offsets} {
			h := w.add(testMember(k+1), by(voteSpec(), bootstraps(addr(1), addr(2), addr(3))))
			w.after(time.Duration(at)*hop/2, func() { h.start() })
		}
		w.run(5 * time.Second)
		w.wantView(1, 2, 3)
		w.wantOneLeader()
		if t.Failed() {
			t.Fatalf("with the starts %d", i)
		}
	}
}

// While a leader saves a new config, its heartbeats show the previous digest.
func TestHeartbeatsShowSavedDigest(t *testing.T) {
	w := newCluster(t, voteSpec(), 3)
	w.wantLeader(1)
	leader := w.node(1)
	before := leader.engine.Digest()
	out := leader.engine.SetPriority(w.now, 7)
	if len(out.Save) == 0 || leader.engine.Digest() == before {
		t.Fatal("no new config is to be saved")
	}
	beats := leader.engine.Heartbeats()
	if len(beats) != 2 {
		t.Errorf("%d heartbeats, want one for each follower", len(beats))
	}
	for _, b := range beats {
		if b.Message != (fd.Heartbeat{Digest: before}) {
			t.Errorf("%v to %v, want the digest %d", b.Message, b.To, before)
		}
	}
	leader.perform(out)
	leader.perform(leader.engine.Wake(w.now))
	for _, b := range leader.engine.Heartbeats() {
		if b.Message != (fd.Heartbeat{Digest: leader.engine.Digest()}) {
			t.Errorf("%v after the save, want the digest %d", b.Message, leader.engine.Digest())
		}
	}
}

// Timers that are set before a save run from its end, one second later. The deadline of the leadership moves with them.
func TestTimersRunFromEndOfSave(t *testing.T) {
	e := New(Config{MemberConfig: MemberConfig{Self: testMember(1)}, Spec: voteSpec(), Detector: fd.New(detection()), Timing: detection()})
	e.startCall(0)
	e.setTimer(0, driver.TimerChange{Timer: "before", Min: time.Second, Max: time.Second})
	e.startCall(time.Second / 2)
	e.setTimer(e.now, driver.TimerChange{Timer: "lease", Min: time.Second, Max: time.Second, Deadline: true})
	e.setTimer(e.now, driver.TimerChange{Timer: "after", Min: time.Second, Max: time.Second})
	e.timers[1].endsLeadership, e.leadershipEnd = true, e.timers[1].at
	e.HandleSaved(3 * time.Second / 2)
	for i, want := range []time.Duration{time.Second, 5 * time.Second / 2, 5 * time.Second / 2} {
		if got := e.timers[i].at; got != want {
			t.Errorf("timer %s ends at %v, want %v", e.timers[i].name, got, want)
		}
	}
	if e.LeadershipEnd() != 5*time.Second/2 {
		t.Errorf("the leadership ends at %v, want 2.5s", e.LeadershipEnd())
	}
}
