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
		grace, sent    time.Duration
		termAt, killAt time.Duration
		now, rest      time.Duration
	}{
		{name: "a long grace has an eighth of the lease", grace: time.Minute, termAt: 98 * s, killAt: 99 * s, now: 90 * s, rest: s / 2},
		{name: "a short grace is kept", grace: s / 4, termAt: 98*s + 3*s/4, killAt: 99 * s, now: 98*s + 3*s/4 - 1, rest: 1},
		{name: "SIGTERM sent, and the lease is renewed", grace: 2 * s, sent: 50 * s, termAt: 98 * s, killAt: 52 * s, now: 51*s + 9*s/10, rest: s / 10},
		{name: "SIGTERM sent, and the lease expires before the grace", grace: time.Minute, sent: 50 * s, termAt: 98 * s, killAt: 99 * s, now: 60 * s, rest: s / 2},
		{name: "it is late", grace: 2 * s, termAt: 98 * s, killAt: 99 * s, now: 200 * s, rest: s / 8},
	} {
		p := schedule{Command: Command{Grace: tc.grace, Timeout: 8 * s}, deadline: 100 * s, termSentAt: tc.sent}
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
