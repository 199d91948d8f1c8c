package vote

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm. HBT and RTT are names of the source.
type Options struct {
	// HeartbeatInterval is the HBT: a leader repeats its Lead that often. Without a
	// Lead for three of them a server asks for an election. It is at least Window.
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval" help:"how often a leader repeats itself; who hears nothing for three of them asks for an election; at least window"`

	// Window is the RTT, a generous bound on the time there and back: for that long an elector
	// records claims before it votes, and with EarlyClose half as long again, in which it has
	// asked once more. It is twice as long, as Pause is, after a round that elected nobody,
	// until there is a leader. Of N members, if that is 16 or more, it may be N/4 times as long.
	Window time.Duration `yaml:"window" help:"for how long claims are recorded before the vote; at least the round trip"`

	// Pause is how long a server that has voted waits at least for a Lead before it
	// asks for the next round, and how long who asks in vain waits to ask again; at most
	// twice as long, at random. It is at least three times Window: who voted first, because
	// it suspects all who are silent, may have to wait for a window and a half that began half
	// a round trip later, for the votes, and for the Lead. That makes three; what is random
	// is the margin.
	Pause time.Duration `yaml:"pause" help:"least time after a vote until the next round begins; at least three windows"`

	// EarlyClose: vote as soon as every member that is not suspected has claimed.
	// False is the source, where only the window ends the voting.
	EarlyClose bool `yaml:"early_close" help:"vote as soon as every member that is not suspected has claimed, not only at the end of the window"`
}

// Defaults returns the options for a network of that timing.
//
// A leader repeats its Lead every fourth heartbeat of the failure detector: who
// crashes is found by the detector, and Lead is for those whom it does not watch. More
// often would cost frames at rest, up to one for each follower and Lead. More seldom
// would leave a leader longer that hears of no majority.
func Defaults(t algo.Timing) Options {
	return Options{
		HeartbeatInterval: max(4*t.Heartbeat, t.RoundTrip),
		Window:            t.RoundTrip,
		Pause:             3 * t.RoundTrip,
		EarlyClose:        true,
	}
}

// Factory is the [algo.Factory] of this package, with [Defaults].
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("vote", t, Defaults(t), decode, describe)
}

// New returns the algorithm with these options, or every mistake in them at once, each an
// [*algo.SettingError]. Whether they fit the network only [Factory] can tell.
func New(o Options) (algo.Spec, error) {
	return algo.Build("vote", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Duration("heartbeat_interval", o.HeartbeatInterval, "window", o.Window)
	c.Duration("window", o.Window, "the round trip", c.Timing.RoundTrip)
	c.Duration("pause", o.Pause, "three windows", 3*min(o.Window, 24*time.Hour)) // a longer one is refused above
	c.Bool("early_close", o.EarlyClose)
	return algo.Spec{
		Claims:   algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true},
		Messages: []algo.Message{Elect{}, Vote{}, Lead{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &server{self: self, options: o} },
	}
}
