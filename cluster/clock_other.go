//go:build !linux

package cluster

import "time"

// bootClock may stand still while the machine sleeps: this system has no clock that Go shows and that does not.
func bootClock(began time.Time) Clock { return runtimeClock(began) }
