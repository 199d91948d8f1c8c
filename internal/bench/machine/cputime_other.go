//go:build !unix

package machine

import "time"

var started = time.Now()

// CPUTime is the time that has passed: here the system does not say more.
func CPUTime() time.Duration { return time.Since(started) }
