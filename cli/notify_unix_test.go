//go:build unix

package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// The test receives the notifications in place of systemd.
func TestServiceIsNotified(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "elect") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer socket.Close()
	p := command(t, "node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--lease=off")
	p.Env = append(p.Env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=20000")
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	var got []string
	until := func(state string) {
		buffer := make([]byte, 4096)
		for len(got) == 0 || !strings.HasPrefix(got[len(got)-1], state) {
			require.NoError(t, socket.SetReadDeadline(time.Now().Add(patience)))
			n, err := socket.Read(buffer)
			require.NoError(t, err, "%s is missing in %q", state, got)
			got = append(got, string(buffer[:n]))
		}
	}
	until("READY=1")
	require.Len(t, got, 1, "before anything else")
	until("STATUS=leads in epoch ")
	until("WATCHDOG=1")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	until("STOPPING=1")
}

func TestServiceStatus(t *testing.T) {
	require.Equal(t, "no leader is known", serviceStatus(cluster.State{}))
	var s cluster.State
	s.Leader.Name, s.Leader.Epoch, s.Leader.ID = "n3", 7, [16]byte{1}
	require.Equal(t, "follows n3 in epoch 7", serviceStatus(s))
	s.IsLeader = true
	require.Equal(t, "leads in epoch 7", serviceStatus(s))
}
