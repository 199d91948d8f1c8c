//go:build unix

package cluster_test

import "syscall"

// openFileLimit is how many files this process may have open.
func openFileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
