package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lacks is what this system does not do for a command; empty for nothing.
const Lacks = ""

const (
	clock  = unix.CLOCK_BOOTTIME
	adopts = true
)

// adopt has what loses its parent, below this process, become its child.
func adopt() error {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", unix.Gettid())); err != nil {
		return fmt.Errorf("guard: the children of a process are not to be found, for the kernel is without CONFIG_PROC_CHILDREN or /proc: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("guard: become a subreaper: %w", err)
	}
	return nil
}

// children are those of this process. None is missed, for who ends is one until it is waited for.
func children() (pids []int) {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range threads {
		text, _ := os.ReadFile(path) // of one that has ended another one has them
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// itself is this program, also where its file was replaced since.
func itself() (string, error) { return "/proc/self/exe", nil }

// ofCommand has it die with the guard.
func ofCommand() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
}

// ofGuard has a guard that is stopped go on when the supervisor dies: then there is work for it.
func ofGuard() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGCONT}
}
