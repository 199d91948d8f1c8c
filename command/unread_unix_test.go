//go:build unix

package command

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster/operator"
	"github.com/elect-go/elect/internal/testenv"
)

// fullPipe returns the end of a pipe into which no more byte fits. The pipe has a reader that does
// not read.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	raw, err := w.SyscallConn()
	require.NoError(t, err)
	for _, size := range []int{4096, 1} {
		require.NoError(t, raw.Write(func(fd uintptr) bool {
			for err = nil; err == nil; {
				_, err = syscall.Write(int(fd), make([]byte, size))
			}
			return true
		}))
		require.ErrorIs(t, err, syscall.EAGAIN)
	}
	return w
}

// launchUnread starts the command with a standard error that blocks.
func launchUnread(t *testing.T, args ...string) *process {
	t.Helper()
	p := command(t, args...)
	p.Cmd.Stderr = fullPipe(t)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

func TestUnreadLogDoesNotBlockNode(t *testing.T) {
	testenv.Processes(t)
	t.Parallel()
	addr := keptFree(t, nil)
	p := launchUnread(t, "node", "--listen", addr, "--bootstrap", "--log-level", "debug")
	require.Eventually(t, func() bool {
		s, err := operator.Client{}.Status(within(t), addr)
		return err == nil && s.Leader != nil
	}, patience, 10*time.Millisecond, "the node does not lead")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.status(t))
}

func TestUnreadErrorDoesNotBlockExit(t *testing.T) {
	testenv.Processes(t)
	t.Parallel()
	p := launchUnread(t, "node", "--listen", "127.0.0.1:0")
	require.Equal(t, statusUsage, p.status(t))
}

func TestUnreadLogDoesNotBlockRun(t *testing.T) {
	testenv.Processes(t)
	t.Parallel()
	p := launchUnread(t, "run", "--listen", "127.0.0.1:0", "--bootstrap", "--data", filepath.Join(t.TempDir(), "data"), "--",
		"sh", "-c", `exec 2>/dev/null; trap "echo told; exit 3" TERM; echo works; while :; do sleep 0.02; done`)
	require.Equal(t, "works", p.stdout.line(t))
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.status(t))
	require.Equal(t, "told", p.stdout.line(t))
}
