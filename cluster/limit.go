package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Lines that a peer can cause: so many at once, and one more for each interval.
const (
	logBurst    = 20
	logInterval = time.Second
)

// limitedLog is a log for what peers can cause. Who floods a node must not fill its
// disk: lines above the limit are counted, and the next line says how many.
type limitedLog struct {
	log *slog.Logger

	mu         sync.Mutex
	tokens     int
	filled     time.Time
	suppressed int
}

func (l *limitedLog) warn(text string, args ...any) {
	ok, suppressed := l.allow(time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	l.log.Log(context.Background(), slog.LevelWarn, text, args...)
}

// allow reports whether a line may be written now, and how many were not since the
// last one.
func (l *limitedLog) allow(now time.Time) (ok bool, suppressed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.filled.IsZero() {
		l.tokens, l.filled = logBurst, now
	}
	if n := int(now.Sub(l.filled) / logInterval); n > 0 {
		l.tokens = min(l.tokens+n, logBurst)
		l.filled = l.filled.Add(time.Duration(n) * logInterval)
	}
	if l.tokens == 0 {
		l.suppressed++
		return false, 0
	}
	l.tokens--
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}
