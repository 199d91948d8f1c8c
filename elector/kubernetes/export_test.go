package kubernetes

import (
	"context"
	"time"

	"github.com/elect-go/elect/elector"
)

// SetClock replaces the clock of a contender that was not started.
func SetClock(e *Elector, now func() time.Duration) { e.now = now }

// ObserveWith is Observe with the clock of a contender that was not started.
func ObserveWith(ctx context.Context, e *Elector, yield func(elector.Leadership, error) bool) {
	e.observe(ctx, yield)
}
