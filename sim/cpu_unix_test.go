//go:build unix

package sim

import (
	"syscall"
	"time"
)

// cpu is the time that processors have spent on this process: on a machine that others
// use too, it says more than the time that has passed.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
