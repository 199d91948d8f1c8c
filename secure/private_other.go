//go:build !unix

package secure

import "io/fs"

// checkPrivate takes every file: who may read it this system does not say in its mode.
func checkPrivate(fs.FileInfo) error { return nil }
