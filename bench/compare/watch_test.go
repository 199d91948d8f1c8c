package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

func TestSurvivorsGiveFailedLeaderUp(t *testing.T) {
	event := func(at time.Duration, node string, kind trace.Kind, peer int) nodeEvent {
		e := trace.Event{At: at, Kind: kind, Peer: algosim.ID(peer)}
		if kind == trace.Announce && peer > 0 {
			e.Leader = algosim.Leadership(1, peer)
		}
		return nodeEvent{node, e}
	}
	survivors := []proccluster.State{{Name: "n1", ID: algosim.ID(1).String()}, {Name: "n2", ID: algosim.ID(2).String()}}
	failed := proccluster.State{Name: "n3", ID: algosim.ID(3).String()}
	for _, test := range []struct {
		name        string
		all         []nodeEvent
		first, last int64
		missing     string
	}{
		{"both survivors suspect", []nodeEvent{event(12, "n1", trace.Suspect, 3), event(15, "n2", trace.Suspect, 3)}, 12, 15, ""},
		{"a survivor follows another leader before it suspects", []nodeEvent{
			event(12, "n1", trace.Suspect, 3), event(14, "n2", trace.Announce, 1), event(19, "n2", trace.Suspect, 3)}, 12, 14, ""},
		{"an event before the signal does not count", []nodeEvent{
			event(9, "n1", trace.Suspect, 3), event(13, "n1", trace.Suspect, 3), event(11, "n2", trace.Suspect, 3)}, 11, 13, ""},
		{"another member is suspected", []nodeEvent{event(12, "n1", trace.Suspect, 3), event(13, "n2", trace.Suspect, 1)}, 0, 0, "n2"},
		{"no leader is followed", []nodeEvent{event(12, "n1", trace.Announce, 0), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
		{"the failed leader is followed", []nodeEvent{event(12, "n1", trace.Announce, 3), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
		{"trust does not count", []nodeEvent{event(12, "n1", trace.Trust, 3), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r eventRecorder
			for _, e := range test.all {
				r.record(e.node, e.Event)
			}
			first, last, err := r.suspectedAt(survivors, failed, 10)
			if test.missing != "" {
				require.ErrorContains(t, err, test.missing+" has not given n3 up")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []int64{test.first, test.last}, []int64{first, last})
		})
	}
}

func TestSuspicionsAndLeaderChangesAreDisturbances(t *testing.T) {
	var r eventRecorder
	for at, kind := range []trace.Kind{trace.Announce, trace.Ready, trace.Announce, trace.Suspect, trace.Trust, trace.Send, trace.Save} {
		r.record("n1", trace.Event{At: time.Duration(at), Kind: kind})
	}
	require.Equal(t, 2, r.countDisturbances(1))
	require.Equal(t, 0, r.countDisturbances(3))
}
