package trace

import "testing"

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
