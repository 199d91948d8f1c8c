//go:build linux || darwin || freebsd

package watchdog

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is one end of the connection between supervisor and watchdog.
type pipe struct{ *os.File }

// message is one message on the pipe.
type message struct {
	Command  *Command      `json:",omitempty"` // to the watchdog: the command to start; the first message
	Deadline time.Duration `json:",omitempty"` // to the watchdog: the deadline; to the supervisor: the acknowledgement
	Release  []byte        `json:",omitempty"` // to the watchdog: the argument of its release function
	Stop     bool          `json:",omitempty"` // to the watchdog: end the command now
	Ended    *int          `json:",omitempty"` // to the supervisor: status of the command, which has ended voluntarily
}

// newPipe returns the two ends of a pipe, which no other process inherits.
func newPipe() (near, far pipe, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return near, far, fmt.Errorf("watchdog: create its pipe: %w", err)
	}
	return openPipe(ends[0]), openPipe(ends[1]), nil
}

func openPipe(fd int) pipe {
	unix.CloseOnExec(fd)
	return pipe{os.NewFile(uintptr(fd), "pipe")}
}

// send ignores errors: if the other end is closed, receive ends too. If the other process is stopped, it is killed
// long before the pipe is full.
func (p pipe) send(m message) { _ = json.NewEncoder(p).Encode(m) }

// receive returns the messages that arrive until the other end is closed.
func (p pipe) receive() <-chan message {
	messages := make(chan message)
	go func() {
		defer close(messages)
		for in := json.NewDecoder(p); ; {
			var m message
			if in.Decode(&m) != nil {
				return
			}
			messages <- m
		}
	}()
	return messages
}

// Now returns the time of the clock that supervisor and watchdog share. It includes the time in which the machine
// sleeps, if the system has such a clock.
func Now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // fails only for a clock that does not exist
	return time.Duration(t.Nano())
}
