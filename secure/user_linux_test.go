package secure

import (
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// accepted is a connection within this machine, as who listens sees it.
func accepted(t *testing.T, network, addr string, dial func(addr string) io.Closer) (net.Conn, io.Closer) {
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	other := dial(l.Addr().String())
	c, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); other.Close() })
	return c, other
}

func asked(c net.Conn) error { return SameUser(c.LocalAddr().String(), c.RemoteAddr().String()) }

func TestTheSameUser(t *testing.T) {
	for name, test := range map[string]struct{ network, listen, dial string }{
		"IPv4":                    {"tcp4", "127.0.0.1:0", ""},
		"IPv6":                    {"tcp6", "[::1]:0", ""},
		"IPv4 at a socket for v6": {"tcp", "[::]:0", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, other := accepted(t, test.network, test.listen, func(addr string) io.Closer {
				if test.dial != "" {
					_, port, _ := net.SplitHostPort(addr)
					addr = net.JoinHostPort(test.dial, port)
				}
				c, err := net.Dial("tcp", addr)
				require.NoError(t, err)
				return c
			})
			require.NoError(t, asked(c))
			other.Close()
			require.ErrorIs(t, asked(c), errUser, "a socket that nobody has any more is shown as one of root")
		})
	}
	require.ErrorIs(t, SameUser("127.0.0.1:1", "127.0.0.1:2"), errUser)
	require.Error(t, SameUser("127.0.0.1:1", "pipe"))
	require.Error(t, SameUser("pipe", "127.0.0.1:1"))
}

// process ends when it is closed.
type process struct{ *exec.Cmd }

func (p process) Close() error {
	_ = p.Process.Kill()
	return p.Wait()
}

// TestAnotherUser: the test runs itself once more, as somebody else.
func TestAnotherUser(t *testing.T) {
	if addr := os.Getenv("SECURE_TEST_DIAL"); addr != "" {
		_, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with its parent
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	self, err := os.Open("/proc/self/exe") // its folder may be of root alone
	require.NoError(t, err)
	defer self.Close()
	c, _ := accepted(t, "tcp4", "127.0.0.1:0", func(addr string) io.Closer {
		cmd := exec.Command("/proc/self/fd/3", "-test.run=^TestAnotherUser$")
		cmd.ExtraFiles = []*os.File{self}
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "SECURE_TEST_DIAL="+addr)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return process{cmd}
	})
	require.ErrorIs(t, asked(c), errUser)
	require.ErrorContains(t, asked(c), "it is user 65534")
}
