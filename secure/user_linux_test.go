package secure

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testenv"
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

// runAsNobody starts this test once more, as user and group 65534. The test must be one of root.
func runAsNobody(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe") // its folder may be of root alone
	require.NoError(t, err)
	t.Cleanup(func() { self.Close() })
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
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
	c, _ := accepted(t, "tcp4", "127.0.0.1:0", func(addr string) io.Closer {
		cmd := runAsNobody(t, "SECURE_TEST_DIAL="+addr)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return process{cmd}
	})
	require.ErrorIs(t, asked(c), errUser)
	require.ErrorContains(t, asked(c), "it is user 65534")
}

// TestMountedSecretIsReadByGroup has files of root for a process of another user, as a container
// mounts them: by a link in a folder that only root can write.
func TestMountedSecretIsReadByGroup(t *testing.T) {
	if path := os.Getenv("SECURE_TEST_SECRET"); path != "" {
		_, err := New(Config{SecretFile: path})
		require.NoError(t, err)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	testenv.Processes(t)
	for mode, accepted := range map[os.FileMode]bool{0o440: true, 0o640: true, 0o444: false, 0o460: false} {
		dir, err := os.MkdirTemp("", "secret") // the folders above that of t.TempDir are for root only
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o755))
		file := write(t, filepath.Join(dir, "..data"), NewSecret())
		require.NoError(t, os.Chown(file, 0, 65534))
		require.NoError(t, os.Chmod(file, mode))
		link := filepath.Join(dir, "secret")
		require.NoError(t, os.Symlink("..data", link))
		output, err := runAsNobody(t, "SECURE_TEST_SECRET="+link).CombinedOutput()
		if accepted {
			require.NoError(t, err, "%o %s", mode, output)
		} else {
			require.Error(t, err, "%o", mode)
			require.Contains(t, string(output), "other users can read or change it")
		}
	}
}
