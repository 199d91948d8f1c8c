package cli

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// mountDisk mounts a disk and returns its folder. It skips the test where that is not
// permitted.
func mountDisk(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	testkit.OnlyLong(t)
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options)
	testkit.Need(t, err == nil, fmt.Sprintf("the right to mount a disk, which root has: %v", err))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

func TestNodeReportsUnwritableDisk(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		flags   uintptr
		options string
		want    []string
	}{
		{"full", 0, "size=100k", []string{"no space left on device", "make room on its disk"}},
		{"read only", syscall.MS_RDONLY, "", []string{"read-only file system"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := filepath.Join(mountDisk(t, tc.flags, tc.options), "data")
			p := launch(t, "node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--data-dir", data)
			require.Equal(t, statusFailed, p.status(t))
			for _, want := range append(tc.want, data) {
				require.Contains(t, p.stderr.text(), want)
			}
		})
	}
}
