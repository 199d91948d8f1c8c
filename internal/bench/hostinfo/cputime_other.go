//go:build !unix

package hostinfo

import "time"

var started = time.Now()

// CPUTime returns the elapsed time, because this system does not report processor time.
func CPUTime() time.Duration { return time.Since(started) }
