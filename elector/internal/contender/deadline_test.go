package contender

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeadlineCountsFromSending(t *testing.T) {
	now := 2 * time.Second
	d := NewDeadline(func() time.Duration { return now }, Usable(10*time.Second), time.Second)
	require.Equal(t, 8*time.Second, d.Remaining())
	now = 9 * time.Second
	d.Renew(6 * time.Second)
	require.Equal(t, 6*time.Second, d.Remaining())
	d.Renew(5 * time.Second)
	require.Equal(t, 6*time.Second, d.Remaining(), "answers may arrive in another order")
	now = 15 * time.Second
	d.Renew(14 * time.Second)
	require.Zero(t, d.Remaining(), "what has ended is not renewed")
}

// The clock of a deadline may run while timers stand still, as when the machine sleeps.
func TestAwaitDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var slept atomic.Int64
		now := func() time.Duration { return time.Since(started) + time.Duration(slept.Load()) }
		d := NewDeadline(now, 10*time.Second, 0)
		go func() {
			time.Sleep(5 * time.Second)
			d.Renew(5 * time.Second)
		}()
		require.True(t, d.Await(t.Context(), time.Second))
		require.Equal(t, 15*time.Second, time.Since(started))
		end, bounded := d.Time()
		require.True(t, bounded && !end.After(time.Now()))

		d = NewDeadline(now, time.Hour, now())
		go func() {
			time.Sleep(time.Second / 2)
			slept.Store(int64(time.Hour))
		}()
		require.True(t, d.Await(t.Context(), time.Second))
		require.Equal(t, 16*time.Second, time.Since(started), "one step after the machine has woken")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d = NewDeadline(func() time.Duration { return 0 }, time.Hour, 0)
		require.False(t, d.Await(ctx, time.Minute))
	})
}
