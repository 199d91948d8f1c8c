//go:build darwin || freebsd

package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lacks is what this system does not do for a command; empty for nothing.
const Lacks = "what leaves the process group of the command is not found and goes on; when the guard and elect are killed at once, so does the command; " +
	"and time may stand still while the machine sleeps"

const (
	clock  = unix.CLOCK_MONOTONIC
	adopts = false
)

func adopt() error { return nil }

func children() ([]int, error) { return nil, nil }

func itself() (string, error) { return os.Executable() }

func ofCommand() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func ofGuard() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
