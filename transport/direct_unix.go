//go:build unix

package transport

import (
	"errors"
	"os"
	"syscall"
)

// direct writes to a socket without ever waiting for it.
type direct struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once, so that a write allocates nothing

	buf []byte
	n   int
	err error
}

func newDirect(raw syscall.RawConn) *direct {
	d := &direct{raw: raw}
	d.try = func(fd uintptr) bool {
		d.n, d.err = tryWrite(fd, d.buf)
		return true // whatever came of it: do not wait until the socket takes more
	}
	return d
}

// write returns how much of buf the kernel took. That may be nothing: an error is
// one of the connection, not that its buffer is full.
func (d *direct) write(buf []byte) (int, error) {
	d.buf, d.n, d.err = buf, 0, nil
	err := d.raw.Write(d.try)
	d.buf = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

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
