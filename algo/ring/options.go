package ring

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm.
type Options struct {
	// MessageTime bounds the time T of one message from a process to its successor,
	// including processing: half a round trip. A process waits between 3N and 4.5N times
	// MessageTime for the outcome of an election.
	MessageTime time.Duration `yaml:"message_time" help:"maximum time of one message from a node to its successor; at least half the round trip"`
}

// Defaults returns the options for a network with timing t.
func Defaults(t algo.Timing) Options {
	return Options{MessageTime: t.RoundTrip / 2}
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("ring", t, Defaults(t), decode, describe)
}

// With returns a [Factory] with other defaults: change modifies [Defaults].
func With(change func(*Options)) algo.Factory { return algo.With(Factory, change) }

// New returns the algorithm with the options o. Its error reports every invalid option, each
// as an [*algo.SettingError]. Only [Factory] checks the options against the network.
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
