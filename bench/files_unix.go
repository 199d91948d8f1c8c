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
	had := limit.Cur
	if raise(&limit.Cur, count); limit.Cur == had {
		return nil
	}
	raise(&limit.Max, count)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%w: %d are wanted, the limit is %d (ulimit -n): %w", errFiles, count, had, err)
	}
	return nil
}

// raise makes a limit at least so high. On the BSDs limits are signed.
func raise[T int64 | uint64](limit *T, least uint64) { *limit = max(*limit, T(least)) }
