//go:build !unix

package cluster_test

// openFileLimit returns 0: the limit on open files is unknown.
func openFileLimit() int { return 0 }
