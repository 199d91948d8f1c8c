package testkit

import (
	"log/slog"
	"strings"
	"sync"
)

// Log keeps what is logged, for a test that reads it while others write. The zero value is ready for use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// Logger writes lines of text to the log, from the level INFO on.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Lines returns the lines that contain all of the parts.
func (l *Log) Lines(parts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.text.String()) {
		contains := true
		for _, part := range parts {
			contains = contains && strings.Contains(line, part)
		}
		if contains {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
