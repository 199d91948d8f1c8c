package disk

import (
	"os"
	"syscall"
)

// Flush makes the content of a file durable, but not its times, which would cost a write of the journal.
func Flush(file *os.File) error {
	for {
		if err := syscall.Fdatasync(int(file.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
