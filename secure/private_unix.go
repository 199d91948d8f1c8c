//go:build unix

package secure

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a file that others can read. One that belongs to root the group may read: so are secrets
// mounted into a container that does not run as root.
func checkPrivate(info fs.FileInfo) error {
	open := info.Mode().Perm() & 0o077
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && os.Geteuid() != 0 {
		open &^= 0o040
	}
	if open != 0 {
		return fmt.Errorf("others can read or change it (mode %04o), want chmod 600", info.Mode().Perm())
	}
	return nil
}
