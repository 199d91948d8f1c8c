//go:build !unix

package cpu

import "time"

var started = time.Now()

// Time is the time that has passed, for want of a better one.
func Time() time.Duration { return time.Since(started) }
