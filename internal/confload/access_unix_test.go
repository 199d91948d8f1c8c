//go:build unix

package confload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/disk"
)

func TestFileWritableForOthersIsRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(path, []byte("cluster: x\n"), 0o600))
	for mode, accepted := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o646: false, 0o602: false} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := builtins.Load(path, nil, nil)
		if accepted {
			require.NoError(t, err, "%o", mode)
			continue
		}
		var rejected *disk.AccessError
		require.ErrorAs(t, err, &rejected, "%o", mode)
		require.ErrorContains(t, err, "chmod go-w "+path)
	}
}
