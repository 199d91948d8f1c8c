package fleet

import (
	"context"
	"time"
)

// Sleep returns after d, or, when ctx ends before that, the cause of it.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
