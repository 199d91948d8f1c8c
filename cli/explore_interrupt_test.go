//go:build unix

package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

// Ctrl-C ends a search, which prints its results so far.
func TestInterruptedSearchPrintsItsResult(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "explore", "--json", "--epochs", "9", "--crashes", "9")
	require.Contains(t, p.stderr.line(t), " states, ") // it is under way
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
	var got searchObject
	decodeStrictly(t, p.stdout.text(), &got)
	require.False(t, got.Complete)
	require.Equal(t, "interrupted", got.Cut)
	require.Empty(t, got.Violations)
	require.Positive(t, got.States)
	require.Positive(t, got.StatesWithLeader)
	p.requireClean(t)
}

// A violation found before the interrupt still decides the exit status.
func TestInterruptedWalkFailsAfterViolation(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	// One property is violated within milliseconds, the other one never.
	p := launch(t, "explore", "--json", "--start-agreed", "--false-suspicions", "1", "--walk", "9000000000",
		"--property", "one-leader-per-epoch", "--property", "durable")
	require.Contains(t, p.stderr.line(t), " steps, ")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	var got walkObject
	decodeStrictly(t, p.stdout.text(), &got)
	require.Equal(t, "interrupted", got.Cut)
	require.Len(t, got.Violations, 1)
	require.Equal(t, algo.OneLeaderPerEpoch, got.Violations[0].Property)
}
