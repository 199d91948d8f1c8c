//go:build unix

package tlsauth

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// replaceByFIFO replaces a file by a FIFO. An open of the FIFO could wait for a writer forever.
func replaceByFIFO(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func TestFIFOIsRejectedAtStart(t *testing.T) {
	c := newAuthority(t).issue(member("n1"), recheckInterval)
	c.Migrate, c.SecretFile = true, write(t, filepath.Join(t.TempDir(), "secret"), NewSecret())
	for _, path := range c.paths() {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		replaceByFIFO(t, path)
		_, err = New(c)
		require.ErrorContains(t, err, path+"\", want a file that can be used (it is a FIFO, want a regular file)")
		write(t, path, string(content))
	}
}

func TestFIFOKeepsPreviousContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := NewSecret(), new(testkit.Log)
		path := write(t, filepath.Join(t.TempDir(), "secret"), s)
		e := endpoint(t, Config{Cluster: "demo", SecretFile: path, Log: log.Logger()})
		replaceByFIFO(t, path)
		for range 5 {
			testkit.Advance(recheckInterval)
			dialled, accepted := meet(t, e, holder(t, s))
			require.NoError(t, dialled.err)
			require.NoError(t, accepted.err)
		}
		require.Len(t, log.Lines("it is a FIFO, want a regular file"), 1, log.Lines())
	})
}
