//go:build unix && !linux

package proccluster

import "syscall"

// attributes keeps the Ctrl-C of a terminal from the process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
