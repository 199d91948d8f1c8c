package etcd

import (
	"time"

	"golang.org/x/sys/unix"
)

// now returns the time of a clock that also counts the time in which the machine sleeps. The servers count that time, too.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that Go supports has the clock
	}
	return time.Duration(t.Nano())
}
