//go:build linux || darwin || freebsd

package guard

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// line is an end of that between supervisor and guard.
type line struct{ *os.File }

// newLine makes one, of which no other process has an end.
func newLine() (here, there line, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return here, there, fmt.Errorf("guard: a line to it: %w", err)
	}
	return openLine(ends[0]), openLine(ends[1]), nil
}

func openLine(fd int) line {
	unix.CloseOnExec(fd)
	return line{os.NewFile(uintptr(fd), "line")}
}

// say is in vain where nobody listens any more, which ends the line the other way, too. One who is stopped is
// dealt with long before the line is full.
func (l line) say(number time.Duration) { _ = binary.Write(l, binary.LittleEndian, number) }

// hear returns what comes until the other end is no more.
func (l line) hear() <-chan time.Duration {
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

// Now is the time that supervisor and guard share. It goes on while the machine sleeps, where the system has such
// a clock.
func Now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // it fails for a clock that there is not
	return time.Duration(t.Nano())
}
