package cluster

import "time"

// Clock measures time for a node, since an arbitrary moment. It is not the time of day.
type Clock interface {
	// Now returns the time. It must include the time in which the machine sleeps: for other nodes a lease expires then,
	// too.
	Now() time.Duration
	// NewTimer returns a timer that is not set. set sets it, or sets it again; when Now reaches at, the timer calls ring
	// on a goroutine of its own. stop ends the timer.
	NewTimer(ring func()) (set func(at time.Duration), stop func(), err error)
}

// runtimeClock is the clock of the Go runtime, and counts from a start time. It may stand still while the machine
// sleeps.
type runtimeClock time.Time

func (c runtimeClock) Now() time.Duration { return time.Since(time.Time(c)) }

func (c runtimeClock) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	t := time.AfterFunc(time.Hour, ring)
	return func(at time.Duration) { t.Reset(at - c.Now()) }, func() { t.Stop() }, nil
}
