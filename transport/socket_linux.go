package transport

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitAckTime makes the kernel close a connection if the peer does not acknowledge written data within timeout.
// Otherwise the kernel retries for a quarter of an hour, at growing intervals: after a network failure of a minute,
// it may stay silent for another minute, although a new connection would succeed at once. The kernel of a paused
// process still acknowledges, so the timeout detects only failures of the network.
func limitAckTime(nc net.Conn, timeout time.Duration) {
	socket, ok := nc.(syscall.Conn)
	if !ok {
		return // not a socket
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			// A socket that is not TCP rejects the option, and does not need it.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(timeout.Milliseconds(), 1)))
		})
	}
}
