package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/fleet"
)

func TestWitnessCountsWhatFallsIntoTheTime(t *testing.T) {
	var w witness
	for at, what := range []string{fleet.Leader, fleet.Suspect, fleet.Leader, fleet.Save, fleet.Trust, fleet.Suspect, fleet.Leader} {
		w.see("n1", fleet.Event{At: int64(at), What: what})
	}
	changes, suspicions, text := w.between(1, 6)
	require.Equal(t, 1, changes)
	require.Equal(t, 2, suspicions)
	require.Contains(t, text, "n1 after 4ns: suspect")
	require.NotContains(t, text, "5ns")
}
