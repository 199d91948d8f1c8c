package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// twoNodeElection returns the events of an election of bully with two nodes: n2 leads and sends a
// Coordinator to n1. The times are in µs.
func twoNodeElection() map[string][]trace.Event {
	const us = time.Microsecond
	return map[string][]trace.Event{
		"n2": {
			{At: 100 * us, Kind: trace.Send, Message: trace.ReadMessage{Name: "coordinator"}, Peer: sim.ID(1)},
			{At: 100 * us, Kind: trace.Send, Message: trace.ReadMessage{Name: "coordinator"}, Peer: sim.ID(3)}, // crashed
			{At: 110 * us, Kind: trace.Save},
			{At: 160 * us, Kind: trace.Saved},
			{At: 170 * us, Kind: trace.Announce, Leader: algo.Leader{Epoch: 1, ID: sim.ID(2)}},
		},
		"n1": {
			{At: 200 * us, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "coordinator"}, Peer: sim.ID(2)},
			{At: 210 * us, Kind: trace.Save},
			{At: 240 * us, Kind: trace.Saved},
			{At: 250 * us, Kind: trace.Announce, Leader: algo.Leader{Epoch: 1, ID: sim.ID(2)}},
		},
	}
}

var ids = map[string]string{sim.ID(1).String(): "n1", sim.ID(2).String(): "n2", sim.ID(3).String(): "n3"}

func TestTurnaroundBeginsAtFirstMessage(t *testing.T) {
	require.Equal(t, 150*time.Microsecond, turnaround(twoNodeElection()))
	quiet := twoNodeElection()
	for node, events := range quiet {
		quiet[node] = slices.DeleteFunc(events, func(e trace.Event) bool { return e.Kind == trace.Announce })
	}
	require.Zero(t, turnaround(quiet), "no node changed its leader")
	require.Zero(t, turnaround(nil))
}

func TestMessageDelayBeginsAfterSave(t *testing.T) {
	require.Equal(t, []time.Duration{40 * time.Microsecond}, flights(twoNodeElection(), ids, departure))
	for name, c := range map[string]struct {
		after []trace.Event // events of n2 after its send at 100
		want  time.Duration
	}{
		"nothing":                          {nil, 100},
		"a save of another step":           {[]trace.Event{{At: 150, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "answer"}}, {At: 155, Kind: trace.Save}, {At: 160, Kind: trace.Saved}}, 100},
		"a save in progress":               {[]trace.Event{{At: 160, Kind: trace.Saved}, {At: 170, Kind: trace.Save}, {At: 180, Kind: trace.Saved}}, 100},
		"a save much later":                {[]trace.Event{{At: 100 + 2*aStep, Kind: trace.Save}, {At: 105 + 2*aStep, Kind: trace.Saved}}, 100},
		"its save, after its announcement": {[]trace.Event{{At: 110, Kind: trace.Save}, {At: 150, Kind: trace.Announce}, {At: 160, Kind: trace.Saved}}, 40},
	} {
		notes := map[string][]trace.Event{
			"n2": append([]trace.Event{{At: 100, Kind: trace.Send, Message: trace.ReadMessage{Name: "vote"}, Peer: sim.ID(1)}}, c.after...),
			"n1": {{At: 200, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "vote"}, Peer: sim.ID(2)}},
		}
		require.Equal(t, []time.Duration{c.want}, flights(notes, ids, departure), name)
	}
}

// TestMessagesAreMatchedInOrder: the second sent message of a kind is the second delivered one.
func TestMessagesAreMatchedInOrder(t *testing.T) {
	notes := map[string][]trace.Event{
		"n1": {
			{At: 10, Kind: trace.Send, Message: trace.ReadMessage{Name: "election"}, Peer: sim.ID(2)},
			{At: 20, Kind: trace.Send, Message: trace.ReadMessage{Name: "elected"}, Peer: sim.ID(2)},
			{At: 30, Kind: trace.Send, Message: trace.ReadMessage{Name: "election"}, Peer: sim.ID(2)},
		},
		"n2": {
			{At: 15, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "election"}, Peer: sim.ID(1)},
			{At: 27, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "elected"}, Peer: sim.ID(1)},
			{At: 39, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "election"}, Peer: sim.ID(1)},
			{At: 50, Kind: trace.Deliver, Message: trace.ReadMessage{Name: "election"}, Peer: sim.ID(1)}, // sent before the log began
		},
	}
	got := flights(notes, ids, departure)
	slices.Sort(got)
	require.Equal(t, []time.Duration{5, 7, 9}, got)
}

func TestSavesOfAllNodesAreCounted(t *testing.T) {
	got := saves(twoNodeElection())
	slices.Sort(got)
	require.Equal(t, []time.Duration{30 * time.Microsecond, 50 * time.Microsecond}, got)
}

func TestMessageLogIsTakenOnce(t *testing.T) {
	l := newMessageLog()
	l.see("n1", trace.Event{Kind: trace.Send, At: 1})
	l.see("n1", trace.Event{Kind: trace.Suspect, At: 2}) // not recorded
	require.Len(t, l.take()["n1"], 1)
	require.Empty(t, l.take())
}

// saves returns the duration of each save.
func saves(notes map[string][]trace.Event) []time.Duration {
	var all []time.Duration
	for _, events := range notes {
		var began time.Duration
		for _, e := range events {
			switch e.Kind {
			case trace.Save:
				began = e.At
			case trace.Saved:
				all = append(all, e.At-began)
			}
		}
	}
	return all
}
