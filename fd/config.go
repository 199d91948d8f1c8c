package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// lease is for how many intervals a Watch asks: long enough that renewals are
// rare, short enough that a watcher that is gone costs few beats.
const lease = 10

// maxWait bounds the other times, so that no sum of them overflows.
const maxWait = time.Hour

// instantRedials is how often a dial is repeated at once when it was accepted and
// then reset: a process that is being killed still accepts for a moment.
const instantRedials = 10

// Check says every mistake in a timing, each an [*algo.SettingError] of "timing".
func Check(t algo.Timing) error {
	c := algo.OptionCheck{Algorithm: "timing"}
	want := func(ok bool, field string, got time.Duration, want string) { c.Want(ok, field, got.String(), want) }
	want(t.Heartbeat >= minInterval && t.Heartbeat <= maxWait/lease, "heartbeat", t.Heartbeat,
		"from "+minInterval.String()+" to "+(maxWait/lease).String())
	want(t.Timeout >= 2*t.Heartbeat, "timeout", t.Timeout, "at least 2 heartbeats ("+(2*t.Heartbeat).String()+")")
	want(t.MaxTimeout >= t.Timeout && t.MaxTimeout <= maxWait, "max_timeout", t.MaxTimeout,
		"at least the timeout ("+t.Timeout.String()+") and at most "+maxWait.String())
	want(t.Forgive > t.Timeout, "forgive", t.Forgive, "more than the timeout ("+t.Timeout.String()+")")
	want(t.MinRedial > 0, "min_redial", t.MinRedial, "more than 0")
	want(t.MaxRedial >= t.MinRedial && t.MaxRedial <= maxWait, "max_redial", t.MaxRedial,
		"at least min_redial ("+t.MinRedial.String()+") and at most "+maxWait.String())
	want(t.RoundTrip > 0, "round_trip", t.RoundTrip, "more than 0")
	if least := t.Heartbeat + t.RoundTrip/2; t.RoundTrip > 0 {
		// A heartbeat that was sent in time must not come too late.
		want(t.Timeout >= least, "timeout", t.Timeout, "at least a heartbeat and half a round trip ("+least.String()+")")
	}
	want(t.FirstContact >= 0 && t.FirstContact <= maxWait, "first_contact", t.FirstContact, "from 0 to "+maxWait.String())
	return c.Err()
}
