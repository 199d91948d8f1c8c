package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/fleet"
)

// told is what two nodes reported about an election of bully: n2 leads and tells n1. The
// times are in µs.
func told() map[string][]fleet.Event {
	const us = int64(time.Microsecond)
	return map[string][]fleet.Event{
		"n2": {
			{At: 100 * us, What: fleet.Send, Kind: "coordinator", Peer: "id-1"},
			{At: 100 * us, What: fleet.Send, Kind: "coordinator", Peer: "id-3"}, // who is dead
			{At: 160 * us, What: fleet.Save, Took: 50 * us},
			{At: 170 * us, What: fleet.Leader, Name: "n2"},
		},
		"n1": {
			{At: 200 * us, What: fleet.Deliver, Kind: "coordinator", Peer: "id-2"},
			{At: 240 * us, What: fleet.Save, Took: 30 * us},
			{At: 250 * us, What: fleet.Leader, Name: "n2"},
		},
	}
}

var ids = map[string]string{"id-1": "n1", "id-2": "n2", "id-3": "n3"}

func TestTheTurnaroundIsFromTheFirstMessage(t *testing.T) {
	require.Equal(t, 150*time.Microsecond, turnaround(told()))
	quiet := told()
	for node, events := range quiet {
		quiet[node] = slices.DeleteFunc(events, func(e fleet.Event) bool { return e.What == fleet.Leader })
	}
	require.Zero(t, turnaround(quiet), "nobody changed its mind")
	require.Zero(t, turnaround(nil))
}

func TestAMessageLeavesAfterTheSave(t *testing.T) {
	require.Equal(t, []time.Duration{40 * time.Microsecond}, flights(told(), ids, departure))
	for name, c := range map[string]struct {
		after []fleet.Event // what n2 reports after it has sent at 100
		want  time.Duration
	}{
		"nothing":                    {nil, 100},
		"a save of another step":     {[]fleet.Event{{At: 150, What: fleet.Deliver}, {At: 160, What: fleet.Save, Took: 5}}, 100},
		"a save that was on already": {[]fleet.Event{{At: 160, What: fleet.Save, Took: 70}}, 100},
		"a save much later":          {[]fleet.Event{{At: 100 + 2*aStep, What: fleet.Save, Took: 5}}, 100},
		"its save, after it knew":    {[]fleet.Event{{At: 150, What: fleet.Leader}, {At: 160, What: fleet.Save, Took: 50}}, 40},
	} {
		notes := map[string][]fleet.Event{
			"n2": append([]fleet.Event{{At: 100, What: fleet.Send, Kind: "vote", Peer: "id-1"}}, c.after...),
			"n1": {{At: 200, What: fleet.Deliver, Kind: "vote", Peer: "id-2"}},
		}
		require.Equal(t, []time.Duration{c.want}, flights(notes, ids, departure), name)
	}
}

// TestMessagesAreTakenInTheirOrder: the second of a kind that was sent is the second that
// came.
func TestMessagesAreTakenInTheirOrder(t *testing.T) {
	notes := map[string][]fleet.Event{
		"n1": {
			{At: 10, What: fleet.Send, Kind: "election", Peer: "id-2"},
			{At: 20, What: fleet.Send, Kind: "elected", Peer: "id-2"},
			{At: 30, What: fleet.Send, Kind: "election", Peer: "id-2"},
		},
		"n2": {
			{At: 15, What: fleet.Deliver, Kind: "election", Peer: "id-1"},
			{At: 27, What: fleet.Deliver, Kind: "elected", Peer: "id-1"},
			{At: 39, What: fleet.Deliver, Kind: "election", Peer: "id-1"},
			{At: 50, What: fleet.Deliver, Kind: "election", Peer: "id-1"}, // sent before the journal began
		},
	}
	got := flights(notes, ids, departure)
	slices.Sort(got)
	require.Equal(t, []time.Duration{5, 7, 9}, got)
}

func TestSavesAreThoseOfAllNodes(t *testing.T) {
	got := saves(told())
	slices.Sort(got)
	require.Equal(t, []time.Duration{30 * time.Microsecond, 50 * time.Microsecond}, got)
}

func TestAJournalIsTakenOnce(t *testing.T) {
	j := newJournal()
	j.see("n1", fleet.Event{What: fleet.Send, At: 1})
	j.see("n1", fleet.Event{What: fleet.Suspect, At: 2}) // not about messages
	require.Len(t, j.take()["n1"], 1)
	require.Empty(t, j.take())
}

// saves are how long each save took.
func saves(notes map[string][]fleet.Event) []time.Duration {
	var all []time.Duration
	for _, events := range notes {
		for _, e := range events {
			if e.What == fleet.Save {
				all = append(all, time.Duration(e.Took))
			}
		}
	}
	return all
}
