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
		Heartbeat: interval, Timeout: timeout, MaxTimeout: 10 * timeout, Forgive: time.Second,
		RoundTrip: 1, MinRedial: 10 * ms, MaxRedial: time.Second,
	}
}

func n(i int) algo.NodeID { return algo.NodeID{15: byte(i), 14: byte(i >> 8)} }

// watcher is a detector that watches n1, which is connected, since time 0.
func watcher(t *testing.T) *Detector {
	t.Helper()
	d := New(config())
	d.Up(0, n(1), 7)
	d.Monitor(0, []algo.NodeID{n(1)})
	rests(d)
	return d
}

// rests is what a host does after each call: it takes what is asked for, and when it is due to wake the detector.
func rests(d *Detector) {
	d.Take()
	d.Deadline()
}

// hears passes the time from at to end with a beat of n1 each interval, and wakes
// the detector when it asks for that. It returns what the detector asked for.
func hears(d *Detector, at, end time.Duration) (all Output) {
	for at < end {
		d.Heard(at, n(1))
		collect(&all, d.Take())
		next := min(at+interval, end)
		collect(&all, runs(d, next))
		at = next
	}
	return all
}

// runs wakes the detector at each of its deadlines up to end, its end included. What is due
// at a deadline must be done then: a detector that leaves it would be woken for ever.
func runs(d *Detector, end time.Duration) (all Output) {
	for d.Deadline() <= end {
		now := d.Deadline()
		d.Wake(now)
		if d.Deadline() <= now {
			panic("fd: woken at " + now.String() + ", and due again at " + d.Deadline().String())
		}
		collect(&all, d.Take())
	}
	return all
}

func collect(all *Output, more Output) {
	all.Sends = append(all.Sends, more.Sends...)
	all.Dials = append(all.Dials, more.Dials...)
	all.Changes = append(all.Changes, more.Changes...)
	all.Links = append(all.Links, more.Links...)
}

func kinds(out Output, kind string) (count int) {
	for _, s := range out.Sends {
		if s.Message.Kind() == kind {
			count++
		}
	}
	return count
}

// says fails unless the changes are those of n1, in that order.
func says(t *testing.T, what string, out Output, suspected ...bool) {
	t.Helper()
	var got []bool
	for _, c := range out.Changes {
		if c.Died {
			continue
		}
		if c.Peer != n(1) || c.Why == "" {
			t.Errorf("%s: change %+v, want one of n1 with a reason", what, c)
		}
		got = append(got, c.Suspected)
	}
	if !slices.Equal(got, suspected) {
		t.Errorf("%s: suspected %v, want %v", what, got, suspected)
	}
}

func dials(t *testing.T, what string, out Output, want int) {
	t.Helper()
	if len(out.Dials) != want {
		t.Errorf("%s: %d dials, want %d", what, len(out.Dials), want)
	}
}

func TestConfigSaysEveryMistake(t *testing.T) {
	if err := Check(config()); err != nil {
		t.Fatalf("a good config has mistakes: %v", err)
	}
	for _, test := range []struct {
		field  string
		change func(*algo.Timing)
	}{
		{"heartbeat", func(c *algo.Timing) { c.Heartbeat = 0 }},
		{"heartbeat", func(c *algo.Timing) {
			c.Heartbeat, c.Timeout, c.MaxTimeout, c.Forgive = 7*time.Minute, time.Hour, time.Hour, 2*time.Hour
		}},
		{"timeout", func(c *algo.Timing) { c.Timeout = interval }},
		{"max_timeout", func(c *algo.Timing) { c.MaxTimeout = timeout - 1 }},
		{"max_timeout", func(c *algo.Timing) { c.MaxTimeout = 1 << 62 }},
		{"forgive", func(c *algo.Timing) { c.Forgive = timeout }},
		{"min_redial", func(c *algo.Timing) { c.MinRedial = 0 }},
		{"max_redial", func(c *algo.Timing) { c.MaxRedial = ms }},
		{"max_redial", func(c *algo.Timing) { c.MaxRedial = 1 << 62 }},
		{"round_trip", func(c *algo.Timing) { c.RoundTrip = 0 }},
		{"timeout", func(c *algo.Timing) { c.RoundTrip = 2 * timeout }},
		{"first_contact", func(c *algo.Timing) { c.FirstContact = -1 }},
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

// "A watcher sends Watch (a lease that says the interval it wants, renewed at
// half-life)."
func TestWatchIsRenewedAtHalfLife(t *testing.T) {
	d := New(config())
	d.Digest(99)
	d.Up(0, n(1), 7)
	if out := d.Take(); len(out.Sends) != 0 {
		t.Fatalf("before anybody is monitored: %v", out.Sends)
	}
	d.Monitor(0, []algo.NodeID{n(1)})
	out := d.Take()
	want := Watch{Interval: interval, Lease: 10 * interval, View: 99}
	if len(out.Sends) != 1 || out.Sends[0].To != n(1) || out.Sends[0].Message != want {
		t.Fatalf("monitored: %v, want %v", out.Sends, want)
	}
	const leases = 10
	renewals := kinds(hears(d, 0, leases*10*interval), "watch")
	if renewals < 2*leases || renewals > 2*leases+leases {
		t.Errorf("%d renewals in %d leases, want two for each, or a little earlier", renewals, leases)
	}
	d.Monitor(leases*10*interval, nil)
	d.Take()
	if out := runs(d, 2*leases*10*interval); len(out.Sends) != 0 {
		t.Errorf("monitored no more: %v", out.Sends)
	}
}

// A lease of ours may have ended while its peer was cut off. Without it who is back is heard of half a lease later.
func TestWhoIsSuspectedIsAskedAtEachHeartbeat(t *testing.T) {
	d := watcher(t)
	says(t, "silence", runs(d, timeout), true)
	if asked := kinds(runs(d, timeout+5*interval), "watch"); asked != 5 {
		t.Errorf("it is asked %d times in 5 intervals, want 5", asked)
	}
	d.Down(timeout+5*interval, n(1), true)
	d.Take()
	if asked := kinds(runs(d, timeout+10*interval), "watch"); asked != 0 {
		t.Errorf("it is asked %d times without a connection", asked)
	}
}

// "The watched pushes Beat to live watchers only", while the lease lasts.
func TestBeatsLastAsLongAsTheLease(t *testing.T) {
	d := New(config())
	d.Digest(99)
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	if _, why := d.Receive(0, n(1), Watch{Interval: interval, Lease: 10 * interval}); why != nil {
		t.Fatal(why)
	}
	out := runs(d, time.Minute)
	if got := kinds(out, "beat"); got < 9 || got > 10 || got != len(out.Sends) {
		t.Errorf("%d beats of %d frames in a lease of 10 intervals", got, len(out.Sends))
	}
	for _, s := range out.Sends {
		if s.To != n(1) || s.Message != (Beat{View: 99}) {
			t.Errorf("sent %v to %v, want beats with the digest to the watcher", s.Message, s.To)
		}
	}
	if d.Deadline() != never {
		t.Errorf("the lease is over and a wake is due at %v", d.Deadline())
	}
}

func TestBeatsEndWithTheConnection(t *testing.T) {
	for _, polite := range []bool{true, false} {
		d := New(config())
		d.Up(0, n(1), 7)
		d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
		d.Down(ms, n(1), polite)
		d.Up(2*ms, n(1), 7)
		if out := runs(d, time.Second); len(out.Sends) != 0 {
			t.Errorf("polite %v: %d frames to a watcher that has not asked since it was gone", polite, len(out.Sends))
		}
	}
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
	d.Up(2*ms, n(1), 8)
	if out := runs(d, time.Second); len(out.Sends) != 0 {
		t.Errorf("%d frames to a process that never asked", len(out.Sends))
	}
}

func TestALeaseOfSomebodyNotConnectedSendsNothing(t *testing.T) {
	d := New(config())
	d.Receive(0, n(1), Watch{Interval: interval, Lease: 10 * interval})
	if out := runs(d, time.Second); len(out.Sends) != 0 {
		t.Errorf("sent %v", out.Sends)
	}
}

// "Any frame to a watcher replaces a beat."
func TestAnyFrameReplacesABeat(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
	d.Sent(0, n(9)) // somebody unknown: nothing
	var all Output
	for tick := range 100 {
		at := time.Duration(tick+1)*interval - 10*ms
		collect(&all, runs(d, at))
		d.Sent(at, n(1))
	}
	if got := kinds(all, "beat"); got != 0 {
		t.Errorf("%d beats beside frames that were sent just before each", got)
	}
}

// Beats to all watchers fall on the same ticks: one wake for all.
func TestBeatsFallOnTheSameTicks(t *testing.T) {
	d := New(config())
	for i := range 20 {
		d.Up(0, n(i+1), 7)
		at := time.Duration(i) * 7 * ms / 3
		runs(d, at)
		d.Receive(at, n(i+1), Watch{Interval: interval, Lease: time.Hour})
	}
	runs(d, 2*interval)
	wakes, beats := 0, 0
	for d.Deadline() <= 102*interval {
		d.Wake(d.Deadline())
		wakes++
		beats += kinds(d.Take(), "beat")
	}
	if wakes != 100 || beats != 2000 {
		t.Errorf("%d wakes for %d beats in 100 intervals, want 100 for 2000", wakes, beats)
	}
}

func TestTheGapBetweenBeatsIsAtMostOneAndAHalfIntervals(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
	last := time.Duration(0)
	for i := range 1000 {
		send := last + time.Duration(i*37%50)*ms // at any phase
		for d.Deadline() <= send {
			at := d.Deadline()
			d.Wake(at)
			if kinds(d.Take(), "beat") > 0 {
				if at-last > interval*3/2 {
					t.Fatalf("nothing was sent from %v to %v", last, at)
				}
				last = at
			}
		}
		if send > last {
			d.Sent(send, n(1))
			last = send
		}
	}
}

// "The timeout of a peer grows after each mistake and comes back slowly."
func TestTheTimeoutGrowsAndComesBack(t *testing.T) {
	d := watcher(t)
	at, p := time.Duration(0), d.peers[n(1)]
	for mistake := range 20 {
		before := p.timeout
		at += before + 10*ms
		says(t, "silence", runs(d, at), true)
		if state, since, _ := d.State(n(1)); state != Suspected || since != at-10*ms {
			t.Fatalf("%v since %v, want suspected since %v", state, since, at-10*ms)
		}
		d.Heard(at, n(1))
		says(t, "heard", d.Take(), false)
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
	hears(d, at, at+config().Forgive+2*interval)
	at += config().Forgive + 2*interval
	if want := before - (before-timeout)/4; p.timeout != want {
		t.Errorf("after a while without a mistake it is %v, want %v", p.timeout, want)
	}
	hears(d, at, at+200*config().Forgive)
	if p.timeout != timeout {
		t.Errorf("after a long while it is %v, want %v", p.timeout, timeout)
	}
}

// One long silence makes the timeout grow by half, and another one to what would have borne it.
func TestTheTimeoutGrowsToWhatIsNeeded(t *testing.T) {
	d := watcher(t)
	at, p := time.Duration(0), d.peers[n(1)]
	const cut = 6 * timeout
	for i, want := range []time.Duration{timeout + timeout/2, cut * 5 / 4} {
		at += cut
		says(t, "silence", runs(d, at), true)
		d.Heard(at, n(1))
		says(t, "heard", d.Take(), false)
		if p.timeout != want {
			t.Errorf("after silence %d of %v the timeout is %v, want %v", i+1, cut, p.timeout, want)
		}
	}
	at += cut
	says(t, "it is borne", runs(d, at))
}

// A process that was stopped for long would have been suspected with any timeout.
func TestALongSilenceWasNoMistake(t *testing.T) {
	d := watcher(t)
	says(t, "silence", runs(d, time.Minute), true)
	d.Heard(time.Minute, n(1))
	says(t, "heard", d.Take(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("the timeout grew to %v, which would not have helped", got)
	}
}

// Chandra and Toueg 1996, ◇P: with delays that are bounded, by a bound above the first
// timeout, mistakes end; also when the timeout has had time to come back.
func TestMistakesEnd(t *testing.T) {
	d := watcher(t)
	mistakes, last := 0, time.Duration(0)
	for at := time.Duration(0); at < time.Hour; at += 3 * timeout { // a frame each, when 340 ms are allowed
		for _, change := range runs(d, at).Changes {
			if change.Suspected {
				mistakes, last = mistakes+1, at
			}
		}
		d.Heard(at, n(1))
		d.Take()
	}
	if mistakes == 0 || mistakes > 5 || last > time.Minute {
		t.Errorf("%d mistakes in an hour, the last after %v, want a few at the start", mistakes, last)
	}
}

// "A connection that ends without a goodbye is followed by a dial at once. Refused →
// suspected now."
func TestEvidenceADeadProcessIsSuspectedAtOnce(t *testing.T) {
	d := watcher(t)
	d.Down(ms, n(1), false)
	out := d.Take()
	dials(t, "the connection ended", out, 1)
	says(t, "the connection ended", out)
	d.DialFailed(2*ms, n(1), Refused)
	says(t, "refused", d.Take(), true)
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("%v since %v, want suspected since 2ms", state, since)
	}
	d.Heard(3*ms, n(1))
	says(t, "what was under way when it died", d.Take())
}

// The same for a peer that is not watched: the evidence is kept.
func TestEvidenceIsKeptUntilThePeerIsMonitored(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Down(ms, n(1), false)
	dials(t, "the connection ended", d.Take(), 1)
	d.DialFailed(2*ms, n(1), Refused)
	says(t, "refused, not monitored", d.Take())
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("%v since %v, want suspected since 2ms", state, since)
	}
	d.Down(3*ms, n(1), false)
	dials(t, "dead already", d.Take(), 0)
	d.Monitor(time.Second, []algo.NodeID{n(1)})
	out := d.Take()
	says(t, "monitored", out, true)
	dials(t, "monitored", out, 0)
	dials(t, "the redial", runs(d, time.Second+config().MinRedial), 1)
	if _, since, _ := d.State(n(1)); since != 2*ms {
		t.Errorf("suspected since %v, want since it died, 2ms", since)
	}
	d.Monitor(2*time.Second, nil)
	if state, since, _ := d.State(n(1)); state != Suspected || since != 2*ms {
		t.Errorf("monitored no more: %v since %v, want suspected since 2ms", state, since)
	}
	d.Up(3*time.Second, n(1), 8)
	d.Monitor(3*time.Second, []algo.NodeID{n(1)})
	says(t, "it is back", d.Take())
}

// A refusal and a restart are the end of a process, whether or not it is watched; silence and a goodbye are not.
func TestAnEndIsSaidOfAnybody(t *testing.T) {
	for _, watched := range [][]algo.NodeID{nil, {n(1)}} {
		d := New(config())
		ends := func(what string, want int) {
			t.Helper()
			got := 0
			for _, c := range d.Take().Changes {
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
		d.DialFailed(2*ms, n(1), Unanswered)
		ends("no answer", 0)
		d.DialFailed(2*ms, n(1), Refused)
		ends("refused", 1)
		d.Up(3*ms, n(1), 7)
		ends("the same is back", 0)
		d.Up(4*ms, n(1), 8)
		ends("another", 1)
		d.Goodbye(5*ms, n(1))
		runs(d, time.Hour)
		ends("goodbye", 0)
	}
}

// "Every refused dial to a monitored peer is evidence, also the first one ever."
func TestEvidenceTheFirstDialEver(t *testing.T) {
	d := New(config())
	d.Monitor(0, []algo.NodeID{n(1)})
	dials(t, "monitored", d.Take(), 1)
	d.DialFailed(ms, n(1), Refused)
	says(t, "refused", d.Take(), true)
}

// "Reset, or closed before its hello → dial again at once (10 tries, then back-off)."
func TestEvidenceADyingProcessIsDialledAgainAtOnce(t *testing.T) {
	for _, monitored := range []bool{true, false} {
		d := watcher(t)
		if !monitored {
			d.Monitor(0, nil)
		}
		d.Down(0, n(1), false)
		dials(t, "the connection ended", d.Take(), 1)
		for try := range instantRedials {
			d.DialFailed(0, n(1), Broken)
			out := d.Take()
			dials(t, "reset", out, 1)
			says(t, "reset", out)
			_ = try
		}
		d.DialFailed(0, n(1), Broken)
		dials(t, "reset too often", d.Take(), 0)
		want := 1
		if !monitored {
			want = 0
		}
		dials(t, "after a while", runs(d, config().MaxRedial), want)
	}
}

func TestEvidenceDyingThenRefused(t *testing.T) {
	d := watcher(t)
	d.Down(0, n(1), false)
	d.DialFailed(0, n(1), Broken)
	d.DialFailed(0, n(1), Refused)
	says(t, "refused", d.Take(), true)
	// It comes back much later, and dies again just while it starts.
	for range 40 {
		d.DialFailed(time.Minute, n(1), Refused)
	}
	d.Take()
	for range 2 {
		for range instantRedials {
			d.DialFailed(time.Minute, n(1), Broken)
			dials(t, "dying again, after many refusals", d.Take(), 1)
		}
		d.DialFailed(time.Minute, n(1), Refused)
		dials(t, "refused", d.Take(), 0)
	}
}

// "Accepted with a new incarnation → Suspect, then Trust; with the same → nothing
// happened."
func TestEvidenceARestartIsSuspectThenTrust(t *testing.T) {
	d := watcher(t)
	d.Down(ms, n(1), false)
	d.Take()
	d.Up(2*ms, n(1), 7)
	out := d.Take()
	says(t, "the same incarnation", out)
	if kinds(out, "watch") != 1 {
		t.Errorf("a new connection begins with %v, want a watch", out.Sends)
	}
	d.Up(3*ms, n(1), 8)
	says(t, "a new incarnation", d.Take(), true, false)

	d = watcher(t)
	says(t, "silence", runs(d, time.Second), true)
	d.Up(time.Second, n(1), 8)
	says(t, "it was dead and is back", d.Take(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("it was right to suspect it, and its timeout has grown to %v", got)
	}
	d = watcher(t)
	says(t, "silence", runs(d, time.Second), true)
	d.Down(time.Second, n(1), false)
	d.DialFailed(time.Second, n(1), Refused)
	says(t, "silent and dead", d.Take())
	d.Up(2*time.Second, n(1), 7)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("there was evidence for its silence, and its timeout has grown to %v", got)
	}
	d = watcher(t)
	runs(d, time.Second)
	d.Up(time.Second, n(1), 7)
	if got := d.peers[n(1)].timeout; got == timeout {
		t.Error("it was suspected wrongly, and its timeout has not grown")
	}
}

// "Accepted without a hello → silence, the timeout decides."
func TestEvidenceNoAnswerAndSilenceDecides(t *testing.T) {
	d := watcher(t)
	d.Down(ms, n(1), false)
	d.Take()
	d.DialFailed(2*ms, n(1), Unanswered)
	out := d.Take()
	says(t, "no answer", out)
	dials(t, "no answer", out, 0)
	says(t, "silence", runs(d, timeout-1))
	says(t, "silence", runs(d, timeout), true)
}

// "A setting turns evidence off."
func TestEvidenceOff(t *testing.T) {
	c := config()
	c.NoEvidence = true
	d := New(c)
	d.Up(0, n(1), 7)
	d.Monitor(0, []algo.NodeID{n(1)})
	d.Take()
	d.Down(ms, n(1), false)
	dials(t, "the connection ended", d.Take(), 0)
	dials(t, "later", runs(d, ms+c.MinRedial), 1)
	for _, fact := range []Fact{Refused, Broken} {
		d.DialFailed(20*ms, n(1), fact)
		out := d.Take()
		says(t, "a forged refusal", out)
		dials(t, "a forged refusal", out, 0)
	}
	says(t, "silence", runs(d, timeout), true)

	d = New(c)
	d.Up(0, n(1), 7)
	d.Down(ms, n(1), false)
	dials(t, "not monitored", runs(d, time.Minute), 0)
}

// "A goodbye (clean stop) is Suspect at once."
func TestGoodbyeIsSuspectAtOnce(t *testing.T) {
	d := watcher(t)
	d.Goodbye(ms, n(1))
	says(t, "goodbye", d.Take(), true)
	d.Down(2*ms, n(1), true)
	dials(t, "a polite end", d.Take(), 0)
	dials(t, "a polite end, later", runs(d, 2*ms+config().MinRedial), 1)

	d = New(config())
	d.Up(0, n(1), 7)
	d.Down(2*ms, n(1), true)
	dials(t, "a polite end, not monitored", runs(d, time.Minute), 0)
	if state, since, _ := d.State(n(1)); state != Unknown || since != 2*ms {
		t.Errorf("%v since %v, want unknown since 2ms", state, since)
	}
}

// "A node that itself did not run suspects nobody for it."
func TestLateWakeSuspectsNobody(t *testing.T) {
	for _, late := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
		d := watcher(t)
		hears(d, 0, time.Second)
		back := time.Second + late
		d.Wake(back)
		says(t, "a late wake", d.Take())
		out := runs(d, back+interval)
		says(t, "an interval later", out)
		// The peer lives: all is well.
		d.Heard(back+interval, n(1))
		says(t, "it was heard of", d.Take())
		if got := d.peers[n(1)].timeout; got != timeout {
			t.Errorf("the timeout grew to %v without a mistake", got)
		}
	}
}

// What waited on the sockets is delivered before the wake. It must not hide that the
// node did not run from those whose frames come a little later.
func TestLateWakeAfterFramesOfOthers(t *testing.T) {
	d := New(config())
	both := []algo.NodeID{n(1), n(2)}
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	d.Monitor(0, both)
	rests(d)
	back := 10 * time.Second
	d.Heard(back, n(2))
	d.Wake(back)
	if out := d.Take(); len(out.Changes) != 0 {
		t.Errorf("n1 has had no chance to be heard of: %v", out.Changes)
	}
	d.Up(back, n(2), 7) // a new connection hides nothing either, and is no lateness
	if d.Deadline() < back {
		t.Errorf("a wake is due at %v, which is past at %v", d.Deadline(), back)
	}
}

func TestLateWakeAndAPeerThatIsDead(t *testing.T) {
	d := watcher(t)
	back := time.Minute
	d.Wake(back)
	says(t, "a late wake", d.Take())
	says(t, "soon after", runs(d, back+timeout+interval), true)
}

// A pause that ends just after a deadline is noticed: while a peer is silent the detector is
// woken more often than it needs for that deadline.
func TestAPauseBeforeTheDeadlineIsNoticed(t *testing.T) {
	d := watcher(t)
	says(t, "until the pause", runs(d, timeout-interval))
	back := timeout + interval/4
	d.Wake(back)
	says(t, "late by less than an interval", d.Take())
}

// Nobody knows when in the last two intervals a pause began: a peer has them to be heard
// of, also when its deadline would have come just then. It has no more.
func TestAfterAPauseAPeerHasTwoIntervals(t *testing.T) {
	d := watcher(t)
	says(t, "silence, not too long", runs(d, timeout-1))
	back := time.Minute
	d.Wake(back)
	says(t, "a late wake", d.Take())
	says(t, "soon after", runs(d, back+2*interval-1))
	says(t, "two intervals after", runs(d, back+2*interval), true)
}

// However long a pause was, a peer is suspected when it has been silent for its timeout
// since: also one whose frame waited on the socket and came before the late wake.
func TestTheExcuseForAPauseIsBounded(t *testing.T) {
	d := New(config())
	d.Up(0, n(1), 7)
	d.Up(0, n(2), 7)
	d.Monitor(0, []algo.NodeID{n(1), n(2)})
	rests(d)
	back := time.Hour
	d.Heard(back, n(1))
	d.Wake(back)
	d.Heard(back, n(2))
	says(t, "a late wake", d.Take())
	for at := back; at < back+timeout; at += interval {
		runs(d, at)
		d.Heard(at, n(2))
	}
	d.Take()
	runs(d, back+timeout)
	if state, since, _ := d.State(n(1)); state != Suspected || since > back+timeout {
		t.Errorf("silent for its timeout of %v since the pause, n1 is %v", timeout, state)
	}
}

// In a pause of this node nobody was silent: a timeout that grew comes back after it as
// after any other time.
func TestAPauseIsNoSilenceOfAPeer(t *testing.T) {
	d := watcher(t)
	says(t, "silence", runs(d, timeout), true)
	d.Heard(timeout, n(1))
	d.Take()
	grown := d.peers[n(1)].timeout
	back := time.Minute
	d.Wake(back)
	hears(d, back, back+interval)
	if got, want := d.peers[n(1)].timeout, grown-(grown-timeout)/4; got != want {
		t.Errorf("after the pause the timeout is %v, want %v: a quarter of what it grew has come back", got, want)
	}
}

// Nor is it an excuse for who was suspected before it: a process that was stopped for long
// would have been suspected with any timeout.
func TestAPauseExcusesNobodyWhoWasSuspected(t *testing.T) {
	d := watcher(t)
	says(t, "silence", runs(d, time.Minute), true)
	back := time.Minute + 10*time.Second
	d.Wake(back)
	d.Heard(back, n(1))
	says(t, "heard", d.Take(), false)
	if got := d.peers[n(1)].timeout; got != timeout {
		t.Errorf("the timeout grew to %v, which would not have helped", got)
	}
}

func TestAWakeInTimeIsNoExcuse(t *testing.T) {
	d := watcher(t)
	var all Output
	for d.Deadline() <= 2*timeout {
		d.Wake(d.Deadline() + interval/2) // a loaded machine
		collect(&all, d.Take())
	}
	says(t, "silence", all, true)
	if _, since, _ := d.State(n(1)); since > timeout+interval/2 {
		t.Errorf("suspected since %v, want %v at most", since, timeout+interval/2)
	}
}

// The wakes must not pile up either: the deadline goes forward.
func TestDeadlineGoesForward(t *testing.T) {
	d := watcher(t)
	d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
	wakes := 0
	for at := time.Duration(0); at < 100*interval; at += interval {
		d.Heard(at, n(1))
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
	d = watcher(t)
	wakes = 0
	for at := time.Duration(0); at < 100*interval; at += interval {
		d.Heard(at, n(1))
		for d.Deadline() < at+interval {
			d.Wake(d.Deadline())
			wakes++
		}
	}
	if wakes > 30 {
		t.Errorf("%d wakes in 100 intervals for a leader in time, want few", wakes)
	}
}

// "Monitored peers are dialled with a back-off."
func TestRedialBacksOff(t *testing.T) {
	d := New(config())
	d.Monitor(0, []algo.NodeID{n(1)})
	d.Take()
	at, waits := time.Duration(0), []time.Duration{}
	for range 12 {
		d.DialFailed(at, n(1), Unanswered)
		for len(d.Take().Dials) == 0 {
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
	d.DialFailed(at, n(1), Refused)
	says(t, "refused while it is connected: it dialled us", d.Take(), false)
}

// Something ends each connection with a peer that lives. Two nodes must not be busy
// with that for ever.
func TestConnectionsThatHardlyStandAreDialledWithABackOff(t *testing.T) {
	for _, monitored := range []bool{true, false} {
		d := New(config())
		if monitored {
			d.Monitor(0, []algo.NodeID{n(1)})
		}
		d.Take()
		at, count := time.Duration(0), 0
		for at < 10*time.Second && count < 1000 {
			d.Up(at, n(1), 7)
			at += ms
			d.Down(at, n(1), false)
			for len(d.Take().Dials) == 0 {
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
	// A process that is killed again and again is another each time.
	d := watcher(t)
	for i := range 100 {
		d.Up(time.Duration(i)*ms, n(1), uint64(i+10))
		d.Take()
		d.Down(time.Duration(i)*ms, n(1), false)
		dials(t, "killed again", d.Take(), 1)
	}
}

func TestForget(t *testing.T) {
	d := watcher(t)
	d.Receive(0, n(1), Watch{Interval: interval, Lease: time.Hour})
	d.Goodbye(0, n(1))
	d.Forget(n(1))
	d.Forget(n(2))
	if out := runs(d, time.Hour); len(out.Sends)+len(out.Dials)+len(out.Changes) > 0 || len(d.order) > 0 {
		t.Errorf("a forgotten peer brings about %+v", out)
	}
	if out := d.Take(); len(out.Changes) != 0 {
		t.Errorf("said about a forgotten peer: %v", out.Changes)
	}
	if state, _, _ := d.State(n(1)); state != Unknown {
		t.Errorf("a forgotten peer is %v", state)
	}
}

// What was found out about a peer and not taken yet says nothing once it was
// monitored anew.
func TestMonitorAnewForgetsSuspicion(t *testing.T) {
	d := watcher(t)
	d.Wake(d.Deadline())
	d.Take()
	for d.Deadline() < timeout {
		d.Wake(d.Deadline())
	}
	d.Wake(timeout)
	d.Monitor(timeout, nil)
	d.Monitor(timeout, []algo.NodeID{n(1)})
	says(t, "monitored anew", d.Take())
	if state, _, _ := d.State(n(1)); state != Alive {
		t.Errorf("it is %v, want alive: silence counts anew", state)
	}
	says(t, "silent again", runs(d, 2*timeout), true)
}

func TestWhoIsSilentIsTrustedWhenHeard(t *testing.T) {
	d := watcher(t)
	says(t, "silence", runs(d, time.Second), true)
	d.Heard(time.Second, n(1))
	says(t, "heard", d.Take(), false)
	d.Heard(time.Second, n(1))
	d.Heard(time.Second, n(5))
	says(t, "heard again", d.Take())
	if state, since, _ := d.State(n(1)); state != Alive || since != time.Second {
		t.Errorf("%v since %v, want alive since 1s", state, since)
	}
}

// A peer cannot make us busy with what it asks for.
func TestHostileWatchIsRefused(t *testing.T) {
	const most = time.Duration(1<<63 - 1)
	for _, w := range []Watch{
		{}, {Interval: interval}, {Lease: time.Second}, {Interval: -1, Lease: time.Second}, {Interval: 1, Lease: time.Second},
		{Interval: time.Millisecond - 1, Lease: time.Second}, {Interval: interval, Lease: interval - 1}, {Interval: interval, Lease: -1},
		{Interval: most, Lease: most}, {Interval: interval, Lease: most}, {Interval: -most - 1, Lease: -most - 1},
		{Interval: interval, Lease: time.Hour + 1}, {Interval: most, Lease: interval},
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
	// The fastest one that is granted.
	d := New(config())
	d.Up(0, n(1), 7)
	if _, why := d.Receive(0, n(1), Watch{Interval: time.Millisecond, Lease: time.Second}); why != nil {
		t.Fatal(why)
	}
	if got := kinds(runs(d, time.Minute), "beat"); got > 1000 {
		t.Errorf("%d beats, want at most 1000", got)
	}
}

func TestStates(t *testing.T) {
	d := New(config())
	if s, _, _ := d.State(n(1)); s != Unknown || s.String() != "unknown" {
		t.Errorf("a stranger is %v", s)
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

// What silence of a peer is borne shows, as it grows: 0 for whoever is not watched.
func TestTheTimeoutShows(t *testing.T) {
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
	d.Heard(timeout+ms, n(1))
	shows(timeout + timeout/2)
	d.Monitor(timeout+ms, nil)
	shows(0)
}
