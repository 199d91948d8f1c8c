//go:build unix

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// allowFiles has this process be allowed so many open files.
func allowFiles(count uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur >= count {
		return nil
	}
	wanted := unix.Rlimit{Cur: count, Max: max(limit.Max, count)}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &wanted); err != nil {
		return fmt.Errorf("%d are wanted, the limit is %d (ulimit -n): %w", count, limit.Max, err)
	}
	return nil
}
