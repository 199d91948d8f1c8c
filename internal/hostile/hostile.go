// Package hostile is what a node needs to tell of strangers: who floods it must not fill
// its log, and what they say must not reach a terminal as it is.
package hostile

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// How many lines a Limiter lets through.
const (
	Burst    = 20          // at once
	Interval = time.Second // and one more for each
)

// Limiter is a token bucket for lines that a stranger can cause. The zero value is full.
type Limiter struct {
	mu         sync.Mutex
	tokens     int
	filled     time.Time
	suppressed int
}

// Allow reports whether a line may be written now, and how many were not since the
// last one.
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

// Take returns how many lines were not written since the last one, for a last line.
func (l *Limiter) Take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.suppressed
	l.suppressed = 0
	return n
}

// Log writes lines that a stranger can cause, as many as its Limiter lets through. The next
// one says how many were not written.
type Log struct {
	Limiter
	To *slog.Logger
}

// Warn writes a warning.
func (l *Log) Warn(text string, args ...any) { l.Line(slog.LevelWarn, text, args...) }

// Info writes what is no more than good to know.
func (l *Log) Info(text string, args ...any) { l.Line(slog.LevelInfo, text, args...) }

// Line writes a line of a level.
func (l *Log) Line(level slog.Level, text string, args ...any) {
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

// Plain returns a text with what is not printable replaced: a terminal obeys some of it.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Cut returns a text of UTF-8 of at most so many bytes: the beginning of a longer one, with what
// is not UTF-8 replaced.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
