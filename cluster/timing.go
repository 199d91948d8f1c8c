package cluster

import (
	"errors"
	"time"

	"github.com/elect-go/elect/fd"
)

// Timing is all durations of a member that depend on its network. Members of one
// cluster should share them; they may differ. A killed process is found in about a
// millisecond under any of them: the timeouts are for those that are silent.
type Timing struct {
	// Heartbeat is the interval of heartbeats from a leader to those who follow it.
	Heartbeat time.Duration
	// Timeout is the silence after which a peer is suspected at first. It must
	// outlast what a loaded machine keeps a process waiting, beside the network.
	Timeout time.Duration
	// MaxTimeout bounds its growth after mistakes.
	MaxTimeout time.Duration
	// Forgive is how long a peer must be in time until its timeout comes back by a
	// quarter of what it grew.
	Forgive time.Duration
	// RoundTrip is a generous bound on a message there and back, and what is done
	// with it: the algorithms wait that long for answers.
	RoundTrip time.Duration
	// MinRedial and MaxRedial bound the back-off between dials to who is needed.
	MinRedial, MaxRedial time.Duration
	// FirstContact is for how long the members of a fixed set wait for each other at
	// their first start.
	FirstContact time.Duration
	// NoEvidence has only silence count: for networks whose firewalls forge resets
	// and refusals. A killed process is then found after Timeout.
	NoEvidence bool
}

// Local is for members on one machine that is not overloaded.
func Local() Timing { return preset(20*time.Millisecond, 150*time.Millisecond, 50*time.Millisecond) }

// LAN is for members in one building, or on one machine that may be overloaded.
func LAN() Timing {
	return preset(120*time.Millisecond, 380*time.Millisecond, 200*time.Millisecond)
}

// WAN is for members that are far apart.
func WAN() Timing { return preset(500*time.Millisecond, 3*time.Second, time.Second) }

// Presets returns the timings by the word that selects them.
func Presets() map[string]Timing {
	return map[string]Timing{"local": Local(), "lan": LAN(), "wan": WAN()}
}

func preset(heartbeat, timeout, roundTrip time.Duration) Timing {
	return Timing{
		Heartbeat: heartbeat, Timeout: timeout, MaxTimeout: 10 * timeout, Forgive: time.Minute,
		RoundTrip: roundTrip, MinRedial: 10 * time.Millisecond, MaxRedial: time.Second, FirstContact: 2 * timeout,
	}
}

// Bound is how long after the last fault all members that live and can reach each
// other name one leader, for the algorithms of this module with the options that follow
// from t, as long as no timeout has grown: the silence, a repeat by the old leader, two
// elections, and a dial that was under way when the fault ended, and must first be given
// up and made again.
//
// It knows neither how many members there are nor the options of the algorithm, and is no
// bound where these make an election longer. With ring that is a matter of size: when a
// token is lost it waits for 3 to 4.5 times N·RoundTrip/2, N being the members, the dead
// included, before it starts anew. With LAN that alone may be more than Bound for 11
// members, and is for 17.
func (t Timing) Bound() time.Duration {
	return t.Timeout + t.Heartbeat + max(10*t.Heartbeat, 2*t.RoundTrip) + 2*3*t.RoundTrip + dialTimeout + t.MaxRedial
}

// dialTimeout is that of transport.Options.
const dialTimeout = time.Second

func (t Timing) detector() fd.Config {
	return fd.Config{
		Interval: t.Heartbeat, Timeout: t.Timeout, MaxTimeout: t.MaxTimeout, Forgive: t.Forgive,
		MinRedial: t.MinRedial, MaxRedial: t.MaxRedial, NoEvidence: t.NoEvidence,
	}
}

// check says every mistake at once, each a *ConfigError.
func (t Timing) check() error {
	var mistakes []error
	for _, m := range t.detector().Check() {
		mistakes = append(mistakes, &ConfigError{Field: "timing." + m.Field, Got: m.Got, Want: m.Want})
	}
	if t.RoundTrip <= 0 {
		mistakes = append(mistakes, &ConfigError{Field: "timing.round_trip", Got: t.RoundTrip.String(), Want: "more than 0"})
	} else if least := t.Heartbeat + t.RoundTrip/2; t.Timeout < least {
		// A heartbeat that was sent in time must not come too late.
		mistakes = append(mistakes, &ConfigError{Field: "timing.timeout", Got: t.Timeout.String(),
			Want: "at least a heartbeat and half a round trip (" + least.String() + ")"})
	}
	if t.FirstContact < 0 || t.FirstContact > time.Hour {
		mistakes = append(mistakes, &ConfigError{Field: "timing.first_contact", Got: t.FirstContact.String(), Want: "from 0 to 1h0m0s"})
	}
	return errors.Join(mistakes...)
}
