//go:build unix

package proccluster

import (
	"os"
	"syscall"
)

var signals = map[Signal]syscall.Signal{
	Kill: syscall.SIGKILL, Stop: syscall.SIGSTOP, Cont: syscall.SIGCONT, Term: syscall.SIGTERM,
}

func send(p *os.Process, s Signal) error { return p.Signal(signals[s]) }
