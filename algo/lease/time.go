package lease

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// Options say for how long a majority promises, and how that is kept up.
type Options struct {
	// Duration is for how long a member promises to have no other leader, by its own clock. It is the
	// same on all members: what asks for another is denied.
	Duration time.Duration `yaml:"duration" help:"for how long a member promises to have no other leader"`

	// Drift is by how much the rate of a clock may differ from the right one, in percent.
	Drift int64 `yaml:"drift" help:"by how many percent clocks may be fast or slow"`

	// Guard is taken off what a leader counts on, beside the drift.
	Guard time.Duration `yaml:"guard" help:"by how much a lease ends before the promises that it stands on"`

	// Renew is how often a leader has the promise renewed.
	Renew time.Duration `yaml:"renew" help:"how often a leader has its lease renewed"`

	// Preempt has a leader hand over to a higher nominee that a majority hears. Without it leaders stay. It
	// concerns the node alone, and members may differ in it. So does Drain.
	Preempt bool `yaml:"preempt" help:"hand over to a higher nominee; without it a leader that works stays"`

	// Drain is for how long a leader that hands over goes on renewing while its work ends. Zero: nothing
	// works here, or all of it ends with the announcement.
	Drain time.Duration `yaml:"-"` // set by Config.Drain of package cluster

	// TrustEvidence ends what was promised to a process when it has ended, as its address shows, and has its own
	// former life count no more. It is right where the work of a process ends with it. Refusals carry no signature:
	// whoever can refuse for a member that lives makes two leaders. So it takes a TrustedNetwork, too.
	TrustEvidence  bool `yaml:"trust_evidence" help:"wait for no promise to a process that has ended; needs trusted_network"`
	TrustedNetwork bool `yaml:"trusted_network" help:"no proxy, sidecar or firewall between members refuses for one that lives"`

	retry time.Duration // between two questions of a nominee, about
	off   bool          // see Off
}

// Off means no lease, where zero options mean [Defaults].
var Off = Options{off: true}

// IsOff reports whether o is [Off].
func (o Options) IsOff() bool { return o.off }

// GivenUp says in one sentence what an algorithm with these claims gives up without a lease.
func GivenUp(inner algo.Claims) string {
	if inner.OneLeaderPerEpoch {
		return "without a lease two nodes may lead at the same time: a leader that is cut off or paused leads until it learns that another leads in a newer epoch"
	}
	return "without a lease two nodes may lead at the same time: each side of a partition may elect a leader, and a leader that was paused leads until it learns of the next one"
}

// Defaults returns the options for a network of that timing: the shortest lease.
func Defaults(t algo.Timing) Options {
	o := Options{Drift: 10, Guard: t.RoundTrip / 100, Renew: t.Heartbeat * 5 / 4, Preempt: true}
	needed := least(t, o.Renew) + o.Guard
	o.Duration = (needed*time.Duration(100+o.Drift)/time.Duration(100-o.Drift) + 10*time.Millisecond).Truncate(10 * time.Millisecond)
	return o
}

// least is how long a lease must last: three renewals may get lost, and who lets a member in goes back
// while it leads, if that one falls silent.
func least(t algo.Timing, renew time.Duration) time.Duration {
	return max(3*renew+t.RoundTrip, t.Timeout+2*t.RoundTrip)
}

// term is how long a leader counts on a promise, from when it asks: less than it lasts, if the clock of the
// leader is as slow and that of the voter as fast as may be.
func (o *Options) term() time.Duration {
	return o.Duration/time.Duration(100+o.Drift)*time.Duration(100-o.Drift) - o.Guard
}

func (o *Options) check(c *algo.OptionCheck) {
	c.Duration("duration", o.Duration, "", 0)
	c.Want(o.Drift >= 0 && o.Drift <= 50, "drift", strconv.FormatInt(o.Drift, 10), "from 0 to 50 percent")
	c.Want(o.Guard >= 0, "guard", o.Guard.String(), "not below 0")
	c.Duration("renew", o.Renew, "", 0)
	c.WantLocal(true, "preempt", strconv.FormatBool(o.Preempt), "")
	c.Bool("trusted_network", o.TrustedNetwork)
	c.Want(!o.TrustEvidence || o.TrustedNetwork, "trust_evidence", strconv.FormatBool(o.TrustEvidence),
		"false, or trusted_network as well: refusals carry no signature, and whoever can refuse for a member that lives makes two leaders")
	if c.Err() != nil {
		return
	}
	needed := least(c.Timing, o.Renew)
	c.Want(o.term() >= needed, "duration", o.Duration.String(), "more, so that of it "+needed.String()+" remain, and not "+o.term().String()+
		", with a drift of "+strconv.FormatInt(o.Drift, 10)+" % and a guard of "+o.Guard.String()+
		": the longer one of three renewals (each "+o.Renew.String()+") with a round trip ("+c.Timing.RoundTrip.String()+
		"), and of the timeout ("+c.Timing.Timeout.String()+") with two")
}
