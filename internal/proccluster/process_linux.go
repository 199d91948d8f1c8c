package proccluster

import "syscall"

// attributes makes the kernel kill the process when this process ends, and keeps the Ctrl-C
// of a terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
