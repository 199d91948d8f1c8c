package scenario

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	for _, test := range []struct {
		text string
		want Window
		ok   bool
	}{
		{"cluster 3\n", Window{}, true},
		{"# Title\n# Draw from 1s\ncluster 3\n", Window{From: time.Second}, true},
		{"# Draw from 1s, T = 10ms", Window{From: time.Second, Unit: 10 * time.Millisecond}, true},
		{"# Draw from 0s, leaders only\n# Draw from 5s\n", Window{LeadersOnly: true}, true},
		{"# Draw from 1s, T = 5ms, leaders only\r\n", Window{From: time.Second, Unit: 5 * time.Millisecond, LeadersOnly: true}, true},
		{"# Draw from now\n", Window{}, false},
		{"# Draw from -1s\n", Window{}, false},
		{"# Draw from 1s, T = 0s\n", Window{}, false},
		{"# Draw from now, T = 1s\n", Window{}, false},
		{"# Draw from 1s, followers\n", Window{}, false},
	} {
		got, err := WindowOf("x", test.text)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("WindowOf(%q) = %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
}
