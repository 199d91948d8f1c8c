package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The timer of a lease never fires before its deadline. It fires at once if the deadline has passed.
func TestClockTimerFiresAtDeadline(t *testing.T) {
	for name, clock := range map[string]Clock{"wakeful": bootClock(time.Now()), "runtime": runtimeClock(time.Now())} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			rings := make(chan time.Duration, 10)
			set, stop, err := clock.NewTimer(func() { rings <- clock.Now() })
			require.NoError(t, err)
			set(clock.Now() + time.Hour)
			first := clock.Now() + 20*time.Millisecond
			set(first)
			require.GreaterOrEqual(t, <-rings, first)
			set(clock.Now() - time.Second)
			<-rings // the deadline has passed already
			set(clock.Now() + time.Hour)
			stop()
			require.Empty(t, rings)
		})
	}
}
