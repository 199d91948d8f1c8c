package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until it is closed. It locks a byte beyond the end, so that the file can still be read.
func lock(file *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if err == windows.ERROR_LOCK_VIOLATION {
		return ErrLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}
