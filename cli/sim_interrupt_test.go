//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func TestSimulationEndsOnInterrupt(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	// Once the command reads the pipe it is ready for the signal.
	pipe := filepath.Join(t.TempDir(), "endless.txt")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	p := launch(t, "sim", "--scenario", pipe)
	file, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	_, err = file.WriteString("cluster 5\nrun 500000h\nleader none\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
	require.Equal(t, "elect: interrupted\n", p.stderr.text())
}

func TestEndlessFileIsRejected(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"sim", "--scenario", "/dev/zero"}, {"bench", "compare", "/dev/zero", "testdata/bench/old.csv"}} {
		status, stdout, stderr := elect(args...)
		require.Equal(t, statusUsage, status)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "64 MiB")
	}
}
