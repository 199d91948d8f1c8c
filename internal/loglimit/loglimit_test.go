package loglimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/loglimit"
)

func TestLimiter(t *testing.T) {
	var l loglimit.Limiter
	now := time.Unix(0, 0)
	for range loglimit.Burst {
		ok, suppressed := l.Allow(now)
		require.True(t, ok)
		require.Zero(t, suppressed)
	}
	for range 7 {
		ok, _ := l.Allow(now)
		require.False(t, ok)
	}
	ok, suppressed := l.Allow(now.Add(loglimit.Interval))
	require.True(t, ok)
	require.Equal(t, 7, suppressed)
	ok, _ = l.Allow(now.Add(loglimit.Interval))
	require.False(t, ok)
	require.Equal(t, 1, l.Suppressed())
	require.Zero(t, l.Suppressed())

	// After any time without a line, at most a burst of lines is allowed.
	now = now.Add(time.Hour)
	for range loglimit.Burst {
		ok, _ := l.Allow(now)
		require.True(t, ok)
	}
	ok, _ = l.Allow(now)
	require.False(t, ok)
}
