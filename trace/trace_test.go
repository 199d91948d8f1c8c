package trace

import (
	"testing"
	"time"
)

func TestTextIsFormattedWhenItIsRead(t *testing.T) {
	for _, test := range []struct {
		event Event
		want  string
	}{
		{Event{}, ""},
		{Event{Format: "100% sure"}, "100% sure"}, // without arguments, it is the text
		{Event{Format: "follows %s in %d", Args: []any{"n1", 7}}, "follows n1 in 7"},
	} {
		if got := test.event.Text(); got != test.want {
			t.Errorf("Text() = %q, want %q", got, test.want)
		}
	}
}

func TestTimesAreInUnits(t *testing.T) {
	d := Diagram{Unit: 10, From: 100}
	for _, tc := range []struct {
		at     time.Duration
		digits int
		want   string
	}{{100, 0, "0"}, {115, 0, "1"}, {115, 1, "1.5"}, {115, 2, "1.50"}, {95, 1, "-0.5"}, {75, 2, "-2.50"}} {
		if got := d.inUnits(tc.at, tc.digits); got != tc.want {
			t.Errorf("%d with %d digits is %s, want %s", tc.at, tc.digits, got, tc.want)
		}
	}
	for at, want := range map[time.Duration]int{100: 0, 115: 1, 95: 1} {
		if got := d.digits(at); got != want {
			t.Errorf("%d needs %d digits, want %d", at, got, want)
		}
	}
}
