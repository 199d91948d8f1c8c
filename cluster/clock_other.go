//go:build !linux

package cluster

import "time"

// wakeful may stand still while the machine sleeps: this system has no clock that Go shows and that does not.
func wakeful(began time.Time) Clock { return runtimeClock(began) }
