package cluster

import "time"

// Clock is what a node measures time by: from some moment on, which says nothing of the time of day.
type Clock interface {
	// Now continues while the machine sleeps: others have counted that time too.
	Now() time.Duration
	// Alarm has ring called, on a goroutine of its own, when Now is what it was last set to. It ends with stop.
	NewTimer(ring func()) (set func(at time.Duration), stop func(), err error)
}

// runtimeClock counts from that time on.
type runtimeClock time.Time

func (c runtimeClock) Now() time.Duration { return time.Since(time.Time(c)) }

func (c runtimeClock) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	t := time.AfterFunc(time.Hour, ring)
	return func(at time.Duration) { t.Reset(at - c.Now()) }, func() { t.Stop() }, nil
}
