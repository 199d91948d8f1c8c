//go:build darwin || freebsd

package watchdog

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limitations describes what this system does not guarantee; empty if there is nothing.
const Limitations = "a process that leaves the process group of the command is not found and keeps running; when the watchdog and elect are killed at once, so does the command; " +
	"and time may stand still while the machine sleeps"

const (
	clock       = unix.CLOCK_MONOTONIC
	isSubreaper = false
)

func becomeSubreaper() error { return nil }

func children() ([]int, error) { return nil, nil }

func executable() (string, error) { return os.Executable() }

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func watchdogAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
