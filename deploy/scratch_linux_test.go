package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// TestProgramNeedsNothingBesideIt runs the program as another user in a root folder without any other file, as in an
// image from scratch.
func TestProgramNeedsNothingBesideIt(t *testing.T) {
	testkit.OnlyLong(t)
	testkit.Need(t, os.Geteuid() == 0, "root, for chroot")
	root, err := os.MkdirTemp("", "elect-scratch") // t.TempDir is closed to other users
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	program, err := os.ReadFile(build(t, ".."))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "elect"), program, 0o755))
	for _, args := range [][]string{
		{"version"},
		{"config", "example"},
		{"sim", "--crashed", "1"},
	} {
		cmd := exec.CommandContext(t.Context(), "/elect", args...)
		cmd.Dir, cmd.Env = "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
}
