package proccluster

import (
	"context"
	"time"
)

// Sleep returns nil after d, or the cause of ctx if ctx ends earlier.
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
