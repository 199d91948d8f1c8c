package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// ttlIntervals is the TTL of a subscription in heartbeat intervals. A longer one makes renewals rarer. A shorter one
// saves heartbeats to a subscriber that has failed.
const ttlIntervals = 10

// maxDuration limits each duration, so that no sum of them overflows.
const maxDuration = time.Hour

// instantRedials is how often a peer that accepts and then resets a dial is dialed again at once: a process that is
// being killed still accepts connections for a moment.
const instantRedials = 10

// Check reports every problem of a timing, each as an [*algo.SettingError] of "timing".
func Check(t algo.Timing) error {
	c := algo.OptionCheck{Algorithm: "timing"}
	require := func(ok bool, field string, got time.Duration, require string) {
		c.Require(ok, field, got.String(), require)
	}
	require(t.Heartbeat >= minInterval && t.Heartbeat <= maxDuration/ttlIntervals, "heartbeat", t.Heartbeat,
		"from "+minInterval.String()+" to "+(maxDuration/ttlIntervals).String())
	require(t.Timeout >= 2*t.Heartbeat, "timeout", t.Timeout, "at least 2 heartbeats ("+(2*t.Heartbeat).String()+")")
	require(t.MaxTimeout >= t.Timeout && t.MaxTimeout <= maxDuration, "max_timeout", t.MaxTimeout,
		"at least the timeout ("+t.Timeout.String()+") and at most "+maxDuration.String())
	require(t.TimeoutDecay > t.Timeout, "timeout_decay", t.TimeoutDecay, "more than the timeout ("+t.Timeout.String()+")")
	require(t.MinRedial > 0, "min_redial", t.MinRedial, "more than 0")
	require(t.MaxRedial >= t.MinRedial && t.MaxRedial <= maxDuration, "max_redial", t.MaxRedial,
		"at least min_redial ("+t.MinRedial.String()+") and at most "+maxDuration.String())
	require(t.RoundTrip > 0, "round_trip", t.RoundTrip, "more than 0")
	if shortest := t.Heartbeat + t.RoundTrip/2; t.RoundTrip > 0 {
		// Otherwise a heartbeat that was sent in time may arrive after the timeout.
		require(t.Timeout >= shortest, "timeout", t.Timeout, "at least a heartbeat and half a round trip ("+shortest.String()+")")
	}
	require(t.StartupWait >= 0 && t.StartupWait <= maxDuration, "startup_wait", t.StartupWait, "from 0 to "+maxDuration.String())
	return c.Err()
}
