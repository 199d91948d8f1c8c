package fd

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// follower is a detector that watches and follows n5 of five, all connected, since time 0. It is n2.
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

// words are what is said of doubts, as to whom and about whom.
func probesIn(out Output) (doubts, vouches [][2]int) {
	for _, s := range out.Sends {
		switch m := s.Message.(type) {
		case Probe:
			doubts = append(doubts, [2]int{int(s.To[15]), int(m.Peer[15])})
		case ProbeAck:
			vouches = append(vouches, [2]int{int(s.To[15]), int(m.Peer[15])})
		}
	}
	return doubts, vouches
}

func suspects(out Output) bool {
	return slices.ContainsFunc(out.Changes, func(c Change) bool { return c.Suspected })
}

const probeTime = timeout * 3 / 4 // when others are asked

// Before the leader is suspected for its silence three others are asked, at first those after it in the ring of IDs.
func TestProbesPrecedeSuspicionOfLeader(t *testing.T) {
	d := newFollower(t)
	if doubts, _ := probesIn(runUntil(d, probeTime-1)); len(doubts) != 0 {
		t.Errorf("too early it asks %v", doubts)
	}
	if doubts, _ := probesIn(runUntil(d, probeTime)); !slices.Equal(doubts, [][2]int{{1, 5}, {3, 5}, {4, 5}}) {
		t.Errorf("it asks %v, want n1, n3 and n4 about n5", doubts)
	}
	out := runUntil(d, timeout)
	if doubts, _ := probesIn(out); len(doubts) != 0 || !suspects(out) {
		t.Errorf("nobody answers: it asks %v again, suspects %v, want once and a suspicion after the timeout", doubts, out.Changes)
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
	if doubts, _ := probesIn(runUntil(big, timeout+(timeout+timeout/2)*3/4)); !slices.Equal(doubts, [][2]int{{12, 10}, {14, 10}, {15, 10}}) {
		t.Errorf("of 20 it asks %v, want the next three that are not suspected", doubts)
	}
}

// Three others who are silent themselves are not asked for ever, and who is not connected never is.
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
		doubts, _ := probesIn(runUntil(d, at+probeTime))
		slices.SortFunc(doubts, func(a, b [2]int) int { return a[0] - b[0] })
		if !slices.Equal(doubts, want) {
			t.Errorf("it asks %v, want %v", doubts, want)
		}
		at += probeTime
		d.HandleFrame(at, n(4))
	}
	d.SetLeader(at, n(2))
	d.Monitor(at, []algo.NodeID{n(2)})
	if doubts, _ := probesIn(runUntil(d, at+probeTime)); !slices.Equal(doubts, [][2]int{{3, 2}, {4, 2}, {5, 2}}) {
		t.Errorf("of another leader it asks %v, want those after it", doubts)
	}
}

// Nobody is asked about who is not the leader, nor where there is nobody else.
func TestUselessProbesAreNotSent(t *testing.T) {
	for name, follows := range map[string]algo.NodeID{"nobody leads": {}, "another leads": n(4), "this node leads": n(2)} {
		d := newFollower(t)
		d.SetLeader(0, follows)
		out := runUntil(d, timeout)
		if doubts, _ := probesIn(out); len(doubts) != 0 || !suspects(out) {
			t.Errorf("%s: it asks %v", name, doubts)
		}
	}
	d := newMonitor(t)
	d.SetLeader(0, n(1))
	out := runUntil(d, timeout)
	if doubts, _ := probesIn(out); len(doubts) != 0 {
		t.Errorf("of two it asks %v", doubts)
	}
	expectChanges(t, "of two", out, true)
}

// As long as others hear the leader it is followed. It is suspected in its timeout after the last word.
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
	if doubts, _ := probesIn(all); len(all.Changes) != 0 || len(doubts) != 30 {
		t.Errorf("changes %v and %d questions, want none, and three for each time that it was silent", all.Changes, len(doubts))
	}
	if !slices.Equal(all.BrokenLinks, []BrokenLink{{Peer: n(5), HeardBy: n(3)}}) {
		t.Errorf("it said %v, want once that n3 hears n5", all.BrokenLinks)
	}
	if state, since, _ := d.State(n(5)); state != Indirect || state.String() != "hearsay" || since != probeTime {
		t.Errorf("n5 is %v since %v, want hearsay since the first word at %v", state, since, probeTime)
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

// A word puts off a suspicion for silence that is near, and nothing else.
func TestProbeAckDelaysOnlySilence(t *testing.T) {
	d := newFollower(t)
	d.Receive(10*ms, n(3), ProbeAck{Peer: n(5)}) // nobody asked
	if out := runUntil(d, timeout); !suspects(out) || len(out.BrokenLinks) != 0 {
		t.Error("a word that nobody asked for counts")
	}
	d.Receive(timeout, n(3), ProbeAck{Peer: n(5)}) // too late
	d.Receive(timeout, n(3), ProbeAck{Peer: n(9)}) // of whom nobody knows
	if out := d.TakeOutput(); len(out.Changes)+len(out.BrokenLinks) != 0 {
		t.Errorf("a late word brings about %+v", out)
	}

	// Evidence is believed at once.
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

	// Who leads no more is watched for the link again, on which it was silent for long.
	d = newFollower(t)
	runUntil(d, probeTime)
	d.Receive(probeTime, n(3), ProbeAck{Peer: n(5)})
	runUntil(d, timeout+ms)
	d.SetLeader(timeout+ms, n(4))
	if state, _, _ := d.State(n(5)); state != Alive {
		t.Errorf("n5, which leads no more, is %v", state)
	}
	if out := runUntil(d, timeout+ms); !suspects(out) {
		t.Error("what is said of who leads no more counts on")
	}
}

// Who is asked asks in turn, and says only what it hears itself: also two that ask each other know no more
// than they hear.
func TestOnlyHearingPeerAcksProbe(t *testing.T) {
	d := newFollower(t)
	d.Receive(ms, n(1), Probe{Peer: n(5)})
	d.Receive(ms, n(1), Probe{Peer: n(5)})
	d.Receive(ms, n(3), Probe{Peer: n(5)})
	d.Receive(ms, n(3), Probe{Peer: n(9)}) // of whom nobody knows
	d.Receive(ms, n(3), Probe{Peer: n(3)}) // about the asker itself
	d.Up(ms, n(6), 7)
	d.Down(ms, n(6), true)
	d.Receive(ms, n(3), Probe{Peer: n(6)}) // who would have to be dialled
	doubts, vouches := probesIn(d.TakeOutput())
	if !reflect.DeepEqual(doubts, [][2]int{{5, 0}, {5, 0}, {5, 0}}) || len(vouches) != 0 {
		t.Errorf("it asks %v and says %v, want a question to n5 each time, and nothing said yet", doubts, vouches)
	}
	runUntil(d, probeTime)
	d.Receive(probeTime, n(1), ProbeAck{Peer: n(5)}) // hearsay
	if _, vouches := probesIn(d.TakeOutput()); len(vouches) != 0 {
		t.Errorf("it passes on what it was told: %v", vouches)
	}
	d.Down(probeTime, n(3), true)
	d.HandleFrame(probeTime, n(5))
	if _, vouches := probesIn(d.TakeOutput()); !slices.Equal(vouches, [][2]int{{1, 5}}) {
		t.Errorf("it hears n5 and says %v, want that to n1, which is still connected", vouches)
	}
	d.HandleFrame(probeTime, n(5))
	if _, vouches := probesIn(d.TakeOutput()); len(vouches) != 0 {
		t.Errorf("it says %v once more", vouches)
	}
	d.Receive(probeTime, n(4), Probe{})
	if _, vouches := probesIn(d.TakeOutput()); !slices.Equal(vouches, [][2]int{{4, 0}}) {
		t.Errorf("asked whether it runs it says %v", vouches)
	}
}

// A node that did not run asks when it runs again, and gives others the time to answer.
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
	if doubts, _ := probesIn(out); len(doubts) != 3 {
		t.Errorf("it asks %v and suspects at %v, want three questions before", doubts, at)
	}
}
