//go:build !unix

package disk

import "io/fs"

// On this system the mode does not say which users can read or write a file.

func checkIntegrity(string, fs.FileInfo) error           { return nil }
func checkSecrecy(string, fs.FileInfo) error             { return nil }
func checkShared(string, fs.FileInfo, fs.FileInfo) error { return nil }
