//go:build unix

package transport

import (
	"errors"
	"os"
	"syscall"
)

const canTry = true

// tryWrite writes to a socket that does not block.
func tryWrite(fd uintptr, buf []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), buf)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		default:
			return 0, os.NewSyscallError("write", err)
		}
	}
}
