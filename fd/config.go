package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Config is the timing of a [Detector].
type Config struct {
	// Interval is the time between heartbeats that a watcher asks for.
	Interval time.Duration
	// Timeout is the silence, in the watcher's clock, after which a peer is
	// suspected. It counts from the last frame of any kind.
	Timeout time.Duration
	// MaxTimeout bounds how far the timeout of one peer grows after mistakes.
	MaxTimeout time.Duration
	// Forgive is how long a peer must go without a mistake until its timeout comes
	// back by a quarter of what it grew, though not below its longest silence in that
	// time and a quarter more.
	Forgive time.Duration
	// MinRedial and MaxRedial bound the back-off between dials to a monitored peer
	// that cannot be reached.
	MinRedial, MaxRedial time.Duration
	// NoEvidence has only silence count, for networks whose firewalls forge resets
	// and refusals.
	NoEvidence bool
}

// ConfigOf is the part of a timing that is for a Detector.
func ConfigOf(t algo.Timing) Config {
	return Config{
		Interval: t.Heartbeat, Timeout: t.Timeout, MaxTimeout: t.MaxTimeout, Forgive: t.Forgive,
		MinRedial: t.MinRedial, MaxRedial: t.MaxRedial, NoEvidence: t.NoEvidence,
	}
}

// lease is for how many intervals a Watch asks: long enough that renewals are
// rare, short enough that a watcher that is gone costs few beats.
const lease = 10

// maxWait bounds the other times, so that no sum of them overflows.
const maxWait = time.Hour

// instantRedials is how often a dial is repeated at once when it was accepted and
// then reset: a process that is being killed still accepts for a moment.
const instantRedials = 10

// ConfigError says that a setting of the detector does not fit the others.
type ConfigError struct{ Field, Got, Want string }

func (e *ConfigError) Error() string { return "fd: " + e.Field + " is " + e.Got + ", want " + e.Want }

// Check returns every mistake in c.
func (c Config) Check() []*ConfigError {
	var mistakes []*ConfigError
	want := func(ok bool, field string, got time.Duration, want string) {
		if !ok {
			mistakes = append(mistakes, &ConfigError{Field: field, Got: got.String(), Want: want})
		}
	}
	want(c.Interval >= minInterval && c.Interval <= maxLease/lease, "heartbeat", c.Interval,
		"from "+minInterval.String()+" to "+(maxLease/lease).String())
	want(c.Timeout >= 2*c.Interval, "timeout", c.Timeout, "at least 2 heartbeats ("+(2*c.Interval).String()+")")
	want(c.MaxTimeout >= c.Timeout && c.MaxTimeout <= maxWait, "max_timeout", c.MaxTimeout,
		"at least the timeout ("+c.Timeout.String()+") and at most "+maxWait.String())
	want(c.Forgive > c.Timeout, "forgive", c.Forgive, "more than the timeout ("+c.Timeout.String()+")")
	want(c.MinRedial > 0, "min_redial", c.MinRedial, "more than 0")
	want(c.MaxRedial >= c.MinRedial && c.MaxRedial <= maxWait, "max_redial", c.MaxRedial,
		"at least min_redial ("+c.MinRedial.String()+") and at most "+maxWait.String())
	return mistakes
}
