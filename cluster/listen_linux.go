package cluster

import "syscall"

// lowFDs is the number of file descriptors below that of the listener that stay free: one for each connection of a
// small fleet.
const lowFDs = 64

// reserveLowFDs makes files that are opened before release have high descriptors. When a process is killed, the kernel
// closes its files one by one, the highest descriptors first. A peer dials as soon as its connection has ended. If the
// listener is still open then, the dial is accepted and lost a moment later. If the listener is closed first, the dial
// is refused, which is the evidence that the peer needs.
func reserveLowFDs() (release func()) {
	held := make([]int, 0, lowFDs)
	for range lowFDs {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break // the reservation is only an optimization
		}
		held = append(held, fd)
	}
	return func() {
		for _, fd := range held {
			_ = syscall.Close(fd)
		}
	}
}
