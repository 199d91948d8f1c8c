package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/trace"
)

// "When a process is killed its kernel closes its sockets … refused → suspected now."
func TestKilledLeaderIsReplacedWithinMessageDelay(t *testing.T) {
	w := newCluster(t, bullySpec(), 5)
	w.wantLeader(5)
	killed := w.now
	w.nodes[4].crash()
	for w.now < killed+time.Second {
		w.run(hop / 2)
		if !slices.ContainsFunc(w.nodes, func(h *host) bool { return h.up && h.leader.ID != id(4) }) {
			break
		}
	}
	// Half a hop to the end of the connection, two for the dial, one for the Coordinator.
	if took := w.now - killed; took > 4*hop {
		t.Errorf("it took %v, want at most %v", took, 4*hop)
	}
	w.nodes[3].crash() // while n5 is dead
	w.run(4 * hop)
	w.wantLeader(3)
	epoch := w.nodes[2].leader.Epoch
	w.run(time.Minute)
	if got := w.nodes[2].leader.Epoch; got != epoch {
		t.Errorf("the epoch is %d a minute later, want %d: no needless election", got, epoch)
	}
}

func TestStalledLeaderIsReplacedAfterTimeout(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	w.nodes[2].paused = true
	w.run(timeout + 4*interval)
	w.wantLeader(2)
	w.run(10 * time.Second)
	w.nodes[2].resume()
	w.run(2 * time.Second)
	w.wantLeader(3)
	epoch := w.nodes[0].leader.Epoch
	w.run(time.Minute)
	if got := w.nodes[0].leader.Epoch; got != epoch {
		t.Errorf("the epoch went from %d to %d with nothing to do", epoch, got)
	}
}

// A node suspects no peer for the time of its own stall.
func TestStalledFollowerSuspectsNoPeer(t *testing.T) {
	for _, pause := range []time.Duration{timeout, time.Second, time.Minute} {
		w := newCluster(t, bullySpec(), 3)
		epoch := w.nodes[0].leader.Epoch
		w.nodes[0].paused = true
		w.run(pause)
		w.nodes[0].resume()
		w.run(time.Minute)
		w.wantLeader(3)
		if got := w.nodes[0].leader.Epoch; got != epoch {
			t.Errorf("a pause of %v: the epoch went from %d to %d", pause, epoch, got)
		}
	}
}

func TestGoodbyeStartsElectionAtOnce(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	w.nodes[2].stop()
	w.run(2 * hop)
	w.wantLeader(2)
	if w.kinds["goodbye"] != 2 {
		t.Errorf("%d goodbyes, want one for each peer", w.kinds["goodbye"])
	}
	w.wantView(1, 2, 3) // n3 stays a member
	for _, m := range w.nodes[0].engine.Members() {
		want := map[algo.NodeID]fd.State{id(1): fd.Alive, id(2): fd.Alive, id(3): fd.Suspected}[m.ID]
		if m.State != want {
			t.Errorf("%s is %v, want %v", m.Name, m.State, want)
		}
	}
	w.nodes[2].start()
	w.run(time.Second)
	w.wantLeader(3)
}

func TestPartitionHeals(t *testing.T) {
	w := newCluster(t, bullySpec(), 4)
	for _, a := range []string{"n1", "n2"} {
		for _, b := range []string{"n3", "n4"} {
			w.cut[[2]string{a, b}] = true
		}
	}
	w.run(5 * time.Second)
	if a, b := w.nodes[0].leader.ID, w.nodes[3].leader.ID; a != id(2) || b != id(4) {
		t.Fatalf("the sides follow %v and %v, want n2 and n4", a, b)
	}
	clear(w.cut)
	w.run(10 * time.Second)
	w.wantView(1, 2, 3, 4)
	w.wantLeader(4)
}

func TestResignAndReenter(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	three := w.nodes[2]
	three.perform(three.engine.Resign(w.now, 2*time.Second))
	w.run(20 * hop)
	w.wantLeader(2)
	three.perform(three.engine.Resign(w.now, time.Second)) // a second resignation restarts the period
	w.run(900 * ms)
	w.wantLeader(2)
	w.run(300 * ms)
	w.wantLeader(3)
	w.wantView(1, 2, 3)

	// A resignation ends with the process.
	three.perform(three.engine.Resign(w.now, time.Hour))
	w.run(20 * hop)
	w.wantLeader(2)
	three.crash()
	w.run(time.Second)
	three.start()
	w.run(2 * time.Second)
	w.wantLeader(3)

	// A negative period, and the longest one.
	three.perform(three.engine.Resign(w.now, -time.Hour))
	w.run(time.Second)
	w.wantLeader(3)
	three.perform(three.engine.Resign(w.now, 1<<63-1))
	w.run(time.Minute)
	w.wantLeader(2)
}

func TestWitnessNeverLeads(t *testing.T) {
	w := newWorld(t)
	w.add(testMember(1), listed(3)).start()
	w.add(testMember(2), listed(3)).start()
	m := testMember(3)
	m.Eligible = false
	h := w.add(m, listed(3)).start()
	w.run(time.Second)
	w.wantLeader(2)
	h.perform(h.engine.Resign(w.now, time.Second))
	w.run(5 * time.Second)
	w.wantLeader(2)
	h.perform(h.engine.Campaign(w.now))
	w.run(time.Second)
	w.wantLeader(2)
}

type odd string

func (o odd) Kind() string { return string(o) }

func TestHeartbeatsAreCountedSeparately(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	before := w.nodes[2].engine.Counters()
	w.run(time.Minute)
	after := w.nodes[2].engine.Counters()
	for name, count := range after {
		if beats := strings.HasSuffix(name, ".heartbeat"); beats == (count == before[name]) {
			t.Errorf("%s went from %v to %v with nothing to do", name, before[name], count)
		}
	}
	// At most 1.3 frames per node and interval, with the periodic messages of the algorithm.
	var frames uint64
	for _, h := range w.nodes {
		frames += h.engine.Counters()["sent.heartbeat"]
	}
	if perNode := float64(frames) / 3 / float64(w.now/interval); perNode > 1.3 {
		t.Errorf("%.2f frames per node and interval", perNode)
	}
}

// "An engine's Output holds at most one save: all changed records in one transaction."
func TestChangedRecordsAreSavedTogether(t *testing.T) {
	p := &probe{}
	p.does = func(_ algo.Env, what string) {
		if what == "start 0" {
			p.stable.Epoch = 1
		}
	}
	e := solo(t, func(c *Config) { c.Spec, c.Spec.Claims.NeedsQuorum = p.spec(), true })
	var kinds []string
	for _, m := range e.Start(0).Save {
		kinds = append(kinds, m.Kind())
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"config", "hard-state"}) {
		t.Errorf("it saves %v, want both records", kinds)
	}
	if out := e.Wake(time.Second); len(out.Save) != 0 {
		t.Errorf("nothing changed, and it saves %v", out.Save)
	}
}

// A node that crashes right after a save has sent none of its messages, and restarts with the saved state.
func TestCrashBetweenSaveAndSend(t *testing.T) {
	for lives := range 4 {
		w := newCluster(t, bullySpec(), 3)
		two := w.nodes[1]
		for range lives + 1 {
			before := w.nodes[0].leader
			two.dieAtSave = 1
			w.nodes[2].crash()
			w.run(time.Second)
			if two.up {
				t.Fatal("n2 saved nothing")
			}
			saved := two.disk["hard-state"].(SavedState).Epoch
			if saved <= before.Epoch {
				t.Errorf("n2 saved epoch %d after %d", saved, before.Epoch)
			}
			two.start()
			w.nodes[2].start()
			w.run(3 * time.Second)
			w.wantLeader(3)
			if got := w.nodes[0].leader.Epoch; got < saved {
				t.Errorf("epoch %d after one of %d was saved", got, saved)
			}
		}
	}
	// A joiner crashes right after the leader has added it.
	w := newCluster(t, voteSpec(), 2)
	h := w.add(testMember(3), by(voteSpec(), joins(addr(1))))
	h.dieAtSave = 1
	h.start()
	w.run(time.Second)
	if h.up {
		t.Fatal("n3 saved nothing")
	}
	h.start()
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantOneLeader()
}

// "The view may change while an election is on."
func TestViewChangesDuringElection(t *testing.T) {
	for wait := time.Duration(0); wait < 8*hop; wait += hop / 4 {
		w := newCluster(t, bullySpec(), 4)
		w.nodes[3].crash()
		w.enlarge(9)
		w.run(wait)
		w.nodes[1].perform(w.nodes[1].engine.Resign(w.now, time.Hour))
		w.nodes[2].perform(w.nodes[2].engine.Campaign(w.now))
		w.run(5 * time.Second)
		w.wantLeader(9)
		w.nodes[3].start() // n9 learns of n4 only from n4
		w.run(2 * time.Second)
		w.wantView(1, 2, 3, 4, 9)
		w.wantLeader(9)
	}
}

// Runs with the same seed produce the same bytes, although the order of Go maps is random.
func TestSameSeedSameBytes(t *testing.T) {
	for _, spec := range []algo.Spec{bullySpec(), voteSpec()} {
		t.Run(spec.Name, func(t *testing.T) { sameBytes(t, spec) })
	}
}

func sameBytes(t *testing.T, spec algo.Spec) {
	run := func() string {
		w := newWorld(t)
		w.log = new(strings.Builder)
		w.startCluster(spec, 5)
		w.run(3 * time.Second)
		w.nodes[4].crash()
		w.run(time.Second)
		w.enlarge(9)
		w.nodes[4].start()
		w.cut[[2]string{"n1", "n5"}] = true
		w.run(3 * time.Second)
		clear(w.cut)
		w.nodes[0].perform(w.nodes[0].engine.Resign(w.now, time.Second))
		w.run(3 * time.Second)
		return w.log.String()
	}
	first := run()
	for range 5 {
		if again := run(); again != first {
			a, b := strings.Split(first, "\n"), strings.Split(again, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("line %d:\n%s\n%s", i, a[i], b[i])
				}
			}
			t.Fatal("one is longer")
		}
	}
}

// An idle node wakes at most 1.5 times an interval. (The method run fails if a wake leaves a deadline that has passed.)
func TestIdleNodesAreRarelyWoken(t *testing.T) {
	for _, size := range []int{1, 5, 20} {
		w := newCluster(t, bullySpec(), size)
		w.wakes = 0
		w.run(100 * interval)
		perNode := float64(w.wakes) / float64(size) / 100
		t.Logf("N=%d: %.2f wakes per node and interval", size, perNode)
		if perNode > 1.5 {
			t.Errorf("N=%d: %.2f wakes per node and interval", size, perNode)
		}
	}
	w := newWorld(t)
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), listed(9)).start() // six never start
	}
	w.run(10 * time.Second)
	w.wakes = 0
	w.run(10 * time.Second)
	if w.wakes > 3*(10*6+10*20*2) {
		t.Errorf("%d wakes in 10s while members are missing", w.wakes)
	}
}

func TestTraceContainsEveryEvent(t *testing.T) {
	var events []trace.Event
	w := newWorld(t)
	w.add(testMember(1), by(bullySpec(), listed(2), traced(&events))).start()
	w.add(testMember(2), listed(2)).start()
	w.run(2 * time.Second)
	w.nodes[1].crash()
	w.run(time.Second)
	w.nodes[1].start()
	w.run(time.Second)
	one := w.nodes[0]
	one.perform(one.engine.Receive(w.now, id(50), fd.Heartbeat{}))
	seen := map[trace.Kind]bool{}
	for _, e := range events {
		seen[e.Kind] = true
		if e.Node != id(1) {
			t.Fatalf("%v happened at %v", e.Kind, e.Node)
		}
	}
	for _, kind := range []trace.Kind{trace.Start, trace.Send, trace.Deliver, trace.Drop, trace.SetTimer, trace.Suspect,
		trace.Save, trace.Announce, trace.ConfigChanged, trace.Expire, trace.Note} {
		if !seen[kind] {
			t.Errorf("no event %q", kind)
		}
	}
}

// A peer that subscribes before it is a member receives heartbeats once it is one.
func TestSubscribeBeforeSelfCounts(t *testing.T) {
	e := solo(t, listed(2))
	e.Start(0)
	e.Up(0, Peer{ID: id(2), Name: testMember(2).Name, Incarnation: 7, Digest: e.Digest(), Addr: addr(2)})
	e.Receive(0, id(2), fd.Subscribe{Interval: interval, TTL: 10 * interval})
	e.Receive(0, id(2), membership.Self{Member: membership.MemberOf(testMember(2))})
	beats := 0
	for {
		deadline, due := e.Deadline()
		if !due || deadline > 5*interval {
			break
		}
		for _, s := range e.Wake(deadline).Send {
			if _, ok := s.Message.(fd.Heartbeat); ok && s.To == id(2) {
				beats++
			}
		}
	}
	if beats < 3 {
		t.Errorf("%d beats in five intervals", beats)
	}
}

// A subscription with an interval that no node has is rejected and counted. It changes nothing.
func TestInvalidIntervalIsRejected(t *testing.T) {
	e, _ := met(t, 2, nil)
	digest, stable, leader := e.Digest(), e.machine.HardState(), e.machine.Leader()
	for count := range 3 { // also when it is repeated
		out := e.Receive(ms, id(2), fd.Subscribe{Interval: 1, TTL: time.Second})
		if len(out.Rejections) != 1 || out.Rejections[0].Peer != id(2) || !strings.HasPrefix(out.Rejections[0].Reason.Error(), "engine: refused ") {
			t.Errorf("refused %v, want one refusal of n2", out.Rejections)
		}
		if got := e.Counters()["rejected"]; got != uint64(count+1) {
			t.Errorf("counted %d, want %d", got, count+1)
		}
		if len(out.Save)+len(out.Leaders) > 0 || out.ViewChanged || out.End != nil || e.Digest() != digest ||
			e.machine.HardState() != stable || e.machine.Leader() != leader {
			t.Errorf("it changed something: %+v", out)
		}
	}
}

// Members are trusted: an epoch far ahead is accepted at once.
func TestDistantEpochIsAccepted(t *testing.T) {
	e, _ := met(t, 3, nil)
	for _, epoch := range []algo.Epoch{1 << 33, 1 << 34} {
		if out := e.Receive(0, id(3), bully.Answer{Epoch: epoch}); len(out.Rejections) != 0 || e.machine.HardState().Epoch < epoch {
			t.Errorf("epoch %d: refused %v, and it is in epoch %d", epoch, out.Rejections, e.machine.HardState().Epoch)
		}
	}
}

// The messages of a non-member change nothing. They are counted.
func TestNonMembersChangeNothing(t *testing.T) {
	e, _ := met(t, 2, nil)
	digest := e.Digest()
	for _, m := range []algo.Message{bullySpec().Messages[0], fd.Heartbeat{}, fd.Subscribe{}, Goodbye{}, membership.Self{Member: membership.MemberOf(testMember(9))}, membership.Update{}} {
		out := e.Receive(0, id(9), m)
		if len(out.Rejections)+len(out.Save)+len(out.Leaders)+len(out.Send) > 0 || out.ViewChanged || e.Digest() != digest || e.View().Len() != 2 {
			t.Errorf("%s: %+v", m.Kind(), out)
		}
	}
	got := e.Counters()
	maps.DeleteFunc(got, func(name string, _ uint64) bool { return !strings.HasPrefix(name, "nonmembers.") })
	if want := (map[string]uint64{"nonmembers.elections": 2, "nonmembers.heartbeats": 3}); !maps.Equal(got, want) {
		t.Errorf("of its frames are counted %v, want %v", got, want)
	}
	for _, from := range []algo.NodeID{{}, id(1)} {
		e.Up(0, Peer{ID: from, Incarnation: 1, Digest: 1})
		for _, m := range append(Messages(), bullySpec().Messages...) {
			if out := e.Receive(0, from, m); len(out.Rejections) != 1 || len(out.Send) != 0 {
				t.Errorf("%s from %v: %+v", m.Kind(), from, out)
			}
		}
	}
	if len(e.conns) != 1 {
		t.Error("it is connected with itself")
	}
	// A connection of a non-member leaves nothing behind.
	for i := range 1000 {
		e.Up(0, Peer{ID: id(i + 9), Name: testMember(i + 9).Name, Incarnation: 1, Digest: 77})
		e.Down(0, id(i+9), false)
	}
	if len(e.conns) != 1 {
		t.Errorf("%d connections are kept of non-members that are gone", len(e.conns)-1)
	}
}

func TestCountersDoNotGrow(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	for i := range 100 {
		e.Receive(0, id(2), odd(strings.Repeat("x", i)))
	}
	want := map[string]uint64{"received.other": 100, "nonmembers.elections": 100, "elections.start": 1, "sent.heartbeat": 0, "received.heartbeat": 0, "rejected": 0}
	if got := e.Counters(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want all as one kind", got)
	}
}

// The goodbye of a leader that keeps running counts until its next frame. Without this rule, its cluster would elect
// for ever.
func TestFrameAfterGoodbyeRestoresTrust(t *testing.T) {
	w := newCluster(t, bullySpec(), 3)
	w.wantLeader(3)
	for _, h := range w.nodes[:2] {
		h.perform(h.engine.Receive(w.now, id(3), Goodbye{}))
	}
	w.run(20 * time.Second)
	w.wantLeader(3)
	before := w.node(1).leader
	if w.run(20 * time.Second); w.node(1).leader != before {
		t.Errorf("%v leads after %v", w.node(1).leader, before)
	}
}
