//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/testkit"
)

// fullPipe returns the write end of a full pipe. Its read end is open, but unread.
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

// brokenPipe returns the write end of a pipe with a closed read end.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	t.Cleanup(func() { w.Close() })
	return w
}

// unreadPipes return pipes for standard error that no process reads.
var unreadPipes = map[string]func(t *testing.T) *os.File{"full": fullPipe, "broken": brokenPipe}

// launchUnread starts the command with one of the unreadPipes as standard error.
func launchUnread(t *testing.T, stderr func(t *testing.T) *os.File, args ...string) *process {
	t.Helper()
	p := command(t, args...)
	p.Cmd.Stderr = stderr(t)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// requireLeads waits until the node at addr leads. It requests the status, because the log is unread.
func requireLeads(t *testing.T, addr string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := client.Client{}.Status(within(t), addr)
		return err == nil && s.Leader != nil
	}, patience, 10*time.Millisecond, "the node does not lead")
}

func TestUnreadLogDoesNotStopNode(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for name, stderr := range unreadPipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := keptFree(t, nil)
			p := launchUnread(t, stderr, "node", "--listen", addr, "--members", addr, "--lease=off", "--log-level", "debug")
			requireLeads(t, addr)
			require.NoError(t, p.Process.Signal(syscall.SIGTERM))
			require.Zero(t, p.status(t))
		})
	}
}

func TestUnreadErrorKeepsExitStatus(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for name, stderr := range unreadPipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launchUnread(t, stderr, "node", "--listen", "127.0.0.1:0")
			require.Equal(t, statusUsage, p.status(t))
		})
	}
}

func TestInterruptibleDoesNotIgnoreSIGPIPE(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	_, stop := interruptible(cmd)
	defer stop()
	require.False(t, signal.Ignored(syscall.SIGPIPE), "child processes inherit it")
}
