package algo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

func TestOptionCheck(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name  string
		got   time.Duration
		least time.Duration
		want  string
	}{
		{"enough", 2 * s, 2 * s, ""},
		{"not enough", s, 2 * s, "x.wait is 1s, want at least the least (2s)"},
		{"no minimum", 1, 0, ""},
		{"zero", 0, 0, "x.wait is 0s, want more than 0"},
		{"negative", -s, -2 * s, "x.wait is -1s, want more than 0"},
		{"the longest", 24 * time.Hour, s, ""},
		{"too long", 24*time.Hour + 1, s, "x.wait is 24h0m0.000000001s, want at most 24h0m0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := algo.OptionCheck{Algorithm: "x"}
			c.Duration("wait", tc.got, "the least", tc.least)
			got := ""
			if err := c.Err(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOptionCheckReportsAllErrors(t *testing.T) {
	c := algo.OptionCheck{Algorithm: "x"}
	c.Require(true, "a", "1", "1")
	c.Require(false, "b", "2", "3")
	c.Require(false, "c", "4", "5")
	err := c.Err()
	if want := "x.b is 2, want 3\nx.c is 4, want 5"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	first, ok := errors.AsType[*algo.SettingError](err)
	if want := (algo.SettingError{Field: "x.b", Got: "2", Want: "3"}); !ok || *first != want {
		t.Errorf("the first error is %+v, want %+v", first, want)
	}
}
