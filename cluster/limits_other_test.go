//go:build !unix

package cluster_test

// openFileLimit is how many files this process may have open; zero: not known.
func openFileLimit() int { return 0 }
