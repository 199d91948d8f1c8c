package sim

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// cluster returns a world with heartbeats, after its nodes have agreed on a leader.
func cluster(t testing.TB, size int, change func(*Config)) *World {
	t.Helper()
	c := Config{Spec: lan(t, "bully"), Delay: Fixed(ms), Seed: 1}
	if change != nil {
		change(&c)
	}
	w := New(c)
	must(t, w.Cluster(size))
	w.Run(time.Second)
	if leader, _, agreed := w.Leader(); !agreed || leader != size {
		t.Fatalf("no agreement: %s", w.Opinions())
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// links counts the open ends of connections at running nodes.
func links(w *World) (count int) {
	for _, n := range w.nodes {
		for _, c := range n.links {
			if n.up && c != nil {
				count++
			}
		}
	}
	return count
}

// Each pair of nodes has one connection, although all nodes dial each other at the start.
func TestPairHasOneConnection(t *testing.T) {
	for seed := range uint64(20) {
		w := cluster(t, 5, func(c *Config) { c.Seed, c.Delay = seed, Uniform(ms, 20*ms) })
		if got := links(w); got != 5*4 {
			t.Errorf("seed %d: %d ends of connections, want 20", seed, got)
		}
		for _, n := range w.nodes {
			for _, peer := range w.nodes {
				if n != peer && n.link(peer) != peer.link(n) {
					t.Errorf("seed %d: %s and %s have two connections", seed, n.name, peer.name)
				}
			}
		}
	}
}

// A crash is detected after three message times, without a timeout: the kernel closes the connection, and a dial is
// refused.
func TestCrashIsDetectedByEvidence(t *testing.T) {
	w := cluster(t, 5, nil)
	must(t, w.Do("crash n5"))
	w.Run(3 * ms)
	for n := 1; n <= 4; n++ {
		for _, m := range w.nodes[n-1].engine.Members() {
			if m.ID == ID(5) && m.State != fd.Suspected {
				t.Errorf("n%d takes n5 for %v after three message times", n, m.State)
			}
		}
	}
	if leader, _ := w.Follows(4); leader.ID != ID(4) {
		t.Errorf("n4 does not lead: %s", w.Opinions())
	}
}

// After an immediate restart, each peer still suspects the node once.
func TestRestartedNodeIsNewIncarnation(t *testing.T) {
	suspected := make(map[algo.NodeID]int)
	w := cluster(t, 3, func(c *Config) {
		c.Trace = func(e trace.Event) {
			if e.Kind == trace.Suspect && e.Peer == ID(3) {
				suspected[e.Node]++
			}
		}
	})
	must(t, w.Do("crash n3"))
	must(t, w.Do("restart n3"))
	w.Run(algo.LAN().RecoveryBound())
	if suspected[ID(1)] != 1 || suspected[ID(2)] != 1 {
		t.Errorf("suspected by n1 %d times and by n2 %d times, want once each", suspected[ID(1)], suspected[ID(2)])
	}
	if leader, _, agreed := w.Leader(); !agreed || leader != 3 {
		t.Errorf("n3 does not lead again: %s", w.Opinions())
	}
}

// n3 crashes during a partition and restarts. Its peers keep their old connections until they send on them.
func TestHalfOpenConnectionIsReset(t *testing.T) {
	w := cluster(t, 3, nil)
	must(t, w.Do("partition n1,n2"))
	must(t, w.Do("crash n3"))
	w.Run(10 * ms)
	if got := links(w); got != 4 {
		t.Fatalf("%d ends of connections, want 4: no peer knows of the crash", got)
	}
	must(t, w.Heal())
	must(t, w.Do("restart n3"))
	w.Run(algo.LAN().RecoveryBound())
	if leader, _, agreed := w.Leader(); !agreed || leader != 3 || links(w) != 6 {
		t.Errorf("%d ends of connections, want 6; %s", links(w), w.Opinions())
	}
}

// numberedMessage is a message that tests send.
type numberedMessage struct{ N int }

func (numberedMessage) Kind() string { return "numbered" }

// A connection keeps the order of frames, unless the network reorders them.
func TestConnectionKeepsFrameOrder(t *testing.T) {
	for _, reorder := range []float64{0, 0.5} {
		var order []int
		w := cluster(t, 2, func(c *Config) {
			c.Delay = Uniform(ms, 50*ms)
			c.Trace = func(e trace.Event) {
				if m, ok := e.Message.(numberedMessage); ok && e.Kind == trace.Drop {
					order = append(order, m.N)
				}
			}
		})
		must(t, w.Do("reorder %v", reorder))
		// A message that arrives without a connection is dropped.
		n1, n2 := w.nodes[0], w.nodes[1]
		link := n1.link(n2).id
		n2.links[n1.index] = nil
		for i := range 100 {
			w.transmit(n1, n2, numberedMessage{i}, false, link)
		}
		w.pass(w.now + time.Second)
		sorted := true
		for i := 1; i < len(order); i++ {
			sorted = sorted && order[i] > order[i-1]
		}
		if len(order) != 100 || sorted != (reorder == 0) {
			t.Errorf("reorder %v: %d arrived, in order: %v", reorder, len(order), sorted)
		}
	}
}

// Faults are as frequent as configured, to a tenth.
func TestFaultFrequency(t *testing.T) {
	const frames = 20_000
	for _, test := range []struct {
		faults Faults
		want   int // frames that arrive
	}{
		{Faults{}, frames},
		{Faults{Loss: 0.25}, frames * 3 / 4},
		{Faults{Duplicate: 0.25}, frames * 5 / 4},
		{Faults{Loss: 1}, 0},
	} {
		w := New(Config{Spec: spec(t), Detector: Scripted, Delay: Fixed(T), Faults: test.faults, Seed: 1})
		must(t, w.Cluster(2))
		w.Run(time.Second)
		before := w.queue.Len()
		for range frames {
			w.transmit(w.nodes[0], w.nodes[1], bully.Answer{}, false, 0)
		}
		if got := w.queue.Len() - before; got < test.want*9/10 || got > test.want*11/10 {
			t.Errorf("%+v: %d of %d arrive, want %d", test.faults, got, frames, test.want)
		}
	}
}

// A cut drops frames of one direction only, also those in flight.
func TestCutDropsFrames(t *testing.T) {
	w := New(Config{Spec: spec(t), Detector: Scripted, Delay: Fixed(T)})
	must(t, w.Cluster(2))
	w.Run(time.Second)
	w.ResetCounts()
	must(t, w.Do("campaign n2")) // a Coordinator is in flight
	must(t, w.Do("cut n2 n1"))
	w.Run(2 * T)
	if c := w.Counts(); c.Sent["coordinator"] != 1 || len(c.Delivered) != 0 {
		t.Errorf("counted %v, want one sent and none delivered", c)
	}
	must(t, w.Do("campaign n1"))
	w.Run(T)
	if c := w.Counts(); c.Delivered["election"] != 1 {
		t.Errorf("counted %v, want the other direction to be open", c)
	}
}

// TestResumedNodeHandlesWaitingEventsFirst: after a pause, waiting heartbeats come before expired timeouts, so the node
// suspects no peer.
func TestResumedNodeHandlesWaitingEventsFirst(t *testing.T) {
	var suspected int
	w := cluster(t, 3, func(c *Config) {
		c.Trace = func(e trace.Event) {
			if e.Kind == trace.Suspect {
				suspected++
			}
		}
	})
	must(t, w.Do("pause n1"))
	w.Run(10 * time.Second)
	must(t, w.Do("resume n1"))
	w.Run(time.Second)
	if suspected > 0 {
		t.Errorf("%d suspicions after a pause of a follower, want none", suspected)
	}
}

// A node that crashes after n effects has performed the save and n-1 sends.
func TestCrashDuringOutput(t *testing.T) {
	for effects := range 6 {
		w := New(Config{Spec: spec(t), Detector: Scripted, Delay: Fixed(T)})
		must(t, w.Cluster(5))
		w.Run(time.Second)
		saved := w.nodes[4].kept
		w.ResetCounts()
		must(t, w.Do("crash n5 after %d", effects))
		must(t, w.Do("campaign n5")) // a save, four messages, an announcement
		if w.nodes[4].up {
			t.Fatalf("n5 survived %d effects", effects)
		}
		if got := w.nodes[4].kept != saved; got != (effects > 0) {
			t.Errorf("after %d effects: saved is %v", effects, got)
		}
		if sent := w.Counts().Sent["coordinator"]; sent != uint64(max(effects-1, 0)) {
			t.Errorf("after %d effects: %d messages", effects, sent)
		}
		w.Run(time.Second)
		if v := w.Violations(); len(v) > 0 {
			t.Errorf("after %d effects: %v", effects, v)
		}
	}
}

// TestPerfectDetectorLearnsCrashAndRestart: a detector that starts later learns of the crash too.
func TestPerfectDetectorLearnsCrashAndRestart(t *testing.T) {
	w := New(Config{Spec: spec(t), Detector: Perfect, Delay: Fixed(T)})
	must(t, w.Cluster(4))
	w.Run(time.Second)
	state := func(n, about int) fd.State {
		for _, m := range w.nodes[n-1].engine.Members() {
			if m.ID == ID(about) {
				return m.State
			}
		}
		return fd.Unknown
	}
	must(t, w.Do("crash n4"))
	must(t, w.Do("crash n1"))
	w.Run(time.Second)
	must(t, w.Do("restart n1"))
	w.Run(time.Second)
	for _, n := range []int{1, 2, 3} {
		if got := state(n, 4); got != fd.Suspected {
			t.Errorf("n%d takes n4 for %v, want suspected", n, got)
		}
	}
	if got := state(2, 1); got == fd.Suspected {
		t.Error("n2 still suspects n1, which runs again")
	}
	must(t, w.Do("restart n4"))
	w.Run(time.Second)
	if leader, _, agreed := w.Leader(); !agreed || leader != 4 {
		t.Error(w.Opinions())
	}
}

// TestScriptedDetectorForgetsUnmonitoredPeer: the detector reports the suspicion again when the peer is monitored
// again.
func TestScriptedDetectorForgetsUnmonitoredPeer(t *testing.T) {
	var s scriptedDetector
	changes := func() []fd.Change { return append([]fd.Change{}, s.TakeOutput().Changes...) }
	peer := ID(1)
	s.Suspect(0, peer, "because")
	if got := changes(); len(got) != 0 {
		t.Errorf("%v about a peer that is not monitored", got)
	}
	for range 2 {
		s.Monitor(0, []algo.NodeID{peer})
		if got := changes(); len(got) != 1 || !got[0].Suspected || got[0].Explanation != "because" {
			t.Errorf("%v, want one suspicion", got)
		}
		s.Monitor(0, []algo.NodeID{peer})
		if got := changes(); len(got) != 0 {
			t.Errorf("%v, want no more", got)
		}
		s.Monitor(0, nil)
	}
	s.Monitor(0, []algo.NodeID{peer})
	_ = changes()
	s.Trust(0, peer, "it lives")
	if got := changes(); len(got) != 1 || got[0].Suspected {
		t.Errorf("%v, want trust", got)
	}
}
