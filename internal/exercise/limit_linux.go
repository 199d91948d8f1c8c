package exercise

import "golang.org/x/sys/unix"

// limit bounds the address space of a process, in case it allocates faster than package judge notices, and forbids core
// files. It is a second line: an error is ignored.
func limit(pid int) {
	const space = 8 << 30
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: space, Max: space}, nil)
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}
