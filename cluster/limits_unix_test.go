//go:build unix

package cluster_test

import "syscall"

// openFileLimit returns the limit on open files of this process, or 0 if it is unknown.
func openFileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
