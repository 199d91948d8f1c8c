package store_test

import (
	"fmt"
	"syscall"
)

// fileSystemOf returns the name of the file system of dir.
func fileSystemOf(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	names := map[int64]string{
		0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs",
		0x794c7630: "overlay", 0x2fc12fc1: "zfs", 0x6969: "nfs", 0xf2f52010: "f2fs",
	}
	if name, ok := names[int64(s.Type)]; ok {
		return name
	}
	return fmt.Sprintf("%#x", int64(s.Type))
}
