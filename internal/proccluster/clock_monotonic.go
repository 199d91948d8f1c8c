//go:build linux || darwin || freebsd

package proccluster

import "golang.org/x/sys/unix"

// Clock names the clock of Now.
const Clock = "monotonic"

// Now returns the time in ns of a clock that all processes of this machine share. It never
// decreases.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("proccluster: no monotonic clock: " + err.Error())
	}
	return t.Nano()
}
