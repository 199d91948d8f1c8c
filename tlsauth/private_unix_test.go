//go:build unix

package tlsauth

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// TestReadableSecretIsRejected: other users must not read a secret. For the exception, a mounted secret, see
// TestMountedSecretIsReadByGroup.
func TestReadableSecretIsRejected(t *testing.T) {
	path := write(t, t.TempDir()+"/secret", NewSecret())
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o644: false, 0o660: false, 0o602: false, 0o606: false} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := New(Config{SecretFile: path})
		if want {
			require.NoError(t, err, "%o", mode)
			continue
		}
		require.ErrorContains(t, err, strconv.Quote(path)+", want a file that can be used (other users can read or change it (mode ")
		require.ErrorContains(t, err, "want mode 0600: chmod 600 "+path)
	}
}

func TestWritableCertificateIsRejected(t *testing.T) {
	for _, name := range []string{"tls.ca", "tls.cert"} {
		for mode, accepted := range map[os.FileMode]bool{0o644: true, 0o444: true, 0o600: true, 0o664: false, 0o646: false, 0o620: false, 0o602: false} {
			c := newAuthority(t).issue(member("n1"), time.Hour)
			path := c.paths()[map[string]int{"tls.cert": 0, "tls.ca": 2}[name]]
			require.NoError(t, os.Chmod(path, mode))
			_, err := New(c)
			if accepted {
				require.NoError(t, err, "%s %o", name, mode)
				continue
			}
			require.ErrorContains(t, err, name+" is "+strconv.Quote(path)+", want a file that can be used (other users can change it (mode 0")
			require.ErrorContains(t, err, "want no write permission for group and others: chmod go-w "+path)
		}
	}
}

// TestFileOfAnotherUserIsRejected also follows a link, as a container mounts a secret.
func TestFileOfAnotherUserIsRejected(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file of another user")
	}
	c := newAuthority(t).issue(member("n1"), time.Hour)
	c.Migrate = true
	file := write(t, filepath.Join(t.TempDir(), "secret"), NewSecret())
	c.SecretFile = filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(file, c.SecretFile))
	for _, path := range c.paths() {
		require.NoError(t, os.Chown(path, 65534, 65534))
		_, err := New(c)
		require.ErrorContains(t, err, strconv.Quote(path)+", want a file that can be used (it belongs to user 65534, want root: chown root "+path+")")
		require.NoError(t, os.Chown(path, 0, 0))
		_, err = New(c)
		require.NoError(t, err)
	}
}

// TestFileIsReloadedAfterChangeOfOwner changes nothing but the owner of a file that was rejected.
func TestFileIsReloadedAfterChangeOfOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file of another user")
	}
	synctest.Test(t, func(t *testing.T) {
		first, second := NewSecret(), NewSecret()
		path, log := write(t, filepath.Join(t.TempDir(), "secret"), first), new(testkit.Log)
		e := endpoint(t, Config{Cluster: "demo", SecretFile: path, Log: log.Logger()})
		require.NoError(t, os.Chown(write(t, path, second), 65534, 65534))
		for range 5 {
			testkit.Advance(recheckInterval)
			require.Len(t, e.files.current().secrets, 1)
			require.Equal(t, first, e.files.current().secrets[0].text())
		}
		require.Len(t, log.Lines("it belongs to user 65534"), 1)
		require.NoError(t, os.Chown(path, 0, 0))
		testkit.Advance(recheckInterval)
		require.Equal(t, second, e.files.current().secrets[0].text())
	})
}
