package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSIGTERMPrecedesDeadline(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name           string
		grace, told    time.Duration
		termAt, killAt time.Duration
		now, rest      time.Duration
	}{
		{name: "a long grace has an eighth of the lease", grace: time.Minute, termAt: 98 * s, killAt: 99 * s, now: 90 * s, rest: s / 2},
		{name: "a short one is kept", grace: s / 4, termAt: 98*s + 3*s/4, killAt: 99 * s, now: 98*s + 3*s/4 - 1, rest: 1},
		{name: "told, and the lease goes on", grace: 2 * s, told: 50 * s, termAt: 98 * s, killAt: 52 * s, now: 51*s + 9*s/10, rest: s / 10},
		{name: "told, and the lease ends before", grace: time.Minute, told: 50 * s, termAt: 98 * s, killAt: 99 * s, now: 60 * s, rest: s / 2},
		{name: "it is late", grace: 2 * s, termAt: 98 * s, killAt: 99 * s, now: 200 * s, rest: s / 8},
	} {
		p := schedule{Command: Command{Grace: tc.grace, Timeout: 8 * s}, deadline: 100 * s, termSentAt: tc.told}
		require.Equal(t, tc.termAt, p.termAt(), tc.name)
		require.Equal(t, tc.killAt, p.killAt(), tc.name)
		require.Equal(t, tc.rest, p.waitTime(tc.now), tc.name)
	}
}

// TestMarginIsAtMostOneSecond has the example of docs/operations.md.
func TestMarginIsAtMostOneSecond(t *testing.T) {
	p := schedule{Command: Command{Grace: 5 * time.Second, Timeout: 30 * time.Second}, deadline: 100 * time.Second}
	require.Equal(t, 4750*time.Millisecond, p.deadline-p.termAt())
	require.Equal(t, time.Second, p.deadline-p.killAt())
}
