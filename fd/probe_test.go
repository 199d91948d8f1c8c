package fd

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// newFollower returns n2, which monitors and follows n5 of five nodes, all connected, since time 0.
func newFollower(t *testing.T) *Detector {
	t.Helper()
	d := New(config())
	for _, i := range []int{1, 3, 4, 5} {
		d.Up(0, n(i), 7)
	}
	d.Monitor(0, []algo.NodeID{n(5)})
	d.SetLeader(0, n(5))
	takeAndRearm(d)
	return d
}

// probesAndAcks returns the probes and probe acks in out, each as the receiver and the probed peer.
func probesAndAcks(out Output) (probes, acks [][2]int) {
	for _, s := range out.Sends {
		switch m := s.Message.(type) {
		case Probe:
			probes = append(probes, [2]int{int(s.To[15]), int(m.Peer[15])})
		case ProbeAck:
			acks = append(acks, [2]int{int(s.To[15]), int(m.Peer[15])})
		}
	}
	return probes, acks
}

func suspects(out Output) bool {
	return slices.ContainsFunc(out.Changes, func(c Change) bool { return c.Suspected })
}

const probeTime = timeout * 3 / 4 // silence after which peers are asked

// Before a node suspects its leader for silence, it sends probes to three peers, first those after the leader in the
// ring of IDs.
func TestProbesPrecedeSuspicionOfLeader(t *testing.T) {
	d := newFollower(t)
	if probes, _ := probesAndAcks(runUntil(d, probeTime-1)); len(probes) != 0 {
		t.Errorf("too early it asks %v", probes)
	}
	if probes, _ := probesAndAcks(runUntil(d, probeTime)); !slices.Equal(probes, [][2]int{{1, 5}, {3, 5}, {4, 5}}) {
		t.Errorf("it asks %v, want n1, n3 and n4 about n5", probes)
	}
	out := runUntil(d, timeout)
	if probes, _ := probesAndAcks(out); len(probes) != 0 || !suspects(out) {
		t.Errorf("without acks it asks %v again, suspects %v, want once and a suspicion after the timeout", probes, out.Changes)
	}

	big := New(config())
	for i := range 20 {
		big.Up(0, n(i+1), 7)
	}
	big.HandleGoodbye(0, n(11))
	big.Monitor(0, []algo.NodeID{n(10), n(13)})
	big.TakeOutput()
	runUntil(big, timeout)
	big.HandleFrame(timeout, n(10)) // n13 is suspected
	big.SetLeader(timeout, n(10))
	big.TakeOutput()
	if probes, _ := probesAndAcks(runUntil(big, timeout+(timeout+timeout/2)*3/4)); !slices.Equal(probes, [][2]int{{12, 10}, {14, 10}, {15, 10}}) {
		t.Errorf("of 20 it asks %v, want the next three that are not suspected", probes)
	}
}

// Successive probes go to different peers, since three peers may be silent themselves. None goes to a peer that is not
// connected.
func TestProbesRotateAmongPeers(t *testing.T) {
	d := New(config())
	for i := range 9 {
		d.Up(0, n(i+1), 7)
	}
	d.Down(0, n(7), true)
	d.Monitor(0, []algo.NodeID{n(4)})
	d.SetLeader(0, n(4))
	d.TakeOutput()
	at := time.Duration(0)
	for _, want := range [][][2]int{{{5, 4}, {6, 4}, {8, 4}}, {{1, 4}, {2, 4}, {9, 4}}, {{3, 4}, {5, 4}, {6, 4}}} {
		probes, _ := probesAndAcks(runUntil(d, at+probeTime))
		slices.SortFunc(probes, func(a, b [2]int) int { return a[0] - b[0] })
		if !slices.Equal(probes, want) {
			t.Errorf("it asks %v, want %v", probes, want)
		}
		at += probeTime
		d.HandleFrame(at, n(4))
	}
	d.SetLeader(at, n(2))
	d.Monitor(at, []algo.NodeID{n(2)})
	if probes, _ := probesAndAcks(runUntil(d, at+probeTime)); !slices.Equal(probes, [][2]int{{3, 2}, {4, 2}, {5, 2}}) {
		t.Errorf("of another leader it asks %v, want those after it", probes)
	}
}

// No probe is sent about a peer that does not lead, or if there is no third node.
func TestUselessProbesAreNotSent(t *testing.T) {
	for name, follows := range map[string]algo.NodeID{"no leader": {}, "another leads": n(4), "this node leads": n(2)} {
		d := newFollower(t)
		d.SetLeader(0, follows)
		out := runUntil(d, timeout)
		if probes, _ := probesAndAcks(out); len(probes) != 0 || !suspects(out) {
			t.Errorf("%s: it asks %v", name, probes)
		}
	}
	d := newMonitor(t)
	d.SetLeader(0, n(1))
	out := runUntil(d, timeout)
	if probes, _ := probesAndAcks(out); len(probes) != 0 {
		t.Errorf("of two it asks %v", probes)
	}
	expectChanges(t, "of two", out, true)
}

// A follower does not suspect its leader as long as peers hear it. It suspects it one timeout after the last probe ack.
func TestLeaderHeardByPeersIsNotSuspected(t *testing.T) {
	d := newFollower(t)
	var all Output
	at := time.Duration(0)
	for range 10 {
		at += probeTime
		collect(&all, runUntil(d, at))
		d.Receive(at, n(3), ProbeAck{Peer: n(5)})
		d.Receive(at, n(4), ProbeAck{Peer: n(5)})
		collect(&all, d.TakeOutput())
	}
	if probes, _ := probesAndAcks(all); len(all.Changes) != 0 || len(probes) != 30 {
		t.Errorf("changes %v and %d questions, want none, and three for each time that it was silent", all.Changes, len(probes))
	}
	if !slices.Equal(all.BrokenLinks, []BrokenLink{{Peer: n(5), HeardBy: n(3)}}) {
		t.Errorf("it said %v, want once that n3 hears n5", all.BrokenLinks)
	}
	if state, since, _ := d.State(n(5)); state != Indirect || state.String() != "indirect" || since != probeTime {
		t.Errorf("n5 is %v since %v, want indirect since the first word at %v", state, since, probeTime)
	}
	if got := d.peers[n(5)].timeout; got != timeout {
		t.Errorf("the timeout has grown to %v", got)
	}
	if out := runUntil(d, at+timeout-1); suspects(out) {
		t.Error("suspected too early after the last word")
	}
	if out := runUntil(d, at+timeout); !suspects(out) {
		t.Errorf("not suspected %v after the last word", timeout)
	}
	if state, _, _ := d.State(n(5)); state != Suspected {
		t.Errorf("n5 is %v", state)
	}
}

func TestDirectFrameEndsIndirectState(t *testing.T) {
	d := newFollower(t)
	runUntil(d, probeTime)
	d.Receive(probeTime, n(3), ProbeAck{Peer: n(5)})
	d.TakeOutput()
	d.HandleFrame(probeTime+ms, n(5))
	d.HandleFrame(probeTime+2*ms, n(5))
	if out := d.TakeOutput(); len(out.BrokenLinks)+len(out.Changes) != 0 {
		t.Errorf("it said %v and %v", out.BrokenLinks, out.Changes)
	}
	if state, _, _ := d.State(n(5)); state != Alive {
		t.Errorf("n5 is %v, want alive", state)
	}
}

// A probe ack delays a suspicion for silence that is near, and nothing else.
func TestProbeAckDelaysOnlySilence(t *testing.T) {
	d := newFollower(t)
	d.Receive(10*ms, n(3), ProbeAck{Peer: n(5)}) // without a probe
	if out := runUntil(d, timeout); !suspects(out) || len(out.BrokenLinks) != 0 {
		t.Error("an ack without a probe counts")
	}
	d.Receive(timeout, n(3), ProbeAck{Peer: n(5)}) // too late
	d.Receive(timeout, n(3), ProbeAck{Peer: n(9)}) // about an unknown peer
	if out := d.TakeOutput(); len(out.Changes)+len(out.BrokenLinks) != 0 {
		t.Errorf("a late word brings about %+v", out)
	}

	// Evidence counts at once.
	for name, dies := range map[string]func(d *Detector, now time.Duration){
		"refused": func(d *Detector, now time.Duration) {
			d.Down(now, n(5), false)
			d.HandleDialFailure(now, n(5), DialRefused)
		},
		"goodbye":   func(d *Detector, now time.Duration) { d.HandleGoodbye(now, n(5)) },
		"restarted": func(d *Detector, now time.Duration) { d.Down(now, n(5), false); d.Up(now, n(5), 8) },
	} {
		d = newFollower(t)
		runUntil(d, probeTime)
		d.Receive(probeTime, n(3), ProbeAck{Peer: n(5)})
		dies(d, probeTime+ms)
		if !suspects(d.TakeOutput()) {
			t.Errorf("%s: it is not suspected at once, since n3 hears it", name)
		}
	}

	// A probe ack no longer counts when the peer stops leading: it is suspected for its silence on the link.
	d = newFollower(t)
	runUntil(d, probeTime)
	d.Receive(probeTime, n(3), ProbeAck{Peer: n(5)})
	runUntil(d, timeout+ms)
	d.SetLeader(timeout+ms, n(4))
	if state, _, _ := d.State(n(5)); state != Alive {
		t.Errorf("n5, which leads no more, is %v", state)
	}
	if out := runUntil(d, timeout+ms); !suspects(out) {
		t.Error("an ack about a former leader counts")
	}
}

// A node that receives a probe about a peer probes this peer itself, and sends an ack only when it hears the peer. So
// two nodes that probe each other send no ack about a peer that neither hears.
func TestOnlyHearingPeerAcksProbe(t *testing.T) {
	d := newFollower(t)
	d.Receive(ms, n(1), Probe{Peer: n(5)})
	d.Receive(ms, n(1), Probe{Peer: n(5)})
	d.Receive(ms, n(3), Probe{Peer: n(5)})
	d.Receive(ms, n(3), Probe{Peer: n(9)}) // about an unknown peer
	d.Receive(ms, n(3), Probe{Peer: n(3)}) // about the sender itself
	d.Up(ms, n(6), 7)
	d.Down(ms, n(6), true)
	d.Receive(ms, n(3), Probe{Peer: n(6)}) // about a peer that is not connected
	probes, acks := probesAndAcks(d.TakeOutput())
	if !reflect.DeepEqual(probes, [][2]int{{5, 0}, {5, 0}, {5, 0}}) || len(acks) != 0 {
		t.Errorf("it asks %v and says %v, want a question to n5 each time, and nothing said yet", probes, acks)
	}
	runUntil(d, probeTime)
	d.Receive(probeTime, n(1), ProbeAck{Peer: n(5)}) // not heard directly
	if _, acks := probesAndAcks(d.TakeOutput()); len(acks) != 0 {
		t.Errorf("it forwards a probe ack: %v", acks)
	}
	d.Down(probeTime, n(3), true)
	d.HandleFrame(probeTime, n(5))
	if _, acks := probesAndAcks(d.TakeOutput()); !slices.Equal(acks, [][2]int{{1, 5}}) {
		t.Errorf("it hears n5 and says %v, want that to n1, which is still connected", acks)
	}
	d.HandleFrame(probeTime, n(5))
	if _, acks := probesAndAcks(d.TakeOutput()); len(acks) != 0 {
		t.Errorf("it says %v once more", acks)
	}
	d.Receive(probeTime, n(4), Probe{})
	if _, acks := probesAndAcks(d.TakeOutput()); !slices.Equal(acks, [][2]int{{4, 0}}) {
		t.Errorf("asked whether it runs it says %v", acks)
	}
}

// A node that has stalled sends probes when it runs again, and waits for acks before it suspects its leader.
func TestStalledNodeProbesBeforeSuspecting(t *testing.T) {
	d := newFollower(t)
	var out Output
	at := time.Minute
	for d.Wake(at); !suspects(out); at = d.Deadline() {
		if d.Wake(at); suspects(d.out) {
			break
		}
		collect(&out, d.TakeOutput())
	}
	if probes, _ := probesAndAcks(out); len(probes) != 3 {
		t.Errorf("it asks %v and suspects at %v, want three questions before", probes, at)
	}
}
