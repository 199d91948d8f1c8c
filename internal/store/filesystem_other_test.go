//go:build !linux

package store_test

import "runtime"

// fileSystemOf names the system, which is all that is asked for here.
func fileSystemOf(string) string { return "of-" + runtime.GOOS }
