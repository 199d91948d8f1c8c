//go:build !linux

package cluster

import "time"

// wakefulClock may stand still while the machine sleeps: this system has none that Go shows and that does not.
type wakefulClock struct{}

var started = runtimeClock(time.Now())

func (wakefulClock) Now() time.Duration { return started.Now() }

func (wakefulClock) Alarm(ring func()) (set func(at time.Duration), stop func(), err error) {
	return started.Alarm(ring)
}
