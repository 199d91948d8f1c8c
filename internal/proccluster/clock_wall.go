//go:build !(linux || darwin || freebsd)

package proccluster

import "time"

// Clock names the clock of Now.
const Clock = "wall"

// Now returns the time in ns of a clock that all processes of this machine share. Here that
// is the wall clock, which jumps when it is set.
func Now() int64 { return time.Now().UnixNano() }
