package fd

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// beatsIn returns the heartbeats to n1, in order.
func beatsIn(out Output) (beats []Heartbeat) {
	for _, s := range out.Sends {
		if b, ok := s.Message.(Heartbeat); ok && s.To == n(1) {
			beats = append(beats, b)
		}
	}
	return beats
}

// A node that has stalled reports the stall to its subscribers at once, whatever it receives or sends first, and even
// if a subscription has ended meanwhile. Its heartbeats repeat the report for the TTL of a subscription.
func TestStallIsReportedToSubscribers(t *testing.T) {
	const slept = 10 * time.Second
	for _, test := range []struct {
		name  string
		lease time.Duration
		back  func(d *Detector, now time.Duration)
	}{
		{"it is woken", time.Hour, (*Detector).Wake},
		{"a lease has ended", interval, (*Detector).Wake},
		{"it hears a peer first", time.Hour, func(d *Detector, now time.Duration) { d.HandleFrame(now, n(1)) }},
		{"and answers", interval, func(d *Detector, now time.Duration) { d.HandleFrame(now, n(2)); d.RecordSend(now, n(1)); d.Wake(now) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := New(config())
			d.Up(0, n(1), 7)
			d.Up(0, n(2), 7)
			d.Receive(0, n(1), Subscribe{Interval: interval, TTL: test.lease})
			takeAndRearm(d)
			test.back(d, slept)
			beats := beatsIn(d.TakeOutput())
			if len(beats) != 1 || beats[0].Stalled != slept-interval || beats[0].StalledAgo != 0 {
				t.Fatalf("it said %+v, want that it did not run for %v until now", beats, slept-interval)
			}
			d.Wake(slept) // the same stall
			if beats := beatsIn(d.TakeOutput()); len(beats) != 0 {
				t.Errorf("it says %v once more", beats)
			}
			at := slept
			for _, b := range beatsIn(runUntil(d, slept+20*interval)) {
				at = (at/interval + 1) * interval
				want := Heartbeat{Stalled: slept - interval, StalledAgo: at - slept}
				if want.StalledAgo > 10*interval {
					want = Heartbeat{}
				}
				if b != want {
					t.Errorf("%v after the stall it says %+v, want %+v", at-slept, b, want)
				}
			}
		})
	}
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	takeAndRearm(d)
	d.Wake(1000 * time.Hour)
	if beats := beatsIn(d.TakeOutput()); len(beats) != 1 || beats[0].Stalled != time.Hour {
		t.Errorf("after six weeks it says %v, want what is taken", beats)
	}
}

// A stalled peer is not slow: a heartbeat that reports the stall restores the timeout, even if another frame ended the
// suspicion. Without this rule, 40 stalls of a leader made the timeout ten times as long.
func TestStallOfPeerKeepsTimeout(t *testing.T) {
	const silent, grown = 600 * ms, timeout + timeout/2
	for _, test := range []struct {
		name string
		beat Heartbeat
		want time.Duration
	}{
		{"it ran", Heartbeat{}, grown},
		{"it did not run", Heartbeat{Stalled: silent - interval}, timeout},
		{"it said so later", Heartbeat{Stalled: silent - interval, StalledAgo: 10 * ms}, timeout},
		{"the rest would have been too long", Heartbeat{Stalled: silent - timeout, StalledAgo: 10 * ms}, grown},
		{"the rest would not have been", Heartbeat{Stalled: silent - timeout + 1, StalledAgo: 10 * ms}, timeout},
		{"that ended before the silence", Heartbeat{Stalled: time.Minute, StalledAgo: silent + 10*ms}, grown},
		{"that ended long before the silence did", Heartbeat{Stalled: time.Minute, StalledAgo: silent - ms}, grown},
	} {
		for _, watched := range []bool{true, false} {
			t.Run(test.name, func(t *testing.T) {
				d := newMonitor(t)
				expectChanges(t, "silence", runUntil(d, silent), true)
				if !watched {
					d.Monitor(silent, nil)
				}
				d.HandleFrame(silent, n(1))
				d.TakeOutput()
				if got := d.peers[n(1)].timeout; got != grown {
					t.Fatalf("the timeout is %v, want %v", got, grown)
				}
				at := silent + 10*ms
				d.HandleFrame(at, n(1))
				if _, why := d.Receive(at, n(1), test.beat); why != nil {
					t.Fatal(why)
				}
				if got := d.peers[n(1)].timeout; got != test.want {
					t.Errorf("after %+v the timeout is %v, want %v", test.beat, got, test.want)
				}
				if watched {
					expectChanges(t, "silence", runUntil(d, at+test.want-1))
					expectChanges(t, "silence", runUntil(d, at+test.want), true)
				}
			})
		}
	}
}

// A reported stall does not undo the growth for another silence, and undoes no growth twice.
func TestStallExplainsNoOtherSilence(t *testing.T) {
	d := newMonitor(t)
	at := timeout + 10*ms
	expectChanges(t, "silence", runUntil(d, at), true)
	d.HandleFrame(at, n(1)) // n1 was slow
	grown := d.peers[n(1)].timeout
	expectChanges(t, "silence", runUntil(d, time.Minute), false, true)
	d.HandleFrame(time.Minute, n(1)) // n1 was stopped for longer than any timeout
	d.Receive(time.Minute, n(1), Heartbeat{Stalled: time.Minute - at + 20*ms})
	d.Receive(time.Minute, n(1), Heartbeat{Stalled: time.Minute - at + 20*ms})
	if got := d.peers[n(1)].timeout; got != grown {
		t.Errorf("the timeout is %v, want %v: what it grew before the stall stays", got, grown)
	}
}

func TestInvalidHeartbeatIsRejected(t *testing.T) {
	for _, b := range []Heartbeat{
		{Stalled: -1}, {StalledAgo: -1}, {Stalled: time.Hour + 1}, {StalledAgo: time.Hour + 1},
		{Stalled: math.MaxInt64, StalledAgo: math.MaxInt64}, {Stalled: math.MinInt64, StalledAgo: math.MinInt64},
	} {
		d := newMonitor(t)
		runUntil(d, timeout)
		d.HandleFrame(timeout, n(1))
		if _, why := d.Receive(timeout, n(1), b); why == nil {
			t.Errorf("%+v was believed", b)
		}
	}
	d := New(config())
	if _, why := d.Receive(0, n(1), Heartbeat{Stalled: time.Hour, StalledAgo: time.Hour}); why != nil {
		t.Error(why)
	}
	d.Monitor(0, []algo.NodeID{n(1)})
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("the timeout of a peer that was never suspected is %v", got)
	}
}

// A peer that lacks processor time has short and long stalls, and will have more. So its timeout must grow, as for a
// peer that is slow for another reason. Short stalls that are rare or long ago do not count.
func TestStarvedPeerIsSlow(t *testing.T) {
	const grown = timeout + timeout/2
	for _, test := range []struct {
		name  string
		short int // stalls before each long one
		calm  time.Duration
		want  []time.Duration // after each long stall
	}{
		{"once", 1, 0, []time.Duration{timeout, timeout, timeout, timeout}},
		{"twice, and never again", 2, 0, []time.Duration{grown, timeout}},
		{"twice each time", 2, 0, []time.Duration{grown, grown, grown}},
		{"very often, and never again", 99, 0, []time.Duration{grown, grown, timeout}},
		{"very often, and long ago", 99, 3 * time.Second, []time.Duration{timeout}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newMonitor(t)
			at := time.Duration(0)
			for i, want := range test.want {
				if i == 0 || !strings.HasSuffix(test.name, "never again") {
					for range test.short {
						at += interval
						d.HandleFrame(at, n(1))
						d.Receive(at, n(1), Heartbeat{Stalled: timeout - 1})
						d.Receive(at, n(1), Heartbeat{Stalled: timeout - 1, StalledAgo: 1}) // the same
					}
				}
				hearUntil(d, at, at+test.calm)
				at += test.calm
				d.peers[n(1)].timeout = timeout
				d.HandleFrame(at, n(1))
				takeAndRearm(d)
				at += timeout + interval
				expectChanges(t, "silence", runUntil(d, at), true)
				d.HandleFrame(at, n(1))
				d.Receive(at, n(1), Heartbeat{Stalled: timeout})
				d.Receive(at, n(1), Heartbeat{Stalled: timeout, StalledAgo: 1}) // the same
				d.TakeOutput()
				if got := d.peers[n(1)].timeout; got != want {
					t.Errorf("after long stall %d the timeout is %v, want %v", i+1, got, want)
				}
			}
		})
	}
}
