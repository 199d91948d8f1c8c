package bully

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm. T is the one-way message time, including processing.
type Options struct {
	// AnswerTimeout is the maximum time from an Election to the first Answer, by default 2T.
	// Without an Answer by then, the process leads.
	AnswerTimeout time.Duration `yaml:"answer_timeout" help:"maximum wait for the first answer, before the node leads; at least the round trip"`

	// CoordinatorTimeout is the maximum time from an Answer to the Coordinator, by default 4T.
	// Without a Coordinator by then, the process starts its election again. It is at least
	// AnswerTimeout, because the sender of the Answer may wait for Answers itself.
	CoordinatorTimeout time.Duration `yaml:"coordinator_timeout" help:"maximum wait for the new leader after an answer, before the node starts a new election; at least answer_timeout"`

	// AnnounceInterval is the time between two periodic Coordinators of a leader. It bounds
	// how long two leaders that can reach each other both lead. It is at least AnswerTimeout.
	AnnounceInterval time.Duration `yaml:"announce_interval" help:"interval at which a leader repeats its announcement, by which two leaders detect each other; at least answer_timeout"`

	// HeadStart is the time that a process without a leader gives higher processes to become
	// leader, before it sends them Election. Its default is T, the time of one Coordinator.
	// It is at most AnswerTimeout. If it is zero, or SkipSuspected is false, there is no head
	// start.
	HeadStart time.Duration `yaml:"head_start" help:"time that higher nodes have to become leader before they are asked; from 0 to answer_timeout"`

	// SkipSuspected makes a process neither ask nor wait for processes that its failure
	// detector suspects. If it is false, only the timers end a wait, as in the textbook.
	SkipSuspected bool `yaml:"skip_suspected" help:"neither ask nor wait for nodes that the failure detector suspects"`
}

// Defaults returns the options for a network with timing t.
//
// A leader repeats its Coordinator every tenth heartbeat. This costs at most one frame in
// ten, and none where the Coordinator replaces a heartbeat. The interval is at least 4T: an
// Answer to one Coordinator, and the next Coordinator that this Answer causes, arrive before
// the following one.
func Defaults(t algo.Timing) Options {
	return Options{
		AnswerTimeout:      t.RoundTrip,
		CoordinatorTimeout: 2 * t.RoundTrip,
		AnnounceInterval:   t.AnnounceInterval(),
		HeadStart:          t.RoundTrip / 2,
		SkipSuspected:      true,
	}
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("bully", t, Defaults(t), decode, describe)
}

// With returns a [Factory] with other defaults: change modifies [Defaults].
func With(change func(*Options)) algo.Factory { return algo.With(Factory, change) }

// New returns the algorithm with the options o. Its error reports every invalid option, each
// as an [*algo.SettingError]. Only [Factory] checks the options against the network.
func New(o Options) (algo.Spec, error) {
	return algo.Build("bully", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Duration("answer_timeout", o.AnswerTimeout, "the round trip", c.Timing.RoundTrip)
	c.Duration("coordinator_timeout", o.CoordinatorTimeout, "answer_timeout", o.AnswerTimeout)
	c.Duration("announce_interval", o.AnnounceInterval, "answer_timeout", o.AnswerTimeout)
	c.Require(o.HeadStart >= 0 && o.HeadStart <= max(o.AnswerTimeout, 0), "head_start", o.HeadStart.String(),
		"from 0 to answer_timeout ("+o.AnswerTimeout.String()+")")
	c.Bool("skip_suspected", o.SkipSuspected)
	return algo.Spec{
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Answer{}, Coordinator{}, Inquiry{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}
}
