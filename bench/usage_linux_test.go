package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime reads the processor clock of a process, which counts ns. Its number is
// made as in clock_getcpuclockid(3): the inverted process id, and 2 for the time that
// the scheduler counts.
func processTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
