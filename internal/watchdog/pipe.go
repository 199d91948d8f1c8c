//go:build linux || darwin || freebsd

package watchdog

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is one end of the connection between supervisor and watchdog.
type pipe struct{ *os.File }

// newPipe returns the two ends of a pipe, which no other process inherits.
func newPipe() (near, far pipe, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return near, far, fmt.Errorf("watchdog: a line to it: %w", err)
	}
	return openPipe(ends[0]), openPipe(ends[1]), nil
}

func openPipe(fd int) pipe {
	unix.CloseOnExec(fd)
	return pipe{os.NewFile(uintptr(fd), "line")}
}

// send ignores errors: if the other end is closed, receive ends too. If the other process is stopped, it is killed
// long before the pipe is full.
func (l pipe) send(number time.Duration) { _ = binary.Write(l, binary.LittleEndian, number) }

// receive returns the values that arrive until the other end is closed.
func (l pipe) receive() <-chan time.Duration {
	numbers := make(chan time.Duration)
	go func() {
		defer close(numbers)
		for {
			var number time.Duration
			if binary.Read(l, binary.LittleEndian, &number) != nil {
				return
			}
			numbers <- number
		}
	}()
	return numbers
}

// Now returns the time of the clock that supervisor and watchdog share. It includes the time in which the machine
// sleeps, if the system has such a clock.
func Now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // fails only for a clock that does not exist
	return time.Duration(t.Nano())
}
