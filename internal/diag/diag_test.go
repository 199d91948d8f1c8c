package diag

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

func TestProblemsAreReportedTogetherAndOnce(t *testing.T) {
	var l List
	require.NoError(t, l.Err("letter"))
	l.Addf("%d is %s", 2, "odd")
	require.EqualError(t, l.Err("letter"), "2 is odd")
	l.Add(&algo.SettingError{Got: "b", Origin: algo.Origin{Source: File, Name: "f", Line: 2}})
	l.Add(&algo.SettingError{Got: "a", Origin: algo.Origin{Source: File, Name: "f", Line: 1}})
	l.Addf("2 is odd")
	require.EqualError(t, l.Err("letter"), "3 problems in the letter:\n  f:1: a\n  f:2: b\n  2 is odd")

	var other List
	other.AddError(nil)
	other.AddError(l.Err("letter"))
	other.AddError(errors.New("another"))
	require.Len(t, other, 4)
	for range MaxProblems {
		other.Addf("%s", strings.Repeat("x", len(other)))
	}
	require.True(t, other.Full())
	require.ErrorContains(t, other.Err("letter"), "more than 100 problems in the letter:\n")
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"heartbeat", "hartbeat", 1},
	} {
		require.Equal(t, tc.want, distance(tc.a, tc.b), "%s %s", tc.a, tc.b)
		require.Equal(t, tc.want, distance(tc.b, tc.a), "%s %s", tc.b, tc.a)
	}
}

func TestFlatten(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	require.Empty(t, Flatten(nil))
	require.Equal(t, []error{a, b, c}, Flatten(errors.Join(a, errors.Join(b, c))))
	require.Len(t, Flatten(wrapping{[]error{a, b}}), 1)
}

// wrapping wraps several errors, and has a text of its own.
type wrapping struct{ all []error }

func (w wrapping) Error() string   { return "both of them" }
func (w wrapping) Unwrap() []error { return w.all }
