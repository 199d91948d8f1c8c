package sim

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// Timing is what a simulated node is configured with: it has nothing to do with how
// long messages really take, which is Config.Delay.
type Timing struct {
	// Heartbeat, Timeout, MaxTimeout, Forgive, MinRedial and MaxRedial are those of
	// fd.Config.
	Heartbeat, Timeout, MaxTimeout, Forgive, MinRedial, MaxRedial time.Duration
	// RoundTrip is what the algorithms take for a message there and back.
	RoundTrip time.Duration
	// FirstContact is that of engine.Config.
	FirstContact time.Duration
	// DialTimeout is after how long a dial that nobody answers is given up.
	DialTimeout time.Duration
}

// LAN is the timing of the live cluster for members in one building.
func LAN() Timing {
	return Timing{
		Heartbeat: 120 * time.Millisecond, Timeout: 380 * time.Millisecond, MaxTimeout: 3800 * time.Millisecond,
		Forgive: time.Minute, MinRedial: 10 * time.Millisecond, MaxRedial: time.Second,
		RoundTrip: 200 * time.Millisecond, FirstContact: 760 * time.Millisecond, DialTimeout: time.Second,
	}
}

// Algo is what the factory of an algorithm wants to know.
func (t Timing) Algo() algo.Timing {
	return algo.Timing{RoundTrip: t.RoundTrip, Heartbeat: t.Heartbeat}
}

// Bound is how long after the last fault all members that live and can reach each
// other name one leader, as long as no timeout has grown: the silence, a repeat by the
// old leader, two elections, and a dial that was under way when the fault ended, and must
// first be given up and made again. It is that of the live cluster.
func (t Timing) Bound() time.Duration {
	return t.Timeout + t.Heartbeat + max(10*t.Heartbeat, 2*t.RoundTrip) + 2*3*t.RoundTrip + t.DialTimeout + t.MaxRedial
}

func (t Timing) detector() fd.Config {
	return fd.Config{
		Interval: t.Heartbeat, Timeout: t.Timeout, MaxTimeout: t.MaxTimeout, Forgive: t.Forgive,
		MinRedial: t.MinRedial, MaxRedial: t.MaxRedial,
	}
}
