//go:build unix

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// allowFiles says if this process may not open so many files. Go has raised the limit as far as
// that goes without rights.
func allowFiles(count uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if uint64(limit.Cur) < count {
		return fmt.Errorf("%w: %d are wanted, the limit is %d (ulimit -n)", errFiles, count, limit.Cur)
	}
	return nil
}
