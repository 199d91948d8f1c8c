package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/fleet"
)

func TestGaveUp(t *testing.T) {
	event := func(at int64, node, what, peer string) seen {
		return seen{node, fleet.Event{At: at, What: what, Peer: peer}}
	}
	survivors := []fleet.State{{Name: "n1", ID: "1"}, {Name: "n2", ID: "2"}}
	struck := fleet.State{Name: "n3", ID: "3"}
	for _, test := range []struct {
		name        string
		all         []seen
		first, last int64
		missing     string
	}{
		{"both suspect", []seen{event(12, "n1", fleet.Suspect, "3"), event(15, "n2", fleet.Suspect, "3")}, 12, 15, ""},
		{"one follows another before it suspects", []seen{
			event(12, "n1", fleet.Suspect, "3"), event(14, "n2", fleet.Leader, "1"), event(19, "n2", fleet.Suspect, "3")}, 12, 14, ""},
		{"before the signal does not count", []seen{
			event(9, "n1", fleet.Suspect, "3"), event(13, "n1", fleet.Suspect, "3"), event(11, "n2", fleet.Suspect, "3")}, 11, 13, ""},
		{"another is suspected", []seen{event(12, "n1", fleet.Suspect, "3"), event(13, "n2", fleet.Suspect, "1")}, 0, 0, "n2"},
		{"nobody is followed", []seen{event(12, "n1", fleet.Leader, ""), event(13, "n2", fleet.Suspect, "3")}, 0, 0, "n1"},
		{"the struck one is followed", []seen{event(12, "n1", fleet.Leader, "3"), event(13, "n2", fleet.Suspect, "3")}, 0, 0, "n1"},
		{"trust is no suspicion", []seen{event(12, "n1", fleet.Trust, "3"), event(13, "n2", fleet.Suspect, "3")}, 0, 0, "n1"},
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
	for at, what := range []string{fleet.Leader, fleet.Ready, fleet.Leader, fleet.Suspect, fleet.Trust, fleet.Send, fleet.Save} {
		w.see("n1", fleet.Event{At: int64(at), What: what})
	}
	require.Equal(t, 2, w.restless(1))
	require.Equal(t, 0, w.restless(3))
}
