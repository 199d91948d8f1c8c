//go:build unix

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// allowFiles returns an error if this process may not open count files. Go has already raised the
// limit as far as possible without privileges.
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
