//go:build unix

package disk

import (
	"os"
	"syscall"
)

// lock locks a file until it is closed.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return ErrLocked
	}
	return os.NewSyscallError("flock", err)
}
