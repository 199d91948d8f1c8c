package ring

import (
	"errors"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm.
type Options struct {
	// MessageTime is a bound on the time that one message takes from a process to the
	// next, processing included: T, half a round trip.
	MessageTime time.Duration `yaml:"message_time"`

	// ElectionRounds is how long a process waits for the end of an election before it
	// starts anew, counted in rounds of a message about the ring: N·T each. It waits for
	// a random time from that to half as much again, so that those who wait together do
	// not start together. It is at least 3, because an election can take 3N−1 messages
	// in a row.
	ElectionRounds int `yaml:"election_rounds"`
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

// Validate says every mistake in o at once, or nothing. Each is an [OptionError].
// Timing may be zero where the network is unknown.
func (o Options) Validate(t algo.Timing) error {
	return errors.Join(o.checkMessageTime(t), o.checkElectionRounds())
}

func (o Options) checkMessageTime(t algo.Timing) error {
	switch least := t.RoundTrip / 2; {
	case o.MessageTime <= 0:
		return &OptionError{"message_time", o.MessageTime.String(), "must be above zero"}
	case o.MessageTime < least:
		return &OptionError{"message_time", o.MessageTime.String(), "is below half the round trip (" + least.String() + ")"}
	case o.MessageTime > mostTime:
		return &OptionError{"message_time", o.MessageTime.String(), "is above " + mostTime.String()}
	}
	return nil
}

func (o Options) checkElectionRounds() error {
	got := strconv.Itoa(o.ElectionRounds)
	switch {
	case o.ElectionRounds < leastRounds:
		return &OptionError{"election_rounds", got, "is below " + strconv.Itoa(leastRounds) + ", which is what an election takes"}
	case o.ElectionRounds > mostRounds:
		return &OptionError{"election_rounds", got, "is above " + strconv.Itoa(mostRounds)}
	}
	return nil
}

// OptionError is a mistake in one option.
type OptionError struct {
	Option string // as it is written in a configuration
	Got    string
	Want   string // what is wrong with Got
}

func (e *OptionError) Error() string { return "ring: " + e.Option + " (" + e.Got + ") " + e.Want }

// Factory is the [algo.Factory] of this package: it takes [Defaults] for the
// timing, has decode overwrite what the user configured, and checks the result.
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	o := Defaults(t)
	if err := decode(&o); err != nil {
		return algo.Spec{}, err
	}
	if err := o.Validate(t); err != nil {
		return algo.Spec{}, err
	}
	return newSpec(o), nil
}

// New returns the algorithm with these options. Its error is that of
// [Options.Validate].
func New(o Options) (algo.Spec, error) {
	if err := o.Validate(algo.Timing{}); err != nil {
		return algo.Spec{}, err
	}
	return newSpec(o), nil
}

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
