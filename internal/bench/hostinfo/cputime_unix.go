//go:build unix

package hostinfo

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of this process. On a shared machine it measures a cost better
// than the elapsed time.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
