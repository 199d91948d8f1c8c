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

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("ring", t, Defaults(t), decode, describe)
}

// New returns the algorithm with these options, or every mistake in them at once, each an
// [*algo.OptionError]. Whether they fit the network only [Factory] can tell.
func New(o Options) (algo.Spec, error) {
	return algo.Build("ring", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Longest = mostTime
	c.Duration("message_time", o.MessageTime, "half the round trip", c.Timing.RoundTrip/2)
	rounds := strconv.Itoa(o.ElectionRounds)
	c.Want(o.ElectionRounds >= leastRounds, "election_rounds", rounds,
		"at least "+strconv.Itoa(leastRounds)+", which is what an election takes")
	c.Want(o.ElectionRounds <= mostRounds, "election_rounds", rounds, "at most "+strconv.Itoa(mostRounds))
	return algo.Spec{
		Claims:   algo.Claims{HighestLeads: true},
		Messages: []algo.Message{Election{}, Elected{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
	}
}
