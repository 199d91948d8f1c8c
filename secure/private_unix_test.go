//go:build unix

package secure

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatOthersCanReadIsRefused, but for a group where the file is of root and this process is not: so are secrets that are mounted.
func TestWhatOthersCanReadIsRefused(t *testing.T) {
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
