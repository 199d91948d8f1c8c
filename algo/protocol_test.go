package algo_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

// TestProtocolDocument compares the times in docs/protocol.md with the presets.
func TestProtocolDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	text := func(d time.Duration) string {
		unit := strings.TrimLeft(d.String(), "0123456789.")
		if d == time.Minute {
			return "1 min"
		}
		return strings.TrimSuffix(d.String(), unit) + " " + unit
	}
	for setting, value := range map[string]func(algo.Timing) string{
		"`heartbeat`":     func(t algo.Timing) string { return text(t.Heartbeat) },
		"`timeout`":       func(t algo.Timing) string { return text(t.Timeout) },
		"`max_timeout`":   func(t algo.Timing) string { return text(t.MaxTimeout) },
		"`timeout_decay`": func(t algo.Timing) string { return text(t.TimeoutDecay) },
		"`round_trip`":    func(t algo.Timing) string { return text(t.RoundTrip) },
		"`startup_wait`":  func(t algo.Timing) string { return text(t.StartupWait) },
		"`min_redial`, `max_redial`": func(t algo.Timing) string {
			return text(t.MinRedial) + ", " + text(t.MaxRedial)
		},
	} {
		row := "| " + strings.Join([]string{setting, value(algo.Local()), value(algo.LAN()), value(algo.WAN())}, " | ") + " |"
		require.Contains(t, string(page), row)
	}
}
