package tlsauth

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// accepted returns the two ends of a connection within this machine: the listener's, and the result of dial.
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

func sameUserError(c net.Conn) error {
	_, err := SameUser(c)
	return err
}

func TestSameUserIsFound(t *testing.T) {
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
			require.NoError(t, sameUserError(c))
			other.Close()
			require.ErrorIs(t, sameUserError(c), ErrUnknownUser, "a closed socket is shown as one of root")
		})
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	require.ErrorIs(t, sameUserError(near), ErrUnknownUser)
}

// TestSocketTables: a search of the socket tables, which replaces the query of a kernel that does not answer for one
// socket, has the same result as the query.
func TestSocketTables(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp6"} {
		c, _ := accepted(t, network, "localhost:0", func(addr string) io.Closer {
			c, err := net.Dial(network, addr)
			require.NoError(t, err)
			return c
		})
		here, there := addrOf(c.LocalAddr()), addrOf(c.RemoteAddr())
		want, err := queryKernel(there, here)
		if isModuleMissing(err) {
			t.Skip(err)
		}
		require.NoError(t, err)
		got, err := searchTables(there, here)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = queryKernel(there, there)
		require.ErrorIs(t, err, errNoOtherEnd)
		_, err = searchTables(there, there)
		require.ErrorIs(t, err, errNoOtherEnd)
	}
}

// TestReusedPortIsDetected: a process resets its connection, and a process of this user takes over the port. The orders
// that the first one sent must not count as orders of this user.
func TestReusedPortIsDetected(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	// An address of its own, so that no other test takes the port in between.
	own := &net.TCPAddr{IP: net.IPv4(127, 77, byte(os.Getpid()>>8), byte(os.Getpid()))}
	first, err := (&net.Dialer{LocalAddr: own}).Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	c, err := l.Accept()
	require.NoError(t, err)
	defer c.Close()
	_, err = first.Write([]byte("order"))
	require.NoError(t, err)
	require.NoError(t, first.(*net.TCPConn).SetLinger(0))
	first.Close()
	again, err := (&net.Dialer{LocalAddr: first.LocalAddr()}).Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	defer again.Close()
	second, err := l.Accept()
	require.NoError(t, err)
	defer second.Close()
	require.ErrorIs(t, sameUserError(c), ErrUnknownUser)
	require.NoError(t, sameUserError(second))
	said := make([]byte, 5)
	_, err = io.ReadFull(c, said)
	require.NoError(t, err, "what was sent before the reset is still read")
}

func TestOverflowUserIsUnknown(t *testing.T) {
	for user, same := range map[int]bool{0: true, os.Geteuid(): true, os.Geteuid() + 1: false, overflowUser(): false} {
		_, err := checkUser(user)
		require.Equal(t, same, err == nil, "%d: %v", user, err)
	}
}

// process is a command that Close kills.
type process struct{ *exec.Cmd }

func (p process) Close() error {
	_ = p.Process.Kill()
	return p.Wait()
}

// runAs returns a command that runs this test again as another user. Only root can start it.
func runAs(t *testing.T, uid uint32, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe") // its folder may be readable for root only
	require.NoError(t, err)
	t.Cleanup(func() { self.Close() })
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: 65534}}
	return cmd
}

// TestOtherUserIsRejected runs itself again as another user, which dials.
func TestOtherUserIsRejected(t *testing.T) {
	if addr := os.Getenv("SECURE_TEST_DIAL"); addr != "" {
		_, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with its parent
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	c, _ := accepted(t, "tcp4", "127.0.0.1:0", func(addr string) io.Closer {
		cmd := runAs(t, 65533, "SECURE_TEST_DIAL="+addr)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return process{cmd}
	})
	other, ok := errors.AsType[*OtherUserError](sameUserError(c))
	require.True(t, ok)
	require.Contains(t, other.User, "user 65533")
}

// TestOverflowUserIsNotOneUser runs itself again as the overflow user, which has both ends of a connection. In a user
// namespace, the two ends may belong to different users.
func TestOverflowUserIsNotOneUser(t *testing.T) {
	if os.Getenv("SECURE_TEST_OVERFLOW") != "" {
		c, _ := accepted(t, "tcp4", "127.0.0.1:0", func(addr string) io.Closer {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			return c
		})
		require.ErrorContains(t, sameUserError(c), "stands for each user without a number here")
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	output, err := runAs(t, uint32(overflowUser()), "SECURE_TEST_OVERFLOW=1").CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// TestMountedSecretIsReadByGroup reads files of root in a process of another user, as a container mounts them: through
// a link in a folder that only root can write.
func TestMountedSecretIsReadByGroup(t *testing.T) {
	if path := os.Getenv("SECURE_TEST_SECRET"); path != "" {
		_, err := New(Config{SecretFile: path})
		require.NoError(t, err)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	testkit.Processes(t)
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
		output, err := runAs(t, 65534, "SECURE_TEST_SECRET="+link).CombinedOutput()
		if accepted {
			require.NoError(t, err, "%o %s", mode, output)
		} else {
			require.Error(t, err, "%o", mode)
			require.Contains(t, string(output), "other users can read or change it")
		}
	}
}
