package transport

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundAcknowledgement has the kernel end a connection of which it cannot get rid of
// what was written. Left alone it tries for a quarter of an hour, at ever longer
// intervals: after a cut of a minute it may be silent for another, though the way is
// open again. A new connection gets through at once. The kernel of a process that is
// paused still acknowledges, so this is about the network only.
func boundAcknowledgement(socket syscall.RawConn, within time.Duration) {
	_ = socket.Control(func(fd uintptr) {
		// What is no TCP socket has no such option, and no such need.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(within.Milliseconds(), 1)))
	})
}
