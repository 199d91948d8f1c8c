package transport

import "syscall"

// direct writes to a socket without ever waiting for it.
type direct struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once, so that a write allocates nothing

	buf []byte
	n   int
	err error
}

// newDirect returns nil where a write cannot be tried.
func newDirect(raw syscall.RawConn) *direct {
	if !canTry {
		return nil
	}
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
