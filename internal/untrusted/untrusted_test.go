package untrusted_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/untrusted"
)

func TestLimiter(t *testing.T) {
	var l untrusted.Limiter
	now := time.Unix(0, 0)
	for range untrusted.Burst {
		ok, suppressed := l.Allow(now)
		require.True(t, ok)
		require.Zero(t, suppressed)
	}
	for range 7 {
		ok, _ := l.Allow(now)
		require.False(t, ok)
	}
	ok, suppressed := l.Allow(now.Add(untrusted.Interval))
	require.True(t, ok)
	require.Equal(t, 7, suppressed)
	ok, _ = l.Allow(now.Add(untrusted.Interval))
	require.False(t, ok)
	require.Equal(t, 1, l.Suppressed())
	require.Zero(t, l.Suppressed())

	// However long nothing was written, no more lines than a burst have gathered.
	now = now.Add(time.Hour)
	for range untrusted.Burst {
		ok, _ := l.Allow(now)
		require.True(t, ok)
	}
	ok, _ = l.Allow(now)
	require.False(t, ok)
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"no room: größer als 5":  "no room: größer als 5",
		"\x1b[2Jgone\r\nlevel=x": "�[2Jgone��level=x",
		"\u202eback":             "�back", // writes from right to left
		"not text: \xff":         "not text: �",
	} {
		require.Equal(t, want, untrusted.Printable(text))
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""}, {"four", "four"}, {"fives", "five"}, {"é", "é"}, {"aéé", "aé"}, {"aaéé", "aaé"}, {"\xff", "�"}, {"aa\xff", "aa"},
	} {
		require.Equal(t, test.want, untrusted.Truncate(test.text, 4), "%q", test.text)
	}
}
