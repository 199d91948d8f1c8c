package algo

import "time"

// Timing is what a host is told of its network. A [Factory] takes the defaults of its
// options from RoundTrip and Heartbeat; the rest is for the failure detector and for what
// starts a node. Members of one cluster should share it; they may differ. A killed process
// is found in about a millisecond under any Timing: the timeouts are for those that are
// silent.
type Timing struct {
	// Heartbeat is the interval of heartbeats from a leader to those who follow it.
	Heartbeat time.Duration
	// Timeout is the silence after which a peer is suspected at first. It must
	// outlast what a loaded machine keeps a process waiting, beside the network: at
	// least 2 heartbeats, and 1 and half a round trip.
	Timeout time.Duration
	// MaxTimeout bounds its growth after mistakes.
	MaxTimeout time.Duration
	// Forgive is how long a peer must be in time until its timeout comes back by a
	// quarter of what it grew.
	Forgive time.Duration
	// RoundTrip is a generous bound on a message there and back, and what is done
	// with it, twice the T of the literature: the algorithms wait that long for answers.
	RoundTrip time.Duration
	// MinRedial and MaxRedial bound the back-off between dials to who is needed.
	MinRedial, MaxRedial time.Duration
	// FirstContact is how long a node without a quorum waits at its start, at most, for listed members that neither
	// answer nor refuse.
	FirstContact time.Duration
	// NoEvidence has only silence count: for networks whose firewalls forge resets
	// and refusals. A killed process is then found after Timeout.
	NoEvidence bool
}

// DialTimeout is after how long a dial that nobody answers is given up.
const DialTimeout = time.Second

// Local is for members on one machine that is not overloaded.
func Local() Timing { return preset(20*time.Millisecond, 150*time.Millisecond, 50*time.Millisecond) }

// LAN is for members in one building, or on one machine that may be overloaded.
func LAN() Timing {
	return preset(120*time.Millisecond, 380*time.Millisecond, 200*time.Millisecond)
}

// WAN is for members that are far apart.
func WAN() Timing { return preset(500*time.Millisecond, 3*time.Second, time.Second) }

func preset(heartbeat, timeout, roundTrip time.Duration) Timing {
	return Timing{
		Heartbeat: heartbeat, Timeout: timeout, MaxTimeout: 10 * timeout, Forgive: time.Minute,
		RoundTrip: roundTrip, MinRedial: 10 * time.Millisecond, MaxRedial: time.Second, FirstContact: 2 * timeout,
	}
}

// Presets returns the timings by the word that selects them.
func Presets() map[string]Timing {
	return map[string]Timing{"local": Local(), "lan": LAN(), "wan": WAN()}
}

// Repeat is how often a leader should say again that it leads, so that two leaders find each
// other: one frame in ten more than heartbeats at worst, and never before what the last one
// has brought about has arrived.
func (t Timing) Repeat() time.Duration { return max(10*t.Heartbeat, 2*t.RoundTrip) }

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
	return t.Timeout + t.Heartbeat + t.Repeat() + 2*3*t.RoundTrip + DialTimeout + t.MaxRedial
}
