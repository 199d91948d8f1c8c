package watchdog

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownPidfd returns a pidfd of this process. It becomes readable when all threads of the process have ended.
func ownPidfd() (*os.File, error) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// isPidfd reports whether fd is a pidfd of the process pid. It may be another file, which this process has inherited.
func isPidfd(fd, pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == fmt.Sprintf("Pid:\t%d", pid) {
			return true
		}
	}
	return false
}

// hasExited reports whether the process of a pidfd has ended. If wait is set, its end of the pipe is closed: then it
// ends within a moment, and hasExited waits for that, at most for the timeout.
func hasExited(pidfd int, wait bool, timeout time.Duration) bool {
	if !wait {
		timeout = 0
	}
	for until := Now() + timeout; ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(max(until-Now(), 0).Milliseconds()))
		if err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}
