package lease

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the lease.
type Options struct {
	// Duration is the time for which a member grants the lease, by its own clock. It is equal
	// on all members: a request with another duration is denied.
	Duration time.Duration `yaml:"duration" help:"time for which a member grants the lease and accepts no other leader"`

	// ClockDrift is the maximum difference between the rate of a clock and the correct rate, in
	// percent.
	ClockDrift int64 `yaml:"clock_drift" help:"maximum percentage by which a clock runs fast or slow"`

	// Margin is an additional time by which a lease ends before its grants.
	Margin time.Duration `yaml:"margin" help:"additional time by which a lease ends before its grants"`

	// RenewInterval is the interval at which a leader renews its lease.
	RenewInterval time.Duration `yaml:"renew_interval" help:"interval at which a leader renews its lease"`

	// Preempt makes a leader hand over to a higher nominee that a majority hears. Without it, a
	// working leader stays. Members may differ in Preempt and in DrainTimeout.
	Preempt bool `yaml:"preempt" help:"hand over to a higher nominee; without it a working leader stays"`

	// DrainTimeout is the maximum time for which a leader that hands over renews its lease while its
	// Lead callback returns. If it is zero, there is no callback, or it ends with the
	// announcement.
	DrainTimeout time.Duration `yaml:"-"` // package cluster sets it to Config.DrainTimeout

	// TrustEvidence makes a member end its grant for a process that has ended, as the address of
	// that process shows, and ignore its own grants from before a restart. It is correct if the
	// work of a process ends with the process. A refused connection is not authenticated: a device
	// that refuses connections on behalf of a live member causes two leaders. For this reason it
	// requires TrustedNetwork.
	TrustEvidence  bool `yaml:"trust_evidence" help:"do not wait for grants to a process that has ended; needs trusted_network"`
	TrustedNetwork bool `yaml:"trusted_network" help:"no proxy, sidecar or firewall refuses connections on behalf of a live member"`

	retry time.Duration // average time between two pre-votes
	off   bool          // set in Off
}

// Off disables the lease. Zero options mean [Defaults].
var Off = Options{off: true}

// IsOff reports whether o is [Off].
func (o Options) IsOff() bool { return o.off }

// GivenUp returns a sentence with the guarantee that an algorithm with these claims loses without
// a lease.
func GivenUp(inner algo.Claims) string {
	if inner.OneLeaderPerEpoch {
		return "without a lease two nodes may lead at the same time: a leader that is cut off or paused leads until it learns that another leads in a newer epoch"
	}
	return "without a lease two nodes may lead at the same time: each side of a partition may elect a leader, and a leader that was paused leads until it learns of the next one"
}

// Defaults returns the options for a network with timing t, with the shortest lease.
func Defaults(t algo.Timing) Options {
	o := Options{ClockDrift: 10, Margin: t.RoundTrip / 100, RenewInterval: t.Heartbeat * 5 / 4, Preempt: true}
	needed := minDuration(t, o.RenewInterval) + o.Margin
	o.Duration = (needed*time.Duration(100+o.ClockDrift)/time.Duration(100-o.ClockDrift) + 10*time.Millisecond).Truncate(10 * time.Millisecond)
	return o
}

// minDuration returns the minimum duration of a lease. Three renewals may be lost. A leader that adds
// a member which then falls silent must be able to undo this while it leads.
func minDuration(t algo.Timing, renew time.Duration) time.Duration {
	return max(3*renew+t.RoundTrip, t.Timeout+2*t.RoundTrip)
}

// usableDuration returns the time for which a leader counts on a grant, from its request. It ends
// before the grant, even if the clock of the leader is as slow and that of the voter as fast as Drift
// allows.
func (o *Options) usableDuration() time.Duration {
	return o.Duration/time.Duration(100+o.ClockDrift)*time.Duration(100-o.ClockDrift) - o.Margin
}

func (o *Options) check(c *algo.OptionCheck) {
	c.Duration("duration", o.Duration, "", 0)
	c.Require(o.ClockDrift >= 0 && o.ClockDrift <= 50, "clock_drift", strconv.FormatInt(o.ClockDrift, 10), "from 0 to 50 percent")
	c.Require(o.Margin >= 0, "margin", o.Margin.String(), "not below 0")
	c.Duration("renew_interval", o.RenewInterval, "", 0)
	c.RequireLocal(true, "preempt", strconv.FormatBool(o.Preempt), "")
	c.Bool("trusted_network", o.TrustedNetwork)
	c.Require(!o.TrustEvidence || o.TrustedNetwork, "trust_evidence", strconv.FormatBool(o.TrustEvidence),
		"false, or trusted_network as well: refusals carry no signature, and a forged refusal for a live member makes two leaders")
	if c.Err() != nil {
		return
	}
	needed := minDuration(c.Timing, o.RenewInterval)
	c.Require(o.usableDuration() >= needed, "duration", o.Duration.String(), "more, so that of it "+needed.String()+" remain, and not "+o.usableDuration().String()+
		", with a drift of "+strconv.FormatInt(o.ClockDrift, 10)+" % and a guard of "+o.Margin.String()+
		": the longer one of three renewals (each "+o.RenewInterval.String()+") with a round trip ("+c.Timing.RoundTrip.String()+
		"), and of the timeout ("+c.Timing.Timeout.String()+") with two")
}
