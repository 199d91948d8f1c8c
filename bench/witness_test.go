package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/trace"
)

func TestWitnessCountsEventsInPeriod(t *testing.T) {
	var w witness
	for at, kind := range []trace.Kind{trace.Announce, trace.Suspect, trace.Announce, trace.Save, trace.Trust, trace.Suspect, trace.Announce} {
		w.see("n1", trace.Event{At: time.Duration(at), Kind: kind})
	}
	changes, suspicions, text := w.between(1, 6)
	require.Equal(t, 1, changes)
	require.Equal(t, 2, suspicions)
	require.Contains(t, text, "n1 after 4ns: suspect")
	require.NotContains(t, text, "5ns")
}
