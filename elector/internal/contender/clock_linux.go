package contender

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time of a clock that also counts the time in which the machine sleeps.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that Go supports has the clock
	}
	return time.Duration(t.Nano())
}
