//go:build !linux

package disk

import "os"

// Flush makes a file durable: by F_FULLFSYNC on darwin, FlushFileBuffers on windows.
func Flush(file *os.File) error { return file.Sync() }
