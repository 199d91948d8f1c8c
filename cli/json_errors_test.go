package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// With --log json, a node that does not start writes its error as JSON too, for the log collector. This holds even if a
// wrong flag before --log ends the parsing of the flags.
func TestErrorHasFormOfLog(t *testing.T) {
	problem := func(t *testing.T, stderr string) string {
		t.Helper()
		var line struct {
			Level, Msg string
			Problems   []struct{ Text string }
		}
		require.NoError(t, json.Unmarshal([]byte(stderr), &line), stderr)
		require.Equal(t, "the configuration is wrong", line.Msg)
		require.Equal(t, "ERROR", line.Level)
		return line.Problems[0].Text
	}
	for _, args := range [][]string{
		{"node", "--nonsense", "--log", "json"},
		{"node", "--log", "json", "--nonsense"},
		{"node", "--nonsense", "--log=text", "--log=json"},
		{"run", "--nonsense", "--log=json", "--", "true", "--log", "text"},
	} {
		status, _, stderr := elect(args...)
		require.Equal(t, statusUsage, status, args)
		require.Equal(t, "unknown flag: --nonsense", problem(t, stderr), args)
	}
	for _, args := range [][]string{
		{"node", "--nonsense", "--log"},
		{"node", "--nonsense", "--log=json", "--log=text"},
		{"run", "--nonsense", "--", "true", "--log", "json"},
		{"status", "--nonsense", "--log", "json"},
	} {
		_, _, stderr := elect(args...)
		require.Contains(t, stderr, "elect: unknown flag: --nonsense\n", args)
	}
	_, _, stderr := elect("node", "--priority", "high", "--log", "json")
	require.Contains(t, stderr, `"field":"priority","source":"flag","at":"--priority","line":0,"got":"\"high\"","want":"a whole number"`)
	t.Setenv("ELECT_LOG", "json")
	_, _, stderr = elect("node", "--nonsense")
	require.Equal(t, "unknown flag: --nonsense", problem(t, stderr))
	_, _, stderr = elect("node", "--nonsense", "--log=text")
	require.Contains(t, stderr, "elect: unknown flag: --nonsense\n")
}
