package watchdog

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

// Limitations describes what this system does not guarantee; empty if there is nothing.
const Limitations = ""

const (
	clock       = unix.CLOCK_BOOTTIME
	isSubreaper = true
)

// becomeSubreaper makes this process the parent of each descendant that loses its own parent.
func becomeSubreaper() error {
	if number, _ := os.Readlink("/proc/self"); number != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("watchdog: /proc shows this process as %q, and it is %d: mount the /proc of this PID namespace", number, os.Getpid())
	}
	if _, err := children(); err != nil {
		return fmt.Errorf("watchdog: the children of a process cannot be listed (CONFIG_PROC_CHILDREN of the kernel and /proc are needed): %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("watchdog: become a subreaper: %w", err)
	}
	return nil
}

// children returns the children of this process, including ended ones that were not reaped yet. With an error, there
// may be more.
func children() (pids []int, err error) {
	threads, err := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		folder := "/proc/self/task/" + thread.Name()
		text, failed := os.ReadFile(folder + "/children")
		if _, ended := os.Stat(folder); failed != nil && errors.Is(ended, fs.ErrNotExist) {
			return children() // another thread has taken over the children, maybe one that was read before
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

// executable returns the path of this program, even if its file has been replaced since.
func executable() (string, error) { return "/proc/self/exe", nil }

// commandAttr makes the command die with the watchdog.
func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
}

// watchdogAttr makes a stopped watchdog continue when the supervisor dies: then it must act.
func watchdogAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGCONT}
}
