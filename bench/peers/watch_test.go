package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/trace"
)

func TestGaveUp(t *testing.T) {
	event := func(at time.Duration, node string, kind trace.Kind, peer int) seen {
		e := trace.Event{At: at, Kind: kind, Peer: algosim.ID(peer)}
		if kind == trace.Announce && peer > 0 {
			e.Leader = algosim.Leadership(1, peer)
		}
		return seen{node, e}
	}
	survivors := []fleet.State{{Name: "n1", ID: algosim.ID(1).String()}, {Name: "n2", ID: algosim.ID(2).String()}}
	struck := fleet.State{Name: "n3", ID: algosim.ID(3).String()}
	for _, test := range []struct {
		name        string
		all         []seen
		first, last int64
		missing     string
	}{
		{"both suspect", []seen{event(12, "n1", trace.Suspect, 3), event(15, "n2", trace.Suspect, 3)}, 12, 15, ""},
		{"one follows another before it suspects", []seen{
			event(12, "n1", trace.Suspect, 3), event(14, "n2", trace.Announce, 1), event(19, "n2", trace.Suspect, 3)}, 12, 14, ""},
		{"before the signal does not count", []seen{
			event(9, "n1", trace.Suspect, 3), event(13, "n1", trace.Suspect, 3), event(11, "n2", trace.Suspect, 3)}, 11, 13, ""},
		{"another is suspected", []seen{event(12, "n1", trace.Suspect, 3), event(13, "n2", trace.Suspect, 1)}, 0, 0, "n2"},
		{"nobody is followed", []seen{event(12, "n1", trace.Announce, 0), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
		{"the struck one is followed", []seen{event(12, "n1", trace.Announce, 3), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
		{"trust is no suspicion", []seen{event(12, "n1", trace.Trust, 3), event(13, "n2", trace.Suspect, 3)}, 0, 0, "n1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w watch
			for _, e := range test.all {
				w.see(e.node, e.Event)
			}
			first, last, err := w.gaveUp(survivors, struck, 10)
			if test.missing != "" {
				require.ErrorContains(t, err, test.missing+" has not given n3 up")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []int64{test.first, test.last}, []int64{first, last})
		})
	}
}

func TestRestless(t *testing.T) {
	var w watch
	for at, kind := range []trace.Kind{trace.Announce, trace.Ready, trace.Announce, trace.Suspect, trace.Trust, trace.Send, trace.Save} {
		w.see("n1", trace.Event{At: time.Duration(at), Kind: kind})
	}
	require.Equal(t, 2, w.restless(1))
	require.Equal(t, 0, w.restless(3))
}
