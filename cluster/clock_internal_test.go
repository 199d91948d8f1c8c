package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The alarm of a lease rings when its time has come and not before, also when it is set anew, or late.
func TestAnAlarmRingsInTime(t *testing.T) {
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
			<-rings // it is over already
			set(clock.Now() + time.Hour)
			stop()
			require.Empty(t, rings)
		})
	}
}
