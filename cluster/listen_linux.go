package cluster

import "syscall"

// roomBelow is how many file descriptors are kept free below that of the listener:
// one for each connection of a small fleet.
const lowFDs = 64

// leaveRoom has what is opened before release is called get a high file descriptor. When a process is killed the
// kernel closes its files one after another, those of the highest descriptors first. A
// peer that sees its connection end dials at once; if the listener is still open by
// then, that dial is accepted by a process that is no more, and is lost a moment later.
// With the listener closed first the dial is refused, which is the evidence that the
// peer looks for.
func reserveLowFDs() (release func()) {
	held := make([]int, 0, lowFDs)
	for range lowFDs {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break // it is no more than a help
		}
		held = append(held, fd)
	}
	return func() {
		for _, fd := range held {
			_ = syscall.Close(fd)
		}
	}
}
