package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUnreportedEndIsLogged(t *testing.T) {
	report, err := json.Marshal(endReport{Members: []string{"127.0.0.1:1"}, Timeout: time.Minute})
	require.NoError(t, err)
	for want, text := range map[string][]byte{"refused": report, "unexpected end of JSON input": []byte("{")} {
		var out bytes.Buffer
		reportEnd(text, logger(&out, "json", slog.LevelInfo))
		var line struct{ Level, Msg, Error string }
		require.NoError(t, json.Unmarshal(out.Bytes(), &line), out.String())
		require.Equal(t, "WARN", line.Level)
		require.Equal(t, "the end of this member was not reported", line.Msg)
		require.Contains(t, line.Error, want)
	}
}

func TestWatchdogArgs(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		got, ok := watchdogArgs([]string{"watchdog", form})
		require.True(t, ok)
		require.Equal(t, form, got)
	}
	for _, args := range [][]string{nil, {"watchdog"}, {"watchdog", "xml"}, {"watchdog", "json", "x"}, {"node", "json"}} {
		_, ok := watchdogArgs(args)
		require.False(t, ok, args)
	}
}
