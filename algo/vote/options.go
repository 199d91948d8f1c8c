package vote

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Options configure the algorithm. HBT and RTT are names of the source.
type Options struct {
	// HeartbeatInterval is the HBT, the time between two periodic Leads of a leader. A server
	// requests an election after three of them without a Lead. It is at least Window.
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval" help:"interval at which a leader repeats its announcement; a node requests an election after three of them without one; at least window"`

	// Window is the RTT, a generous bound on the round-trip time. An elector records claims for
	// that time before it votes. With EarlyClose, it waits half as long again after a second
	// request. After a round without a leader, Window and Pause are doubled until there is a
	// leader. In a cluster of 16 or more members, N, they can grow to N/4 times their value.
	Window time.Duration `yaml:"window" help:"time for which claims are recorded before the vote; at least the round trip"`

	// Pause is the minimum time that a server waits for a Lead after its vote, before it requests
	// the next round, and the minimum time between two requests without success. The maximum is
	// twice as long; the time is random. Pause is at least three times Window. The first server to
	// vote, because it suspects the silent ones, may have to wait for servers that start their
	// window and a half, half a round trip later. Then it waits for the votes and for the Lead.
	// Together these take three windows, and the random part is the margin.
	Pause time.Duration `yaml:"pause" help:"minimum time from a vote to the next round; at least three windows"`

	// EarlyClose makes a server vote as soon as every member that is not suspected has claimed.
	// If it is false, only the window ends the voting, as in the source.
	EarlyClose bool `yaml:"early_close" help:"vote as soon as every member that is not suspected has claimed, not only at the end of the window"`
}

// Defaults returns the options for a network with timing t.
//
// A leader repeats its Lead every fourth heartbeat of the failure detector. The detector finds
// crashes; the periodic Lead is for servers that do not monitor the leader. A shorter interval
// costs frames, up to one for each follower and Lead. A longer one delays the stop of a leader
// that does not hear from a majority.
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

// With returns a [Factory] with other defaults: change modifies [Defaults].
func With(change func(*Options)) algo.Factory { return algo.With(Factory, change) }

// New returns the algorithm with the options o. Its error reports every invalid option, each
// as an [*algo.SettingError]. Only [Factory] checks the options against the network.
func New(o Options) (algo.Spec, error) {
	return algo.Build("vote", algo.Timing{}, o, nil, describe)
}

func describe(o Options, c *algo.OptionCheck) algo.Spec {
	c.Duration("heartbeat_interval", o.HeartbeatInterval, "window", o.Window)
	c.Duration("window", o.Window, "the round trip", c.Timing.RoundTrip)
	c.Duration("pause", o.Pause, "three windows", 3*min(o.Window, 24*time.Hour)) // a longer one is rejected above
	c.Bool("early_close", o.EarlyClose)
	return algo.Spec{
		Claims:   algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true},
		Messages: []algo.Message{Elect{}, Vote{}, Lead{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &server{self: self, options: o} },
	}
}
