//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
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
	p := launch(t, "explore", "--json", "--start-agreed", "--false-suspicions", "1", "--random-steps", "9000000000",
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

// A violation is printed and saved when it is found, and not at the end of the search.
func TestViolationIsPrintedBeforeSearchEnds(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "two.txt")
	p := launch(t, "explore", "--start-agreed", "--false-suspicions", "1", "--random-steps", "9000000000", "--save", file,
		"--property", "one-leader-per-epoch", "--property", "durable")
	for !strings.HasPrefix(p.stdout.line(t), "It is saved, and can be replayed: elect sim --scenario "+file) {
	}
	require.FileExists(t, file)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	before, after, _ := strings.Cut(p.stdout.text(), "one-leader-per-epoch is broken, after ")
	require.Contains(t, before, "looked for   one-leader-per-epoch, durable\n")
	require.Contains(t, after, "\nsteps        ")
	require.Contains(t, after, "\nNot complete: interrupted. More may be broken.\n")
}
