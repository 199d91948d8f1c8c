package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThereIsTimeForSIGTERMBeforeTheEnd(t *testing.T) {
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
		p := plan{Command: Command{Grace: tc.grace, Lease: 8 * s}, end: 100 * s, told: tc.told}
		require.Equal(t, tc.termAt, p.termAt(), tc.name)
		require.Equal(t, tc.killAt, p.killAt(), tc.name)
		require.Equal(t, tc.rest, p.rest(tc.now), tc.name)
	}
}

// TestMarginOfLongLeaseIsOneSecond has the example of docs/operations.md.
func TestMarginOfLongLeaseIsOneSecond(t *testing.T) {
	p := plan{Command: Command{Grace: 5 * time.Second, Lease: 30 * time.Second}, end: 100 * time.Second}
	require.Equal(t, 4750*time.Millisecond, p.end-p.termAt())
	require.Equal(t, time.Second, p.end-p.killAt())
}
