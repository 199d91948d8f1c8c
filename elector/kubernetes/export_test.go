package kubernetes

import "time"

// SetClock replaces the clock of a contender that was not started.
func SetClock(e *Elector, now func() time.Duration) { e.now = now }
