package guard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// adopt makes a process that loses its parent, below this process, a child of this process.
func adopt() error {
	if number, _ := os.Readlink("/proc/self"); number != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("guard: /proc shows this process as %q, and it is %d: mount the /proc of this PID namespace", number, os.Getpid())
	}
	if _, err := children(); err != nil {
		return fmt.Errorf("guard: the children of a process cannot be listed (CONFIG_PROC_CHILDREN of the kernel and /proc are needed): %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("guard: become a subreaper: %w", err)
	}
	return nil
}

// children are those of this process. A child that has ended is one until it is waited for. With an error
// there may be more than are returned.
func children() (pids []int, err error) {
	threads, err := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		folder := "/proc/self/task/" + thread.Name()
		text, failed := os.ReadFile(folder + "/children")
		if _, ended := os.Stat(folder); failed != nil && errors.Is(ended, fs.ErrNotExist) {
			return children() // another thread has its children, maybe one that was read before
		}
		err = cmp.Or(err, failed)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, err
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
