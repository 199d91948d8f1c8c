package cli

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/elect-go/elect/explore"
)

// searched is the progress of a search or a walk.
type searched struct {
	walk bool
	mu   sync.Mutex
	last *explore.Progress
}

func (s *searched) update(now explore.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &now
}

func (s *searched) text(since time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	since = since.Truncate(time.Second)
	switch now := s.last; {
	case now == nil:
		return ""
	case s.walk:
		return fmt.Sprintf("%v: %s steps, %s", since, grouped(now.Generated), inMiB(now.Bytes))
	default:
		return fmt.Sprintf("%v: %s states, %s transitions, depth %d, %s waiting, %s",
			since, grouped(now.States), grouped(now.Generated), now.Depth, grouped(now.Waiting), inMiB(now.Bytes))
	}
}

func inMiB(bytes int64) string { return grouped(int(bytes>>20)) + " MiB" }

// grouped formats a number in groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
