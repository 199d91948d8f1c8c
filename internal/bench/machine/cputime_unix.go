//go:build unix

package machine

import (
	"syscall"
	"time"
)

// CPUTime is how long processors have worked on this process. On a machine that others use too, that
// says more about the cost of something than the time that passes.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
