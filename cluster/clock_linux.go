package cluster

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootTimeClock is CLOCK_BOOTTIME.
type bootTimeClock struct{}

func bootClock(time.Time) Clock { return bootTimeClock{} }

func (bootTimeClock) Now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it fails for a clock that there is not
	return time.Duration(t.Nano())
}

func (bootTimeClock) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: an alarm for the end of a lease: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	var waits sync.WaitGroup
	waits.Go(func() {
		for ticks := make([]byte, 8); ; ring() {
			if _, err := timer.Read(ticks); err != nil {
				return // it was stopped
			}
		}
	})
	set = func(at time.Duration) {
		_ = unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}, nil)
	}
	return set, func() { _ = timer.Close(); waits.Wait() }, nil
}
