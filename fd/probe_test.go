package fd

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// follower is a detector that watches and follows n5 of five, all connected, since time 0. It is n2.
func follower(t *testing.T) *Detector {
	t.Helper()
	d := New(config())
	for _, i := range []int{1, 3, 4, 5} {
		d.Up(0, n(i), 7)
	}
	d.Monitor(0, []algo.NodeID{n(5)})
	d.Follow(0, n(5))
	rests(d)
	return d
}

// words are what is said of doubts, as to whom and about whom.
func words(out Output) (doubts, vouches [][2]int) {
	for _, s := range out.Sends {
		switch m := s.Message.(type) {
		case Doubt:
			doubts = append(doubts, [2]int{int(s.To[15]), int(m.Peer[15])})
		case Vouch:
			vouches = append(vouches, [2]int{int(s.To[15]), int(m.Peer[15])})
		}
	}
	return doubts, vouches
}

func suspects(out Output) bool {
	return slices.ContainsFunc(out.Changes, func(c Change) bool { return c.Suspected })
}

const doubt = timeout * 3 / 4 // when others are asked

// Before the leader is suspected for its silence three others are asked, at first those after it in the ring of IDs.
func TestOthersAreAskedBeforeALeaderIsSuspected(t *testing.T) {
	d := follower(t)
	if doubts, _ := words(runs(d, doubt-1)); len(doubts) != 0 {
		t.Errorf("too early it asks %v", doubts)
	}
	if doubts, _ := words(runs(d, doubt)); !slices.Equal(doubts, [][2]int{{1, 5}, {3, 5}, {4, 5}}) {
		t.Errorf("it asks %v, want n1, n3 and n4 about n5", doubts)
	}
	out := runs(d, timeout)
	if doubts, _ := words(out); len(doubts) != 0 || !suspects(out) {
		t.Errorf("nobody answers: it asks %v again, suspects %v, want once and a suspicion after the timeout", doubts, out.Changes)
	}

	big := New(config())
	for i := range 20 {
		big.Up(0, n(i+1), 7)
	}
	big.Goodbye(0, n(11))
	big.Monitor(0, []algo.NodeID{n(10), n(13)})
	big.Take()
	runs(big, timeout)
	big.Heard(timeout, n(10)) // n13 is suspected
	big.Follow(timeout, n(10))
	big.Take()
	if doubts, _ := words(runs(big, timeout+(timeout+timeout/2)*3/4)); !slices.Equal(doubts, [][2]int{{12, 10}, {14, 10}, {15, 10}}) {
		t.Errorf("of 20 it asks %v, want the next three that are not suspected", doubts)
	}
}

// Three others who are silent themselves are not asked for ever, and who is not connected never is.
func TestOthersAreAskedInTurn(t *testing.T) {
	d := New(config())
	for i := range 9 {
		d.Up(0, n(i+1), 7)
	}
	d.Down(0, n(7), true)
	d.Monitor(0, []algo.NodeID{n(4)})
	d.Follow(0, n(4))
	d.Take()
	at := time.Duration(0)
	for _, want := range [][][2]int{{{5, 4}, {6, 4}, {8, 4}}, {{1, 4}, {2, 4}, {9, 4}}, {{3, 4}, {5, 4}, {6, 4}}} {
		doubts, _ := words(runs(d, at+doubt))
		slices.SortFunc(doubts, func(a, b [2]int) int { return a[0] - b[0] })
		if !slices.Equal(doubts, want) {
			t.Errorf("it asks %v, want %v", doubts, want)
		}
		at += doubt
		d.Heard(at, n(4))
	}
	d.Follow(at, n(2))
	d.Monitor(at, []algo.NodeID{n(2)})
	if doubts, _ := words(runs(d, at+doubt)); !slices.Equal(doubts, [][2]int{{3, 2}, {4, 2}, {5, 2}}) {
		t.Errorf("of another leader it asks %v, want those after it", doubts)
	}
}

// Nobody is asked about who is not the leader, nor where there is nobody else.
func TestNobodyIsAskedInVain(t *testing.T) {
	for name, follows := range map[string]algo.NodeID{"nobody leads": {}, "another leads": n(4), "this node leads": n(2)} {
		d := follower(t)
		d.Follow(0, follows)
		out := runs(d, timeout)
		if doubts, _ := words(out); len(doubts) != 0 || !suspects(out) {
			t.Errorf("%s: it asks %v", name, doubts)
		}
	}
	d := watcher(t)
	d.Follow(0, n(1))
	out := runs(d, timeout)
	if doubts, _ := words(out); len(doubts) != 0 {
		t.Errorf("of two it asks %v", doubts)
	}
	says(t, "of two", out, true)
}

// As long as others hear the leader it is followed. It is suspected in its timeout after the last word.
func TestWhoIsHeardByOthersIsNotSuspected(t *testing.T) {
	d := follower(t)
	var all Output
	at := time.Duration(0)
	for range 10 {
		at += doubt
		collect(&all, runs(d, at))
		d.Receive(at, n(3), Vouch{Peer: n(5)})
		d.Receive(at, n(4), Vouch{Peer: n(5)})
		collect(&all, d.Take())
	}
	if doubts, _ := words(all); len(all.Changes) != 0 || len(doubts) != 30 {
		t.Errorf("changes %v and %d questions, want none, and three for each time that it was silent", all.Changes, len(doubts))
	}
	if !slices.Equal(all.Links, []Link{{Peer: n(5), By: n(3)}}) {
		t.Errorf("it said %v, want once that n3 hears n5", all.Links)
	}
	if state, since, _ := d.State(n(5)); state != Hearsay || state.String() != "hearsay" || since != doubt {
		t.Errorf("n5 is %v since %v, want hearsay since the first word at %v", state, since, doubt)
	}
	if got := d.peers[n(5)].timeout; got != timeout {
		t.Errorf("the timeout has grown to %v", got)
	}
	if out := runs(d, at+timeout-1); suspects(out) {
		t.Error("suspected too early after the last word")
	}
	if out := runs(d, at+timeout); !suspects(out) {
		t.Errorf("not suspected %v after the last word", timeout)
	}
	if state, _, _ := d.State(n(5)); state != Suspected {
		t.Errorf("n5 is %v", state)
	}
}

func TestALinkThatIsWholeAgainIsForgotten(t *testing.T) {
	d := follower(t)
	runs(d, doubt)
	d.Receive(doubt, n(3), Vouch{Peer: n(5)})
	d.Take()
	d.Heard(doubt+ms, n(5))
	d.Heard(doubt+2*ms, n(5))
	if out := d.Take(); len(out.Links)+len(out.Changes) != 0 {
		t.Errorf("it said %v and %v", out.Links, out.Changes)
	}
	if state, _, _ := d.State(n(5)); state != Alive {
		t.Errorf("n5 is %v, want alive", state)
	}
}

// A word puts off a suspicion for silence that is near, and nothing else.
func TestWhatAWordDoesNotPutOff(t *testing.T) {
	d := follower(t)
	d.Receive(10*ms, n(3), Vouch{Peer: n(5)}) // nobody asked
	if out := runs(d, timeout); !suspects(out) || len(out.Links) != 0 {
		t.Error("a word that nobody asked for counts")
	}
	d.Receive(timeout, n(3), Vouch{Peer: n(5)}) // too late
	d.Receive(timeout, n(3), Vouch{Peer: n(9)}) // of whom nobody knows
	if out := d.Take(); len(out.Changes)+len(out.Links) != 0 {
		t.Errorf("a late word brings about %+v", out)
	}

	// Evidence is believed at once.
	for name, dies := range map[string]func(d *Detector, now time.Duration){
		"refused":   func(d *Detector, now time.Duration) { d.Down(now, n(5), false); d.DialFailed(now, n(5), Refused) },
		"goodbye":   func(d *Detector, now time.Duration) { d.Goodbye(now, n(5)) },
		"restarted": func(d *Detector, now time.Duration) { d.Down(now, n(5), false); d.Up(now, n(5), 8) },
	} {
		d = follower(t)
		runs(d, doubt)
		d.Receive(doubt, n(3), Vouch{Peer: n(5)})
		dies(d, doubt+ms)
		if !suspects(d.Take()) {
			t.Errorf("%s: it is not suspected at once, since n3 hears it", name)
		}
	}

	// Who leads no more is watched for the link again, on which it was silent for long.
	d = follower(t)
	runs(d, doubt)
	d.Receive(doubt, n(3), Vouch{Peer: n(5)})
	runs(d, timeout+ms)
	d.Follow(timeout+ms, n(4))
	if state, _, _ := d.State(n(5)); state != Alive {
		t.Errorf("n5, which leads no more, is %v", state)
	}
	if out := runs(d, timeout+ms); !suspects(out) {
		t.Error("what is said of who leads no more counts on")
	}
}

// Who is asked asks in turn, and says only what it hears itself: also two that ask each other know no more
// than they hear.
func TestOnlyWhoHearsItVouches(t *testing.T) {
	d := follower(t)
	d.Receive(ms, n(1), Doubt{Peer: n(5)})
	d.Receive(ms, n(1), Doubt{Peer: n(5)})
	d.Receive(ms, n(3), Doubt{Peer: n(5)})
	d.Receive(ms, n(3), Doubt{Peer: n(9)}) // of whom nobody knows
	d.Receive(ms, n(3), Doubt{Peer: n(3)}) // about the asker itself
	d.Up(ms, n(6), 7)
	d.Down(ms, n(6), true)
	d.Receive(ms, n(3), Doubt{Peer: n(6)}) // who would have to be dialled
	doubts, vouches := words(d.Take())
	if !reflect.DeepEqual(doubts, [][2]int{{5, 0}, {5, 0}, {5, 0}}) || len(vouches) != 0 {
		t.Errorf("it asks %v and says %v, want a question to n5 each time, and nothing said yet", doubts, vouches)
	}
	runs(d, doubt)
	d.Receive(doubt, n(1), Vouch{Peer: n(5)}) // hearsay
	if _, vouches := words(d.Take()); len(vouches) != 0 {
		t.Errorf("it passes on what it was told: %v", vouches)
	}
	d.Down(doubt, n(3), true)
	d.Heard(doubt, n(5))
	if _, vouches := words(d.Take()); !slices.Equal(vouches, [][2]int{{1, 5}}) {
		t.Errorf("it hears n5 and says %v, want that to n1, which is still connected", vouches)
	}
	d.Heard(doubt, n(5))
	if _, vouches := words(d.Take()); len(vouches) != 0 {
		t.Errorf("it says %v once more", vouches)
	}
	d.Receive(doubt, n(4), Doubt{})
	if _, vouches := words(d.Take()); !slices.Equal(vouches, [][2]int{{4, 0}}) {
		t.Errorf("asked whether it runs it says %v", vouches)
	}
}

// A node that did not run asks when it runs again, and gives others the time to answer.
func TestAfterAPauseOthersAreAskedFirst(t *testing.T) {
	d := follower(t)
	var out Output
	at := time.Minute
	for d.Wake(at); !suspects(out); at = d.Deadline() {
		if d.Wake(at); suspects(d.out) {
			break
		}
		collect(&out, d.Take())
	}
	if doubts, _ := words(out); len(doubts) != 3 {
		t.Errorf("it asks %v and suspects at %v, want three questions before", doubts, at)
	}
}
