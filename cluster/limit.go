package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/elect-go/elect/internal/hostile"
)

// limitedLog is a log for what peers can cause. Lines above the limit are counted, and the
// next line says how many.
type limitedLog struct {
	log   *slog.Logger
	limit hostile.Limiter
}

func (l *limitedLog) warn(text string, args ...any) { l.line(slog.LevelWarn, text, args...) }
func (l *limitedLog) info(text string, args ...any) { l.line(slog.LevelInfo, text, args...) }

func (l *limitedLog) line(level slog.Level, text string, args ...any) {
	ok, suppressed := l.limit.Allow(time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	l.log.Log(context.Background(), level, text, args...)
}
