//go:build !linux

package contender

import "time"

var started = time.Now()

// Now returns the time of the clock of the Go runtime. It may stand still while the machine sleeps.
func Now() time.Duration { return time.Since(started) }
