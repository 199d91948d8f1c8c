package trace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

func TestTextIsFormattedWhenItIsRead(t *testing.T) {
	for _, test := range []struct {
		event trace.Event
		want  string
	}{
		{trace.Event{}, ""},
		{trace.Event{Format: "100% sure"}, "100% sure"}, // without arguments, it is the text
		{trace.Event{Format: "follows %s in %d", Args: []any{"n1", 7}}, "follows n1 in 7"},
	} {
		if got := test.event.Text(); got != test.want {
			t.Errorf("Text() = %q, want %q", got, test.want)
		}
	}
}

// TestTimesAreInUnits: all times have as many digits as the one that needs most, at most two, and are not rounded.
func TestTimesAreInUnits(t *testing.T) {
	for _, test := range []struct {
		unit, from time.Duration
		at         []time.Duration
		want       string
	}{
		{10, 100, []time.Duration{100}, "0"},
		{10, 100, []time.Duration{100, 115}, "0.0 1.5"},
		{100, 0, []time.Duration{115, 150}, "1.15 1.50"},
		{3, 0, []time.Duration{5, 6}, "1.66 2.00"},
	} {
		d := trace.Diagram{Unit: test.unit, From: test.from}
		for _, at := range test.at {
			d.Event(trace.Event{At: at, Node: algo.NodeID{15: 1}, Kind: trace.Start})
		}
		var got []string
		for line := range strings.Lines(d.String()) {
			if first := strings.Fields(line + " .")[0]; strings.Trim(first, "-.0123456789") == "" && first != "." {
				got = append(got, first)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%v in units of %d since %d are %s, want %s", test.at, test.unit, test.from, got, test.want)
		}
	}
}

// A message that was sent before the start of the drawing has a negative time of its send.
func TestMessageSentBeforeDrawing(t *testing.T) {
	d := trace.Diagram{Unit: 10, From: 100}
	n1, n2 := algo.NodeID{15: 1}, algo.NodeID{15: 2}
	for i, sent := range []time.Duration{75, 95} {
		m := ballot{n1, uint64(i)}
		d.Event(trace.Event{At: sent, Node: n1, Kind: trace.Send, Peer: n2, Message: m})
	}
	for i, arrived := range []time.Duration{115, 126} {
		m := ballot{n1, uint64(i)}
		d.Event(trace.Event{At: arrived, Node: n2, Kind: trace.Deliver, Peer: n1, Message: m})
	}
	for _, want := range []string{"@-2.5", "@-0.5"} {
		if !strings.Contains(d.String(), want) {
			t.Errorf("no %s in\n%s", want, d.String())
		}
	}
}

func TestWords(t *testing.T) {
	n1, n2 := algo.NodeID{15: 1}, algo.NodeID{15: 2}
	name := func(id algo.NodeID) string { return map[algo.NodeID]string{n1: "n1", n2: "n2"}[id] }
	message := func(m algo.Message) string { return m.Kind() + " round=7" }
	for _, test := range []struct {
		event trace.Event
		want  string
	}{
		{trace.Event{Kind: trace.Start, Epoch: 4}, "starts with epoch 4"},
		{trace.Event{Kind: trace.Send, Peer: n2, Message: ballot{n1, 7}}, "sends ballot round=7 to n2"},
		{trace.Event{Kind: trace.Deliver, Peer: n2, Message: ballot{n1, 7}}, "receives ballot round=7 from n2"},
		{trace.Event{Kind: trace.Drop, Peer: n2, Message: ballot{n1, 7}}, "loses ballot round=7 from n2"},
		{trace.Event{Kind: trace.Drop, Peer: n2, Message: ballot{n1, 7}, Format: "too old"}, "loses ballot round=7 from n2: too old"},
		{trace.Event{Kind: trace.Expire, Timer: "answer"}, "timer answer ends"},
		{trace.Event{Kind: trace.Save, Epoch: 4}, "saves epoch 4"},
		{trace.Event{Kind: trace.ConfigChanged, ConfigVersion: 9}, "has config version 9"},
		{trace.Event{Kind: trace.Announce}, "follows no leader"},
		{trace.Event{Kind: trace.Announce, Leader: algo.Leader{Epoch: 4}}, "follows no leader in epoch 4"},
		{trace.Event{Node: n1, Kind: trace.Announce, Leader: algo.Leader{Epoch: 4, ID: n1}}, "leads in epoch 4"},
		{trace.Event{Kind: trace.Note, Format: "contests %s", Args: []any{n2}}, "contests n2"},
	} {
		if got := test.event.Words(name, message); got != test.want {
			t.Errorf("%s: got %q want %q", test.event.Kind, got, test.want)
		}
	}
}
