package fleet

import "syscall"

// attributes has the process die with this one, and keeps the Ctrl-C of a terminal
// for this one alone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
