package bully

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm. T is the one-way message time, processing
// included; a round trip is 2T.
type Options struct {
	// AnswerTimeout is how long a process waits for the first Answer to its
	// Election before it leads: 2T.
	AnswerTimeout time.Duration `yaml:"answer_timeout" help:"how long to wait for the first answer before leading; at least the round trip"`

	// CoordinatorTimeout is how long a process that was answered waits for a
	// Coordinator before it starts anew: 4T. It is at least AnswerTimeout, because
	// the one who answered may itself be waiting for answers.
	CoordinatorTimeout time.Duration `yaml:"coordinator_timeout" help:"how long one who was answered waits for the new leader before starting anew; at least answer_timeout"`

	// AnnounceInterval is the time between two repeats of a leader's Coordinator.
	// It bounds how long two leaders go on beside each other once they can hear
	// each other. It is at least AnswerTimeout.
	AnnounceInterval time.Duration `yaml:"announce_interval" help:"how often a leader repeats itself, which is how two leaders find each other; at least answer_timeout"`

	// HeadStart is how long a process whose leader is gone leaves it to those above to
	// lead, before it asks them: T, so that a Coordinator can arrive. Whoever is the highest
	// of those alive leads at once. At most AnswerTimeout; zero: all ask at once. Without
	// SkipSuspected it counts as zero.
	HeadStart time.Duration `yaml:"head_start" help:"how long those above are left to lead before they are asked; from 0 to answer_timeout"`

	// SkipSuspected: neither ask, nor wait for, those whom the failure detector
	// suspects. False is the textbook, where only the timers end a wait.
	SkipSuspected bool `yaml:"skip_suspected" help:"neither ask nor wait for those whom the failure detector suspects"`
}

// Defaults returns the options for a network of that timing.
//
// A leader repeats itself every tenth heartbeat: one frame in ten more at worst,
// none where the repeat stands in for a heartbeat. It is never faster than 4T, so
// that an Answer to one repeat, and the Coordinator that the Answer brings about,
// arrive before the next.
func Defaults(t algo.Timing) Options {
	return Options{
		AnswerTimeout:      t.RoundTrip,
		CoordinatorTimeout: 2 * t.RoundTrip,
		AnnounceInterval:   t.Repeat(),
		HeadStart:          t.RoundTrip / 2,
		SkipSuspected:      true,
	}
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("bully", t, Defaults(t), decode, describe)
}

// New returns the algorithm with these options, or every mistake in them at once, each an
// [*algo.SettingError]. Whether they fit the network only [Factory] can tell.
func New(o Options) (algo.Spec, error) {
	return algo.Build("bully", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Duration("answer_timeout", o.AnswerTimeout, "the round trip", c.Timing.RoundTrip)
	c.Duration("coordinator_timeout", o.CoordinatorTimeout, "answer_timeout", o.AnswerTimeout)
	c.Duration("announce_interval", o.AnnounceInterval, "answer_timeout", o.AnswerTimeout)
	c.Want(o.HeadStart >= 0 && o.HeadStart <= max(o.AnswerTimeout, 0), "head_start", o.HeadStart.String(),
		"from 0 to answer_timeout ("+o.AnswerTimeout.String()+")")
	c.Bool("skip_suspected", o.SkipSuspected)
	return algo.Spec{
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Answer{}, Coordinator{}, Inquiry{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}
}
