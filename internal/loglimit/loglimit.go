// Package loglimit limits the log lines about events that untrusted peers can cause:
//
//	log := loglimit.Logger{To: logger}
//	log.Warn("connection closed", "reason", untrusted.Printable(reason))
//
// A peer cannot flood the log.
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The rate of lines that a Limiter allows.
const (
	Burst    = 20          // lines at once
	Interval = time.Second // for one more line
)

// Limiter is a token bucket for log lines. The zero value is full.
type Limiter struct {
	mu         sync.Mutex
	tokens     int
	filled     time.Time
	suppressed int
}

// Allow reports whether a line may be written now. If so, it also returns the number of lines that were suppressed
// since the last one.
func (l *Limiter) Allow(now time.Time) (ok bool, suppressed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.filled.IsZero() {
		l.tokens, l.filled = Burst, now
	}
	if n := int(now.Sub(l.filled) / Interval); n > 0 {
		l.tokens = min(l.tokens+n, Burst)
		l.filled = l.filled.Add(time.Duration(n) * Interval)
	}
	if l.tokens == 0 {
		l.suppressed++
		return false, 0
	}
	l.tokens--
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}

// Suppressed returns and resets the number of lines that were suppressed since the last one. It is for a final line.
func (l *Limiter) Suppressed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.suppressed
	l.suppressed = 0
	return n
}

// Logger writes log lines at the rate that its Limiter allows. Each line reports how many were suppressed
// before it.
type Logger struct {
	Limiter
	To *slog.Logger
}

// Warn logs at level WARN.
func (l *Logger) Warn(text string, args ...any) { l.Line(slog.LevelWarn, text, args...) }

// Info logs at level INFO.
func (l *Logger) Info(text string, args ...any) { l.Line(slog.LevelInfo, text, args...) }

// Line logs at the given level.
func (l *Logger) Line(level slog.Level, text string, args ...any) {
	ctx := context.Background()
	if !l.To.Enabled(ctx, level) {
		return
	}
	ok, suppressed := l.Allow(time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	l.To.Log(ctx, level, text, args...)
}
