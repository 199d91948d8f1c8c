package algo

import "time"

// Timing describes the network and the reaction times of a cluster. A [Factory] derives the
// defaults of its options from RoundTrip and Heartbeat. The other fields are for the failure
// detector and for the start of a node. Members of one cluster should have the same Timing, but
// may differ. The timeouts are for silent processes: unless TimeoutOnly is set, a killed process is
// detected in about a millisecond with any Timing.
type Timing struct {
	// Heartbeat is the interval of heartbeats from a leader to its followers.
	Heartbeat time.Duration
	// Timeout is the initial silence after which a peer is suspected. It must be longer than a
	// loaded machine can delay a process, plus the delay of the network.
	Timeout time.Duration
	// MaxTimeout is the maximum timeout, after false suspicions have increased it.
	MaxTimeout time.Duration
	// TimeoutDecay is the time without a false suspicion after which the timeout of a peer decreases
	// by a quarter of its increase.
	TimeoutDecay time.Duration
	// RoundTrip is a generous bound on the round-trip time of a message, including processing:
	// twice the T of the literature. The algorithms wait that long for replies.
	RoundTrip time.Duration
	// MinRedial and MaxRedial bound the backoff between dials to a required peer.
	MinRedial time.Duration
	MaxRedial time.Duration
	// StartupWait is the maximum time that a node without a quorum waits at its start for listed
	// members that neither answer nor refuse.
	StartupWait time.Duration
	// TimeoutOnly makes the failure detector ignore all evidence except silence, for networks with
	// firewalls that forge resets and refusals. A killed process is then detected after Timeout.
	TimeoutOnly bool
}

// DialTimeout is the maximum time of a dial without an answer.
const DialTimeout = time.Second

// Local returns the timing for members on one machine that is not overloaded.
func Local() Timing { return preset(20*time.Millisecond, 150*time.Millisecond, 50*time.Millisecond) }

// LAN returns the timing for members in one building, or on one machine that may be overloaded.
func LAN() Timing {
	return preset(120*time.Millisecond, 380*time.Millisecond, 200*time.Millisecond)
}

// WAN returns the timing for members that are far apart.
func WAN() Timing { return preset(500*time.Millisecond, 3*time.Second, time.Second) }

func preset(heartbeat, timeout, roundTrip time.Duration) Timing {
	return Timing{
		Heartbeat: heartbeat, Timeout: timeout, MaxTimeout: 10 * timeout, TimeoutDecay: time.Minute,
		RoundTrip: roundTrip, MinRedial: 10 * time.Millisecond, MaxRedial: time.Second, StartupWait: 2 * timeout,
	}
}

// Presets returns the timings by the names that select them.
func Presets() map[string]Timing {
	return map[string]Timing{"local": Local(), "lan": LAN(), "wan": WAN()}
}

// AnnounceInterval returns the interval at which a leader should repeat its announcement, so that two leaders
// detect each other. The repeats add at most one frame for each ten heartbeats, and each reply to one
// arrives before the next is sent.
func (t Timing) AnnounceInterval() time.Duration { return max(10*t.Heartbeat, 2*t.RoundTrip) }

// RecoveryBound returns the maximum time from the last fault until all live members that can reach each
// other follow one leader. It applies to the algorithms of this module with their defaults for t, as
// long as no timeout has increased. It is the sum of the timeout, a repeat of the old leader, two
// elections, and a dial that was started before the end of the fault, times out, and is retried.
//
// RecoveryBound depends neither on the number of members nor on the options of the algorithm, so it does not
// hold if these make an election longer. With ring, a process waits 3 to 4.5 times N·RoundTrip/2
// before it starts a new election after a lost token, where N is the number of members, including
// crashed ones. With LAN, this alone can exceed RecoveryBound for 11 members, and does for 17.
func (t Timing) RecoveryBound() time.Duration {
	return t.Timeout + t.Heartbeat + t.AnnounceInterval() + 2*3*t.RoundTrip + DialTimeout + t.MaxRedial
}
