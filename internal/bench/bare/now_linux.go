package main

import "golang.org/x/sys/unix"

// now returns the time of the clock of all processes of this machine, in ns.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
