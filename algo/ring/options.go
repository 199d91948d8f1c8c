package ring

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm.
type Options struct {
	// MessageTime is a bound on the time that one message takes from a process to the
	// next, processing included: T, half a round trip. For the outcome of an election a
	// process waits N of it three times, and up to half as long again.
	MessageTime time.Duration `yaml:"message_time" help:"bound on the time of one message from a process to the next; at least half the round trip"`
}

// Defaults returns the options for a network of that timing.
func Defaults(t algo.Timing) Options {
	return Options{MessageTime: t.RoundTrip / 2}
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("ring", t, Defaults(t), decode, describe)
}

// New returns the algorithm with these options, or every mistake in them at once, each an
// [*algo.SettingError]. Whether they fit the network only [Factory] can tell.
func New(o Options) (algo.Spec, error) {
	return algo.Build("ring", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Duration("message_time", o.MessageTime, "half the round trip", c.Timing.RoundTrip/2)
	return algo.Spec{
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Elected{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}
}
