// Package untrusted logs events that untrusted peers can cause, and text that they send.
//
//	log := untrusted.LimitedLogger{To: logger}
//	log.Warn("connection closed", "reason", untrusted.Printable(reason))
//
// A peer can neither flood the log nor send control characters to a terminal.
package untrusted

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
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

// LimitedLogger writes log lines at the rate that its Limiter allows. Each line reports how many were suppressed
// before it.
type LimitedLogger struct {
	Limiter
	To *slog.Logger
}

// Warn logs at level WARN.
func (l *LimitedLogger) Warn(text string, args ...any) { l.Line(slog.LevelWarn, text, args...) }

// Info logs at level INFO.
func (l *LimitedLogger) Info(text string, args ...any) { l.Line(slog.LevelInfo, text, args...) }

// Line logs at the given level.
func (l *LimitedLogger) Line(level slog.Level, text string, args ...any) {
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

// Printable replaces the characters of text that are not printable, because a terminal would obey some of them.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Truncate returns the first maxBytes bytes of text, as valid UTF-8.
func Truncate(text string, maxBytes int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
}
