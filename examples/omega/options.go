package omega

import (
	"errors"
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm.
type Options struct {
	// RepeatInterval is the time between two repetitions of a leader's Lead. It bounds how long a process that
	// suspected the leader falsely has no leader, and how long two leaders continue once they can hear each other. It
	// is at least a round trip.
	RepeatInterval time.Duration `yaml:"repeat_interval"`
}

// Defaults returns the options for a network of that timing: a repeat in five heartbeats.
func Defaults(t algo.Timing) Options {
	return Options{RepeatInterval: max(5*t.Heartbeat, t.RoundTrip)}
}

// ErrRepeatInterval says that repeat_interval does not suit the network.
var ErrRepeatInterval = errors.New("omega: repeat_interval is below the round trip, or not above zero")

// Factory is the [algo.Factory] of this package. It stands in a registry under "omega".
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	o := Defaults(t)
	if decode != nil {
		if err := decode(&o); err != nil {
			return algo.Spec{}, err
		}
	}
	if o.RepeatInterval <= 0 || o.RepeatInterval < t.RoundTrip {
		return algo.Spec{}, ErrRepeatInterval
	}
	return algo.Spec{
		Name:     "omega",
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Lead{}, Ask{}},
		Settings: []algo.Setting{{Name: "repeat_interval", Value: o.RepeatInterval.String()}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}, nil
}
