//go:build !linux

package store_test

import "runtime"

// fileSystemOf returns the name of the operating system instead of the file system.
func fileSystemOf(string) string { return "of-" + runtime.GOOS }
