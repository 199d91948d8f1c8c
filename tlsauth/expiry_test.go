package tlsauth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDueWarnings(t *testing.T) {
	const day = 24 * time.Hour
	begin := time.Unix(0, 0)
	for _, test := range []struct {
		name       string
		life, left time.Duration
		want       int
	}{
		{"a year, 31 days left", 365 * day, 31 * day, 0},
		{"30 days left", 365 * day, 30 * day, 1},
		{"7 days and a second left", 365 * day, 7*day + time.Second, 1},
		{"7 days left", 365 * day, 7 * day, 2},
		{"a day left", 365 * day, day, 3},
		{"the last instant", 365 * day, 0, 3},
		{"ended", 365 * day, -time.Second, 4},
		{"90 days, renewed when a third is left", 90 * day, 30 * day, 0},
		{"90 days, a quarter left", 90 * day, 22 * day, 1},
		{"a day, a quarter left", day, 6 * time.Hour, 1},
		{"a day, an eighth left", day, 3 * time.Hour, 2},
		{"a day, a sixteenth left", day, 90 * time.Minute, 3},
	} {
		c := Identity{Since: begin, Until: begin.Add(test.life)}
		require.Equal(t, test.want, dueWarnings(c, c.Until.Add(-test.left)), test.name)
	}
}

// TestNoCertificateHasNoWarning: a secret does not expire.
func TestNoCertificateHasNoWarning(t *testing.T) {
	require.Zero(t, dueWarnings(Identity{}, time.Now()))
}
