package transport

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundAcknowledgement has the kernel end a connection of which it cannot get rid of
// what was written. Left alone it tries for a quarter of an hour, at ever longer
// intervals: after a cut of a minute it may be silent for another, though the way is
// open again. A new connection gets through at once. The kernel of a process that is
// paused still acknowledges, so this is about the network only.
func boundAcknowledgement(nc net.Conn, within time.Duration) {
	socket, ok := nc.(syscall.Conn)
	if !ok {
		return // what is no socket has no such need
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			// Nor has what is no TCP socket; and it has no such option.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(within.Milliseconds(), 1)))
		})
	}
}
