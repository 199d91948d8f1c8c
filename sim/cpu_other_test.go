//go:build !unix

package sim

import "time"

var started = time.Now()

// cpu is the time that has passed, for want of a better one.
func cpu() time.Duration { return time.Since(started) }
