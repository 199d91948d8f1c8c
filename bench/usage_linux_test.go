package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime reads the processor clock of a process, in ns. The clock ID follows
// clock_getcpuclockid(3): the inverted process ID, and 2 for the scheduler's clock.
func processTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
