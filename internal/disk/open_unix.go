//go:build unix

package disk

import "syscall"

// nonblock makes the open of a FIFO return without a writer. For a regular file it changes nothing.
const nonblock = syscall.O_NONBLOCK
