package member

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestTimingRoundTripsAsText(t *testing.T) {
	for text, want := range map[string]Timing{
		"defaults":    {},
		"120ms/380ms": {Heartbeat: 120 * ms, Timeout: 380 * ms},
		"1ms/2ms":     {Heartbeat: ms, Timeout: 2 * ms},
		"1s/2.5s":     {Heartbeat: time.Second, Timeout: 2500 * ms},
	} {
		var got Timing
		require.NoError(t, got.Set(text))
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())

		inJSON, err := json.Marshal(want)
		require.NoError(t, err)
		var again Timing
		require.NoError(t, json.Unmarshal(inJSON, &again))
		require.Equal(t, want, again)
	}
}

func TestInvalidTimingIsRejected(t *testing.T) {
	for text, want := range map[string]string{
		"":            "want defaults or HEARTBEAT/TIMEOUT",
		"equal":       "want defaults or HEARTBEAT/TIMEOUT",
		"120/380":     "missing unit",
		"x/380ms":     "invalid duration",
		"200ms/380ms": "at least two heartbeats",
		"100us/380ms": "heartbeat of at least 1ms",
		"0ms/0ms":     "heartbeat of at least 1ms",
	} {
		require.ErrorContains(t, new(Timing).Set(text), want, "%q", text)
	}
}
