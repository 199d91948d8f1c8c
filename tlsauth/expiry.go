package tlsauth

import (
	"context"
	"time"
)

// expiryInterval is the time between two looks at a certificate. Connections look at it as well, but a cluster at rest
// makes none.
const expiryInterval = time.Minute

// WatchExpiry calls self every minute, and calls warn when a warning is due before the certificate of that identity
// ends: see [Identity].Until. It returns when ctx ends. A renewed certificate is warned of from the start again.
//
// Warnings are due 30, 7 and 1 days before the end, and at the end. For a certificate that is valid for less than some
// months, three of them are due when a quarter, an eighth and a sixteenth of its time are left.
func WatchExpiry(ctx context.Context, self func() Identity, warn func(self Identity, now time.Time)) {
	var last Identity
	warned := 0
	for {
		id, now := self(), time.Now()
		if !id.Until.Equal(last.Until) {
			last, warned = id, 0
		}
		if due := dueWarnings(id, now); due > warned {
			warned = due
			warn(id, now)
		}
		select {
		case <-time.After(expiryInterval):
		case <-ctx.Done():
			return
		}
	}
}

// dueWarnings returns the number of warnings that are due. A short certificate is usually renewed when a third of its
// time is left, so it must not warn at each renewal.
func dueWarnings(c Identity, now time.Time) (due int) {
	const day = 24 * time.Hour
	if c.Until.IsZero() {
		return 0
	}
	life, left := c.Until.Sub(c.Since), c.Until.Sub(now)
	for _, ahead := range []time.Duration{min(30*day, life/4), min(7*day, life/8), min(day, life/16), -1} {
		if left <= ahead {
			due++
		}
	}
	return due
}
