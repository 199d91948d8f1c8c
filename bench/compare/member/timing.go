package member

import (
	"encoding"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

// Timing is the requested timing of a detector. Zero selects the defaults of the library.
type Timing struct {
	Heartbeat time.Duration // interval between two heartbeats
	Timeout   time.Duration // shortest silence after which a member is given up
}

var (
	_ encoding.TextUnmarshaler = (*Timing)(nil)
	_ flag.Value               = (*Timing)(nil)
)

const defaults = "defaults"

// String returns "defaults", or a text such as "120ms/380ms".
func (t Timing) String() string {
	if t == (Timing{}) {
		return defaults
	}
	return t.Heartbeat.String() + "/" + t.Timeout.String()
}

// Set reads what String writes.
func (t *Timing) Set(s string) error {
	if s == defaults {
		*t = Timing{}
		return nil
	}
	heartbeat, timeout, ok := strings.Cut(s, "/")
	if !ok {
		return fmt.Errorf("%q, want %s or HEARTBEAT/TIMEOUT as 120ms/380ms", s, defaults)
	}
	h, heartbeatErr := time.ParseDuration(heartbeat)
	d, timeoutErr := time.ParseDuration(timeout)
	if err := errors.Join(heartbeatErr, timeoutErr); err != nil {
		return fmt.Errorf("%q: %w", s, err)
	}
	if h < time.Millisecond || d < 2*h {
		return fmt.Errorf("%q, want a heartbeat of at least 1ms and a timeout of at least two heartbeats", s)
	}
	*t = Timing{Heartbeat: h, Timeout: d}
	return nil
}

// MarshalText returns t as String formats it.
func (t Timing) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (t *Timing) UnmarshalText(text []byte) error { return t.Set(string(text)) }
