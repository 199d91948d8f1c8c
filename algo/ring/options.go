package ring

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm.
type Options struct {
	// MessageTime is a bound on the time that one message takes from a process to the
	// next, processing included: T, half a round trip.
	MessageTime time.Duration `yaml:"message_time" help:"bound on the time of one message from a process to the next; at least half the round trip"`

	// ElectionRounds is how long a process waits for the end of an election before it
	// starts anew, counted in rounds of a message about the ring: N·T each. It waits for
	// a random time from that to half as much again, so that those who wait together do
	// not start together. It is at least 3, because an election can take 3N−1 messages
	// in a row.
	ElectionRounds int `yaml:"election_rounds" help:"rounds of a message about the ring after which an election that has not ended is started anew; 3 to 100"`
}

// leastRounds is the least of ElectionRounds: one until the token of the first is at
// the highest, one until that of the highest is back, one for Elected.
const leastRounds = 3

// mostRounds and mostTime keep the wait of a large ring within what a Duration holds.
const (
	mostRounds = 100
	mostTime   = time.Minute
)

// Defaults returns the options for a network of that timing.
func Defaults(t algo.Timing) Options {
	return Options{MessageTime: t.RoundTrip / 2, ElectionRounds: leastRounds}
}

// Validate says every mistake in o at once, each an [*algo.OptionError], or nothing.
// Timing may be zero where the network is unknown.
func (o Options) Validate(t algo.Timing) error {
	c := algo.OptionCheck{Algorithm: "ring", Longest: mostTime}
	c.Duration("message_time", o.MessageTime, "half the round trip", t.RoundTrip/2)
	c.Want(o.ElectionRounds >= leastRounds, "election_rounds", strconv.Itoa(o.ElectionRounds),
		"at least "+strconv.Itoa(leastRounds)+", which is what an election takes")
	c.Want(o.ElectionRounds <= mostRounds, "election_rounds", strconv.Itoa(o.ElectionRounds), "at most "+strconv.Itoa(mostRounds))
	return c.Err()
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build(t, Defaults(t), decode, newSpec)
}

// New returns the algorithm with these options, or the error of [Options.Validate].
func New(o Options) (algo.Spec, error) { return algo.Build(algo.Timing{}, o, nil, newSpec) }

func newSpec(o Options) algo.Spec {
	return algo.Spec{
		Name:     "ring",
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Elected{}},
		Settings: []algo.Setting{
			{Name: "election_rounds", Value: strconv.Itoa(o.ElectionRounds)},
			{Name: "message_time", Value: o.MessageTime.String()},
		},
		New: func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}
}
