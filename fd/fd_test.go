package fd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

const (
	ms       = time.Millisecond
	interval = 50 * ms
	timeout  = 340 * ms
)

func config() algo.Timing {
	return algo.Timing{
		Heartbeat: interval, Timeout: timeout, MaxTimeout: 10 * timeout, TimeoutDecay: time.Second,
		RoundTrip: 1, MinRedial: 10 * ms, MaxRedial: time.Second,
	}
}

func n(i int) algo.NodeID { return algo.NodeID{15: byte(i), 14: byte(i >> 8)} }

// newMonitor returns a detector that monitors n1, which is connected, since time 0.
func newMonitor(t *testing.T) *Detector {
	t.Helper()
	d := New(config())
	d.Up(0, n(1), 7)
	d.Monitor(0, []algo.NodeID{n(1)})
	takeAndRearm(d)
	return d
}

// takeAndRearm does what a driver does after each call: it takes the output and the next deadline.
func takeAndRearm(d *Detector) {
	d.TakeOutput()
	d.Deadline()
}

// hearUntil delivers a frame of n1 each interval from at to end, wakes the detector at its deadlines, and returns the
// output.
func hearUntil(d *Detector, at, end time.Duration) (all Output) {
	for at < end {
		d.HandleFrame(at, n(1))
		collect(&all, d.TakeOutput())
		next := min(at+interval, end)
		collect(&all, runUntil(d, next))
		at = next
	}
	return all
}

// runUntil wakes the detector at each of its deadlines up to end, inclusive, and returns the output. It panics if the
// next deadline is not later than the last: such a detector would be woken forever.
func runUntil(d *Detector, end time.Duration) (all Output) {
	for d.Deadline() <= end {
		now := d.Deadline()
		d.Wake(now)
		if d.Deadline() <= now {
			panic("fd: woken at " + now.String() + ", and due again at " + d.Deadline().String())
		}
		collect(&all, d.TakeOutput())
	}
	return all
}

func collect(all *Output, more Output) {
	all.Sends = append(all.Sends, more.Sends...)
	all.Dials = append(all.Dials, more.Dials...)
	all.Changes = append(all.Changes, more.Changes...)
	all.BrokenLinks = append(all.BrokenLinks, more.BrokenLinks...)
}

func kinds(out Output, kind string) (count int) {
	for _, s := range out.Sends {
		if s.Message.Kind() == kind {
			count++
		}
	}
	return count
}

// expectChanges fails unless out has exactly these suspicions (true) and trusts (false), all of n1 and in this order.
func expectChanges(t *testing.T, what string, out Output, suspected ...bool) {
	t.Helper()
	var got []bool
	for _, c := range out.Changes {
		if c.Died {
			continue
		}
		if c.Peer != n(1) || c.Explanation == "" {
			t.Errorf("%s: change %+v, want one of n1 with a reason", what, c)
		}
		got = append(got, c.Suspected)
	}
	if !slices.Equal(got, suspected) {
		t.Errorf("%s: suspected %v, want %v", what, got, suspected)
	}
}

func expectDials(t *testing.T, what string, out Output, want int) {
	t.Helper()
	if len(out.Dials) != want {
		t.Errorf("%s: %d dials, want %d", what, len(out.Dials), want)
	}
}

func TestCheckReportsEveryProblem(t *testing.T) {
	if err := Check(config()); err != nil {
		t.Fatalf("a good config has mistakes: %v", err)
	}
	for _, test := range []struct {
		field  string
		change func(*algo.Timing)
	}{
		{"heartbeat", func(c *algo.Timing) { c.Heartbeat = 0 }},
		{"heartbeat", func(c *algo.Timing) {
			c.Heartbeat, c.Timeout, c.MaxTimeout, c.TimeoutDecay = 7*time.Minute, time.Hour, time.Hour, 2*time.Hour
		}},
		{"timeout", func(c *algo.Timing) { c.Timeout = interval }},
		{"max_timeout", func(c *algo.Timing) { c.MaxTimeout = timeout - 1 }},
		{"max_timeout", func(c *algo.Timing) { c.MaxTimeout = 1 << 62 }},
		{"timeout_decay", func(c *algo.Timing) { c.TimeoutDecay = timeout }},
		{"min_redial", func(c *algo.Timing) { c.MinRedial = 0 }},
		{"max_redial", func(c *algo.Timing) { c.MaxRedial = ms }},
		{"max_redial", func(c *algo.Timing) { c.MaxRedial = 1 << 62 }},
		{"round_trip", func(c *algo.Timing) { c.RoundTrip = 0 }},
		{"timeout", func(c *algo.Timing) { c.RoundTrip = 2 * timeout }},
		{"startup_wait", func(c *algo.Timing) { c.StartupWait = -1 }},
	} {
		c := config()
		test.change(&c)
		err := Check(c)
		if mistake, ok := errors.AsType[*algo.SettingError](err); !ok || mistake.Field != "timing."+test.field || err.Error() != mistake.Error() {
			t.Errorf("%+v: mistakes %v, want one of %s", c, err, test.field)
		}
	}
	if got := strings.Count(Check(algo.Timing{}).Error(), "timing."); got < 3 {
		t.Errorf("the zero config has %d mistakes, want all at once", got)
	}
}

// A node subscribes to each peer that it monitors, and renews the subscription at half its TTL.
func TestSubscriptionIsRenewedAtHalfItsTTL(t *testing.T) {
	d := New(config())
	d.SetDigest(99)
	d.Up(0, n(1), 7)
	if out := d.TakeOutput(); len(out.Sends) != 0 {
		t.Fatalf("before any peer is monitored: %v", out.Sends)
	}
	d.Monitor(0, []algo.NodeID{n(1)})
	out := d.TakeOutput()
	want := Subscribe{Interval: interval, TTL: 10 * interval, Digest: 99}
	if len(out.Sends) != 1 || out.Sends[0].To != n(1) || out.Sends[0].Message != want {
		t.Fatalf("monitored: %v, want %v", out.Sends, want)
	}
	const leases = 10
	renewals := kinds(hearUntil(d, 0, leases*10*interval), "subscribe")
	if renewals < 2*leases || renewals > 2*leases+leases {
		t.Errorf("%d renewals in %d leases, want two for each, or a little earlier", renewals, leases)
	}
	d.Monitor(leases*10*interval, nil)
	d.TakeOutput()
	if out := runUntil(d, 2*leases*10*interval); len(out.Sends) != 0 {
		t.Errorf("monitored no more: %v", out.Sends)
	}
}

// A subscription may have ended while its peer was cut off. With a renewal each interval, a peer that is back is
// heard from at once, and not half a TTL later.
func TestSuspectedPeerIsSubscribedEachInterval(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence", runUntil(d, timeout), true)
	if asked := kinds(runUntil(d, timeout+5*interval), "subscribe"); asked != 5 {
		t.Errorf("it is asked %d times in 5 intervals, want 5", asked)
	}
	d.Down(timeout+5*interval, n(1), true)
	d.TakeOutput()
	if asked := kinds(runUntil(d, timeout+10*interval), "subscribe"); asked != 0 {
		t.Errorf("it is asked %d times without a connection", asked)
	}
}

// A node sends heartbeats to its subscribers only, and only until the subscription ends.
func TestHeartbeatsEndWithSubscription(t *testing.T) {
	d := New(config())
	d.SetDigest(99)
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	if _, why := d.Receive(0, n(1), Subscribe{Interval: interval, TTL: 10 * interval}); why != nil {
		t.Fatal(why)
	}
	out := runUntil(d, time.Minute)
	if got := kinds(out, "heartbeat"); got < 9 || got > 10 || got != len(out.Sends) {
		t.Errorf("%d beats of %d frames in a lease of 10 intervals", got, len(out.Sends))
	}
	for _, s := range out.Sends {
		if s.To != n(1) || s.Message != (Heartbeat{Digest: 99}) {
			t.Errorf("sent %v to %v, want beats with the digest to the watcher", s.Message, s.To)
		}
	}
	if d.Deadline() != never {
		t.Errorf("the lease is over and a wake is due at %v", d.Deadline())
	}
}

func TestHeartbeatsEndWithConnection(t *testing.T) {
	for _, polite := range []bool{true, false} {
		d := New(config())
		d.Up(0, n(1), 7)
		d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
		d.Down(ms, n(1), polite)
		d.Up(2*ms, n(1), 7)
		if out := runUntil(d, time.Second); len(out.Sends) != 0 {
			t.Errorf("polite %v: %d frames to a watcher that has not asked since it was gone", polite, len(out.Sends))
		}
	}
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	d.Up(2*ms, n(1), 8)
	if out := runUntil(d, time.Second); len(out.Sends) != 0 {
		t.Errorf("%d frames to a process that never asked", len(out.Sends))
	}
}

func TestUnconnectedSubscriberGetsNoHeartbeats(t *testing.T) {
	d := New(config())
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: 10 * interval})
	if out := runUntil(d, time.Second); len(out.Sends) != 0 {
		t.Errorf("sent %v", out.Sends)
	}
}

// Any frame to a subscriber replaces a heartbeat.
func TestAnyFrameReplacesHeartbeat(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	d.RecordSend(0, n(9)) // an unknown peer
	var all Output
	for tick := range 100 {
		at := time.Duration(tick+1)*interval - 10*ms
		collect(&all, runUntil(d, at))
		d.RecordSend(at, n(1))
	}
	if got := kinds(all, "heartbeat"); got != 0 {
		t.Errorf("%d beats beside frames that were sent just before each", got)
	}
}

// Heartbeats to all subscribers fall on the same ticks, so that one wake serves all of them.
func TestHeartbeatsShareTicks(t *testing.T) {
	d := New(config())
	for i := range 20 {
		d.Up(0, n(i+1), 7)
		at := time.Duration(i) * 7 * ms / 3
		runUntil(d, at)
		d.Receive(at, n(i+1), Subscribe{Interval: interval, TTL: time.Hour})
	}
	runUntil(d, 2*interval)
	wakes, beats := 0, 0
	for d.Deadline() <= 102*interval {
		d.Wake(d.Deadline())
		wakes++
		beats += kinds(d.TakeOutput(), "heartbeat")
	}
	if wakes != 100 || beats != 2000 {
		t.Errorf("%d wakes for %d beats in 100 intervals, want 100 for 2000", wakes, beats)
	}
}

func TestHeartbeatGapIsAtMostThreeHalfIntervals(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	last := time.Duration(0)
	for i := range 1000 {
		send := last + time.Duration(i*37%50)*ms // at any phase
		for d.Deadline() <= send {
			at := d.Deadline()
			d.Wake(at)
			if kinds(d.TakeOutput(), "heartbeat") > 0 {
				if at-last > interval*3/2 {
					t.Fatalf("nothing was sent from %v to %v", last, at)
				}
				last = at
			}
		}
		if send > last {
			d.RecordSend(send, n(1))
			last = send
		}
	}
}

// The timeout of a peer grows after each false suspicion, and decays slowly.
func TestTimeoutGrowsAndDecays(t *testing.T) {
	d := newMonitor(t)
	at, p := time.Duration(0), d.peers[n(1)]
	for mistake := range 20 {
		before := p.timeout
		at += before + 10*ms
		expectChanges(t, "silence", runUntil(d, at), true)
		if state, since, _ := d.State(n(1)); state != Suspected || since != at-10*ms {
			t.Fatalf("%v since %v, want suspected since %v", state, since, at-10*ms)
		}
		d.HandleFrame(at, n(1))
		expectChanges(t, "heard", d.TakeOutput(), false)
		want := min(before+before/2, config().MaxTimeout)
		if before == config().MaxTimeout {
			want = before
		}
		if p.timeout != want {
			t.Fatalf("after mistake %d the timeout is %v, want %v", mistake+1, p.timeout, want)
		}
	}
	if p.timeout != config().MaxTimeout {
		t.Errorf("the timeout is %v, want the most, %v", p.timeout, config().MaxTimeout)
	}
	before := p.timeout
	hearUntil(d, at, at+config().TimeoutDecay+2*interval)
	at += config().TimeoutDecay + 2*interval
	if want := before - (before-timeout)/4; p.timeout != want {
		t.Errorf("after a while without a mistake it is %v, want %v", p.timeout, want)
	}
	hearUntil(d, at, at+200*config().TimeoutDecay)
	if p.timeout != timeout {
		t.Errorf("after a long while it is %v, want %v", p.timeout, timeout)
	}
}

// The first long silence raises the timeout by half. The second raises it to a quarter more than the silence.
func TestTimeoutGrowsToCoverSilence(t *testing.T) {
	d := newMonitor(t)
	at, p := time.Duration(0), d.peers[n(1)]
	const cut = 6 * timeout
	for i, want := range []time.Duration{timeout + timeout/2, cut * 5 / 4} {
		at += cut
		expectChanges(t, "silence", runUntil(d, at), true)
		d.HandleFrame(at, n(1))
		expectChanges(t, "heard", d.TakeOutput(), false)
		if p.timeout != want {
			t.Errorf("after silence %d of %v the timeout is %v, want %v", i+1, cut, p.timeout, want)
		}
	}
	at += cut
	expectChanges(t, "it is borne", runUntil(d, at))
}

// A silence longer than MaxTimeout does not raise the timeout: no timeout would have been long enough.
func TestLongSilenceIsNoFalseSuspicion(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence", runUntil(d, time.Minute), true)
	d.HandleFrame(time.Minute, n(1))
	expectChanges(t, "heard", d.TakeOutput(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("the timeout grew to %v, which would not have helped", got)
	}
}

// Chandra and Toueg 1996, ◇P: if delays are bounded, false suspicions end. That holds even if the bound is above the
// initial timeout, and if the timeout has time to decay.
func TestFalseSuspicionsEnd(t *testing.T) {
	d := newMonitor(t)
	mistakes, last := 0, time.Duration(0)
	for at := time.Duration(0); at < time.Hour; at += 3 * timeout { // a frame each 1.02 s, and an initial timeout of 340 ms
		for _, change := range runUntil(d, at).Changes {
			if change.Suspected {
				mistakes, last = mistakes+1, at
			}
		}
		d.HandleFrame(at, n(1))
		d.TakeOutput()
	}
	if mistakes == 0 || mistakes > 5 || last > time.Minute {
		t.Errorf("%d mistakes in an hour, the last after %v, want a few at the start", mistakes, last)
	}
}

// After a connection that ends without a goodbye, the detector dials at once. If the dial is refused, it suspects the
// peer at once.
func TestDeadProcessIsSuspectedAtOnce(t *testing.T) {
	d := newMonitor(t)
	d.Down(ms, n(1), false)
	out := d.TakeOutput()
	expectDials(t, "the connection ended", out, 1)
	expectChanges(t, "the connection ended", out)
	d.HandleDialFailure(2*ms, n(1), DialRefused)
	expectChanges(t, "refused", d.TakeOutput(), true)
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("%v since %v, want suspected since 2ms", state, since)
	}
	d.HandleFrame(3*ms, n(1))
	expectChanges(t, "what was under way when it died", d.TakeOutput())
}

// Evidence about a peer that is not monitored is kept, and counts when the peer is monitored.
func TestEvidenceIsKeptUntilPeerIsMonitored(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Down(ms, n(1), false)
	expectDials(t, "the connection ended", d.TakeOutput(), 1)
	d.HandleDialFailure(2*ms, n(1), DialRefused)
	expectChanges(t, "refused, not monitored", d.TakeOutput())
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("%v since %v, want suspected since 2ms", state, since)
	}
	d.Down(3*ms, n(1), false)
	expectDials(t, "dead already", d.TakeOutput(), 0)
	d.Monitor(time.Second, []algo.NodeID{n(1)})
	out := d.TakeOutput()
	expectChanges(t, "monitored", out, true)
	expectDials(t, "monitored", out, 0)
	expectDials(t, "the redial", runUntil(d, time.Second+config().MinRedial), 1)
	if _, since, _ := d.State(n(1)); since != 2*ms {
		t.Errorf("suspected since %v, want since it died, 2ms", since)
	}
	d.Monitor(2*time.Second, nil)
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("monitored no more: %v since %v, want suspected since 2ms", state, since)
	}
	d.Up(3*time.Second, n(1), 8)
	d.Monitor(3*time.Second, []algo.NodeID{n(1)})
	expectChanges(t, "it is back", d.TakeOutput())
}

// A refused dial and a new incarnation are reported as the end of an incarnation, whether or not the peer is monitored.
// Silence and a goodbye are not.
func TestDeathOfUnmonitoredPeerIsReported(t *testing.T) {
	for _, watched := range [][]algo.NodeID{nil, {n(1)}} {
		d := New(config())
		ends := func(what string, want int) {
			t.Helper()
			got := 0
			for _, c := range d.TakeOutput().Changes {
				if c.Died && c.Peer == n(1) && !c.Suspected {
					got++
				}
			}
			if got != want {
				t.Errorf("%s: said %d times that it has ended, want %d", what, got, want)
			}
		}
		d.Up(0, n(1), 7)
		d.Monitor(0, watched)
		d.Down(ms, n(1), false)
		ends("the connection ended", 0)
		d.HandleDialFailure(2*ms, n(1), DialTimeout)
		ends("no answer", 0)
		d.HandleDialFailure(2*ms, n(1), DialRefused)
		ends("refused", 1)
		d.Up(3*ms, n(1), 7)
		ends("the same is back", 0)
		d.Up(4*ms, n(1), 8)
		ends("another", 1)
		d.HandleGoodbye(5*ms, n(1))
		runUntil(d, time.Hour)
		ends("goodbye", 0)
	}
}

// Every refused dial to a monitored peer is evidence, even the first dial to it.
func TestRefusedFirstDialIsEvidence(t *testing.T) {
	d := New(config())
	d.Monitor(0, []algo.NodeID{n(1)})
	expectDials(t, "monitored", d.TakeOutput(), 1)
	d.HandleDialFailure(ms, n(1), DialRefused)
	expectChanges(t, "refused", d.TakeOutput(), true)
}

// After a dial that is reset, or closed before the hello, the detector dials again at once. After 10 such dials, it
// dials with back-off if the peer is monitored, and otherwise no more.
func TestDyingProcessIsRedialedAtOnce(t *testing.T) {
	for _, monitored := range []bool{true, false} {
		d := newMonitor(t)
		if !monitored {
			d.Monitor(0, nil)
		}
		d.Down(0, n(1), false)
		expectDials(t, "the connection ended", d.TakeOutput(), 1)
		for try := range instantRedials {
			d.HandleDialFailure(0, n(1), DialReset)
			out := d.TakeOutput()
			expectDials(t, "reset", out, 1)
			expectChanges(t, "reset", out)
			_ = try
		}
		d.HandleDialFailure(0, n(1), DialReset)
		expectDials(t, "reset too often", d.TakeOutput(), 0)
		want := 1
		if !monitored {
			want = 0
		}
		expectDials(t, "after a while", runUntil(d, config().MaxRedial), want)
	}
}

func TestDyingProcessIsSuspectedOnceRefused(t *testing.T) {
	d := newMonitor(t)
	d.Down(0, n(1), false)
	d.HandleDialFailure(0, n(1), DialReset)
	d.HandleDialFailure(0, n(1), DialRefused)
	expectChanges(t, "refused", d.TakeOutput(), true)
	// The peer restarts much later, and dies again while it starts.
	for range 40 {
		d.HandleDialFailure(time.Minute, n(1), DialRefused)
	}
	d.TakeOutput()
	for range 2 {
		for range instantRedials {
			d.HandleDialFailure(time.Minute, n(1), DialReset)
			expectDials(t, "dying again, after many refusals", d.TakeOutput(), 1)
		}
		d.HandleDialFailure(time.Minute, n(1), DialRefused)
		expectDials(t, "refused", d.TakeOutput(), 0)
	}
}

// A monitored peer that says hello with a new incarnation is suspected and then trusted. With the same incarnation,
// nothing changes.
func TestRestartedPeerIsSuspectedThenTrusted(t *testing.T) {
	d := newMonitor(t)
	d.Down(ms, n(1), false)
	d.TakeOutput()
	d.Up(2*ms, n(1), 7)
	out := d.TakeOutput()
	expectChanges(t, "the same incarnation", out)
	if kinds(out, "subscribe") != 1 {
		t.Errorf("a new connection begins with %v, want a watch", out.Sends)
	}
	d.Up(3*ms, n(1), 8)
	expectChanges(t, "a new incarnation", d.TakeOutput(), true, false)

	d = newMonitor(t)
	expectChanges(t, "silence", runUntil(d, time.Second), true)
	d.Up(time.Second, n(1), 8)
	expectChanges(t, "it was dead and is back", d.TakeOutput(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("it was right to suspect it, and its timeout has grown to %v", got)
	}
	d = newMonitor(t)
	expectChanges(t, "silence", runUntil(d, time.Second), true)
	d.Down(time.Second, n(1), false)
	d.HandleDialFailure(time.Second, n(1), DialRefused)
	expectChanges(t, "silent and dead", d.TakeOutput())
	d.Up(2*time.Second, n(1), 7)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("there was evidence for its silence, and its timeout has grown to %v", got)
	}
	d = newMonitor(t)
	runUntil(d, time.Second)
	d.Up(time.Second, n(1), 7)
	if got := d.peers[n(1)].timeout; got == timeout {
		t.Error("it was suspected wrongly, and its timeout has not grown")
	}
}

// A dial without an answer is no evidence: the peer is suspected only when its timeout has passed.
func TestDialTimeoutIsNoEvidence(t *testing.T) {
	d := newMonitor(t)
	d.Down(ms, n(1), false)
	d.TakeOutput()
	d.HandleDialFailure(2*ms, n(1), DialTimeout)
	out := d.TakeOutput()
	expectChanges(t, "no answer", out)
	expectDials(t, "no answer", out, 0)
	expectChanges(t, "silence", runUntil(d, timeout-1))
	expectChanges(t, "silence", runUntil(d, timeout), true)
}

// With TimeoutOnly, a refused or reset dial is no evidence.
func TestEvidenceCanBeDisabled(t *testing.T) {
	c := config()
	c.TimeoutOnly = true
	d := New(c)
	d.Up(0, n(1), 7)
	d.Monitor(0, []algo.NodeID{n(1)})
	d.TakeOutput()
	d.Down(ms, n(1), false)
	expectDials(t, "the connection ended", d.TakeOutput(), 0)
	expectDials(t, "later", runUntil(d, ms+c.MinRedial), 1)
	for _, fact := range []DialResult{DialRefused, DialReset} {
		d.HandleDialFailure(20*ms, n(1), fact)
		out := d.TakeOutput()
		expectChanges(t, "a forged refusal", out)
		expectDials(t, "a forged refusal", out, 0)
	}
	expectChanges(t, "silence", runUntil(d, timeout), true)

	d = New(c)
	d.Up(0, n(1), 7)
	d.Down(ms, n(1), false)
	expectDials(t, "not monitored", runUntil(d, time.Minute), 0)
}

// A peer that says goodbye is suspected at once.
func TestGoodbyeIsSuspectedAtOnce(t *testing.T) {
	d := newMonitor(t)
	d.HandleGoodbye(ms, n(1))
	expectChanges(t, "goodbye", d.TakeOutput(), true)
	d.Down(2*ms, n(1), true)
	expectDials(t, "a polite end", d.TakeOutput(), 0)
	expectDials(t, "a polite end, later", runUntil(d, 2*ms+config().MinRedial), 1)

	d = New(config())
	d.Up(0, n(1), 7)
	d.Down(2*ms, n(1), true)
	expectDials(t, "a polite end, not monitored", runUntil(d, time.Minute), 0)
	if state, since, _ := d.State(n(1)); state != Unknown || since != 2*ms {
		t.Errorf("%v since %v, want unknown since 2ms", state, since)
	}
}

// A node suspects no peer for the time of its own stall.
func TestLateWakeSuspectsNoPeer(t *testing.T) {
	for _, late := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
		d := newMonitor(t)
		hearUntil(d, 0, time.Second)
		back := time.Second + late
		d.Wake(back)
		expectChanges(t, "a late wake", d.TakeOutput())
		out := runUntil(d, back+interval)
		expectChanges(t, "an interval later", out)
		// The peer is alive.
		d.HandleFrame(back+interval, n(1))
		expectChanges(t, "it was heard of", d.TakeOutput())
		if got := d.peers[n(1)].timeout; got != timeout {
			t.Errorf("the timeout grew to %v without a mistake", got)
		}
	}
}

// Frames that waited on the sockets are delivered before the wake. They must not hide the stall: frames of other peers
// may come a little later.
func TestLateWakeAfterFramesOfOtherPeers(t *testing.T) {
	d := New(config())
	both := []algo.NodeID{n(1), n(2)}
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	d.Monitor(0, both)
	takeAndRearm(d)
	back := 10 * time.Second
	d.HandleFrame(back, n(2))
	d.Wake(back)
	if out := d.TakeOutput(); len(out.Changes) != 0 {
		t.Errorf("n1 has had no chance to be heard of: %v", out.Changes)
	}
	d.Up(back, n(2), 7) // a new connection leaves no deadline in the past
	if d.Deadline() < back {
		t.Errorf("a wake is due at %v, which is past at %v", d.Deadline(), back)
	}
}

func TestLateWakeSuspectsDeadPeerLater(t *testing.T) {
	d := newMonitor(t)
	back := time.Minute
	d.Wake(back)
	expectChanges(t, "a late wake", d.TakeOutput())
	expectChanges(t, "soon after", runUntil(d, back+timeout+interval), true)
}

// A stall that ends just after a peer's deadline is detected: while the peer is silent, the detector wakes more often
// than that deadline requires.
func TestStallBeforeDeadlineIsDetected(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "until the pause", runUntil(d, timeout-interval))
	back := timeout + interval/4
	d.Wake(back)
	expectChanges(t, "late by less than an interval", d.TakeOutput())
}

// A stall may have begun at any time in the last two intervals. So a peer gets two intervals after it to be heard, and
// no more, even if its deadline passed right at the start of the stall.
func TestPeerHasTwoIntervalsAfterStall(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence, not too long", runUntil(d, timeout-1))
	back := time.Minute
	d.Wake(back)
	expectChanges(t, "a late wake", d.TakeOutput())
	expectChanges(t, "soon after", runUntil(d, back+2*interval-1))
	expectChanges(t, "two intervals after", runUntil(d, back+2*interval), true)
}

// However long a stall was, a peer is suspected once it has been silent for its timeout since then. That includes a
// peer with a frame that waited on the socket and came before the late wake.
func TestExtensionAfterStallIsBounded(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	d.Monitor(0, []algo.NodeID{n(1), n(2)})
	takeAndRearm(d)
	back := time.Hour
	d.HandleFrame(back, n(1))
	d.Wake(back)
	d.HandleFrame(back, n(2))
	expectChanges(t, "a late wake", d.TakeOutput())
	for at := back; at < back+timeout; at += interval {
		runUntil(d, at)
		d.HandleFrame(at, n(2))
	}
	d.TakeOutput()
	runUntil(d, back+timeout)
	if state, since, _ := d.State(n(1)); state != Suspected || since > back+timeout {
		t.Errorf("silent for its timeout of %v since the pause, n1 is %v", timeout, state)
	}
}

// During a stall of this node, no peer was silent: a raised timeout decays after it as at any other time.
func TestStallIsNoSilenceOfPeer(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence", runUntil(d, timeout), true)
	d.HandleFrame(timeout, n(1))
	d.TakeOutput()
	grown := d.peers[n(1)].timeout
	back := time.Minute
	d.Wake(back)
	hearUntil(d, back, back+interval)
	if got, want := d.peers[n(1)].timeout, grown-(grown-timeout)/4; got != want {
		t.Errorf("after the pause the timeout is %v, want %v: a quarter of what it grew has come back", got, want)
	}
}

// A stall does not explain a suspicion from the time before it.
func TestStallEndsNoSuspicion(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence", runUntil(d, time.Minute), true)
	back := time.Minute + 10*time.Second
	d.Wake(back)
	d.HandleFrame(back, n(1))
	expectChanges(t, "heard", d.TakeOutput(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("the timeout grew to %v, which would not have helped", got)
	}
}

func TestPunctualWakeExtendsNothing(t *testing.T) {
	d := newMonitor(t)
	var all Output
	for d.Deadline() <= 2*timeout {
		d.Wake(d.Deadline() + interval/2) // a loaded machine
		collect(&all, d.TakeOutput())
	}
	expectChanges(t, "silence", all, true)
	if _, since, _ := d.State(n(1)); since > timeout+interval/2 {
		t.Errorf("suspected since %v, want %v at most", since, timeout+interval/2)
	}
}

// Each wake moves the deadline forward, and wakes do not pile up.
func TestDeadlineMovesForward(t *testing.T) {
	d := newMonitor(t)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	wakes := 0
	for at := time.Duration(0); at < 100*interval; at += interval {
		d.HandleFrame(at, n(1))
		for d.Deadline() < at+interval {
			now := d.Deadline()
			d.Wake(now)
			wakes++
			if d.Deadline() <= now {
				t.Fatalf("after a wake at %v the next is due at %v", now, d.Deadline())
			}
		}
	}
	if wakes > 150 {
		t.Errorf("%d wakes in 100 intervals for one peer each way, want at most 1.5 an interval", wakes)
	}
	t.Logf("%.2f wakes an interval", float64(wakes)/100)

	// A follower that hears its leader in time.
	d = newMonitor(t)
	wakes = 0
	for at := time.Duration(0); at < 100*interval; at += interval {
		d.HandleFrame(at, n(1))
		for d.Deadline() < at+interval {
			d.Wake(d.Deadline())
			wakes++
		}
	}
	if wakes > 30 {
		t.Errorf("%d wakes in 100 intervals for a leader in time, want few", wakes)
	}
}

// A monitored peer is redialed with back-off.
func TestRedialBacksOff(t *testing.T) {
	d := New(config())
	d.Monitor(0, []algo.NodeID{n(1)})
	d.TakeOutput()
	at, waits := time.Duration(0), []time.Duration{}
	for range 12 {
		d.HandleDialFailure(at, n(1), DialTimeout)
		for len(d.TakeOutput().Dials) == 0 {
			next := d.Deadline()
			d.Wake(next)
			if d.peers[n(1)].redialAt == never {
				waits = append(waits, next-at)
				at = next
			}
		}
	}
	want := config().MinRedial
	for i, wait := range waits {
		if wait != want {
			t.Fatalf("dial %d came after %v, want %v (all: %v)", i+1, wait, want, waits)
		}
		want = min(2*want, config().MaxRedial)
	}
	d.Up(at, n(1), 7)
	d.HandleDialFailure(at, n(1), DialRefused)
	expectChanges(t, "refused while it is connected: it dialled us", d.TakeOutput(), false)
}

// If each connection to a live peer ends after a short time, redials back off. Otherwise both nodes would be busy with
// them forever.
func TestBriefConnectionsAreRedialedWithBackoff(t *testing.T) {
	for _, monitored := range []bool{true, false} {
		d := New(config())
		if monitored {
			d.Monitor(0, []algo.NodeID{n(1)})
		}
		d.TakeOutput()
		at, count := time.Duration(0), 0
		for at < 10*time.Second && count < 1000 {
			d.Up(at, n(1), 7)
			at += ms
			d.Down(at, n(1), false)
			for len(d.TakeOutput().Dials) == 0 {
				if d.Deadline() > time.Minute {
					at = time.Minute
					break
				}
				at = d.Deadline()
				d.Wake(at)
			}
			count++
		}
		if count < instantRedials || count > 40 {
			t.Errorf("monitored %v: %d connections in 10s of a millisecond each, want few", monitored, count)
		}
	}
	// A peer that is killed again and again has a new incarnation each time, so its redials do not back off.
	d := newMonitor(t)
	for i := range 100 {
		d.Up(time.Duration(i)*ms, n(1), uint64(i+10))
		d.TakeOutput()
		d.Down(time.Duration(i)*ms, n(1), false)
		expectDials(t, "killed again", d.TakeOutput(), 1)
	}
}

func TestForgottenPeerIsUnknown(t *testing.T) {
	d := newMonitor(t)
	d.Receive(0, n(1), Subscribe{Interval: interval, TTL: time.Hour})
	d.HandleGoodbye(0, n(1))
	d.Forget(n(1))
	d.Forget(n(2))
	if out := runUntil(d, time.Hour); len(out.Sends)+len(out.Dials)+len(out.Changes) > 0 || len(d.order) > 0 {
		t.Errorf("a forgotten peer brings about %+v", out)
	}
	if out := d.TakeOutput(); len(out.Changes) != 0 {
		t.Errorf("said about a forgotten peer: %v", out.Changes)
	}
	if state, _, _ := d.State(n(1)); state != Unknown {
		t.Errorf("a forgotten peer is %v", state)
	}
}

// A change that the driver has not taken is dropped when monitoring of the peer ends.
func TestMonitoringAgainDropsSuspicion(t *testing.T) {
	d := newMonitor(t)
	d.Wake(d.Deadline())
	d.TakeOutput()
	for d.Deadline() < timeout {
		d.Wake(d.Deadline())
	}
	d.Wake(timeout)
	d.Monitor(timeout, nil)
	d.Monitor(timeout, []algo.NodeID{n(1)})
	expectChanges(t, "monitored again", d.TakeOutput())
	if state, _, _ := d.State(n(1)); state != Alive {
		t.Errorf("it is %v, want alive: silence counts from now", state)
	}
	expectChanges(t, "silent again", runUntil(d, 2*timeout), true)
}

func TestSilentPeerIsTrustedWhenHeard(t *testing.T) {
	d := newMonitor(t)
	expectChanges(t, "silence", runUntil(d, time.Second), true)
	d.HandleFrame(time.Second, n(1))
	expectChanges(t, "heard", d.TakeOutput(), false)
	d.HandleFrame(time.Second, n(1))
	d.HandleFrame(time.Second, n(5))
	expectChanges(t, "heard again", d.TakeOutput())
	if state, since, _ := d.State(n(1)); state != Alive || since != time.Second {
		t.Errorf("%v since %v, want alive since 1s", state, since)
	}
}

// A node rejects a Subscribe with an interval or TTL out of bounds, so that no peer can keep it busy.
func TestInvalidSubscribeIsRejected(t *testing.T) {
	const most = time.Duration(1<<63 - 1)
	for _, w := range []Subscribe{
		{}, {Interval: interval}, {TTL: time.Second}, {Interval: -1, TTL: time.Second}, {Interval: 1, TTL: time.Second},
		{Interval: time.Millisecond - 1, TTL: time.Second}, {Interval: interval, TTL: interval - 1}, {Interval: interval, TTL: -1},
		{Interval: most, TTL: most}, {Interval: interval, TTL: most}, {Interval: -most - 1, TTL: -most - 1},
		{Interval: interval, TTL: time.Hour + 1}, {Interval: most, TTL: interval},
	} {
		d := New(config())
		d.Up(0, n(1), 7)
		if _, why := d.Receive(time.Hour, n(1), w); why == nil {
			t.Errorf("%+v was granted", w)
		}
		if d.Deadline() != never {
			t.Errorf("%+v: a wake is due at %v", w, d.Deadline())
		}
	}
	// The shortest interval that is accepted.
	d := New(config())
	d.Up(0, n(1), 7)
	if _, why := d.Receive(0, n(1), Subscribe{Interval: time.Millisecond, TTL: time.Second}); why != nil {
		t.Fatal(why)
	}
	if got := kinds(runUntil(d, time.Minute), "heartbeat"); got > 1000 {
		t.Errorf("%d beats, want at most 1000", got)
	}
}

func TestPeerStates(t *testing.T) {
	d := New(config())
	if s, _, _ := d.State(n(1)); s != Unknown || s.String() != "unknown" {
		t.Errorf("an unknown peer is %v", s)
	}
	d.Up(ms, n(1), 7)
	if s, since, _ := d.State(n(1)); s != Connected || since != ms {
		t.Errorf("%v since %v, want connected since 1ms", s, since)
	}
	d.Monitor(2*ms, []algo.NodeID{n(1), n(1)})
	if s, since, _ := d.State(n(1)); s != Alive || since != 2*ms {
		t.Errorf("%v since %v, want alive since 2ms", s, since)
	}
	d.Monitor(3*ms, nil)
	if s, since, _ := d.State(n(1)); s != Connected || since != 3*ms {
		t.Errorf("%v since %v, want connected since 3ms", s, since)
	}
	if len(Messages()) != 4 {
		t.Errorf("%d messages, want 4", len(Messages()))
	}
}

// State returns the raised timeout of a peer, and 0 if the peer is not monitored.
func TestStateIncludesTimeout(t *testing.T) {
	d := New(config())
	shows := func(want time.Duration) {
		t.Helper()
		if _, _, got := d.State(n(1)); got != want {
			t.Errorf("its timeout shows as %v, want %v", got, want)
		}
	}
	shows(0)
	d.Up(0, n(1), 1)
	shows(0)
	d.Monitor(0, []algo.NodeID{n(1)})
	shows(timeout)
	d.Wake(timeout)
	d.HandleFrame(timeout+ms, n(1))
	shows(timeout + timeout/2)
	d.Monitor(timeout+ms, nil)
	shows(0)
}
