//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkSecrecy reports what lets other users read or write a file. If the file belongs to root and
// this process runs as another user, the group may read it: so are secrets that a container mounts.
func checkSecrecy(path string, info fs.FileInfo) error {
	open := info.Mode().Perm() & 0o077
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && os.Geteuid() != 0 {
		open &^= 0o040
	}
	if open != 0 {
		return fmt.Errorf("other users can read or change it (mode %04o), want mode 0600: chmod 600 %s", info.Mode().Perm(), path)
	}
	return nil
}
