package testkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// recorder is a test that records whether it was skipped or has failed.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.skipped = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestMissingToolSkipsTestExceptInCI(t *testing.T) {
	for _, test := range []struct {
		ci              string
		there           bool
		skipped, failed bool
	}{
		{"", true, false, false},
		{"true", true, false, false},
		{"", false, true, false},
		{"true", false, false, true},
	} {
		t.Setenv("CI", test.ci)
		r := &recorder{TB: t}
		testkit.Need(r, test.there, "a tool")
		require.Equal(t, test.skipped, r.skipped, "%+v", test)
		require.Equal(t, test.failed, r.failed, "%+v", test)
	}
}

func TestRoundsFollowFlag(t *testing.T) {
	want := 3
	if testkit.Long() {
		want = 100
	}
	require.Equal(t, want, testkit.Rounds(3, 100))
}
