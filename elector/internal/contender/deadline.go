package contender

import (
	"context"
	"sync"
	"time"
)

// Usable returns the part of a lease that its holder uses: nine tenths, because clocks may run at different rates.
func Usable(lease time.Duration) time.Duration { return lease * 9 / 10 }

// Deadline is the end of a leadership by the clock of this process, unless it is renewed. It counts from the moment
// when a renewal was sent, because the engine counts from a later one.
type Deadline struct {
	now    func() time.Duration
	usable time.Duration // of the lease

	mu sync.Mutex
	at time.Duration
}

// NewDeadline returns the deadline of a lease that was requested at a time. The clock is that of now.
func NewDeadline(now func() time.Duration, usable, sent time.Duration) *Deadline {
	return &Deadline{now: now, usable: usable, at: sent + usable}
}

// Remaining returns the time until the deadline.
func (d *Deadline) Remaining() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at - d.now()
}

// Time returns the deadline as a time, for [elector.Leadership.WithDeadline].
func (d *Deadline) Time() (end time.Time, bounded bool) {
	return time.Now().Add(d.Remaining()), true
}

// Renew moves the deadline after a renewal that was sent at a time, unless the deadline has passed.
func (d *Deadline) Renew(sent time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now() < d.at {
		d.at = max(d.at, sent+d.usable)
	}
}

// Await waits for the deadline, and reports false if ctx has ended before. It looks again after each step, because a
// timer stands still while the machine sleeps.
func (d *Deadline) Await(ctx context.Context, step time.Duration) bool {
	for {
		left := d.Remaining()
		if left <= 0 {
			return true
		}
		select {
		case <-time.After(min(left, step)):
		case <-ctx.Done():
			return false
		}
	}
}
