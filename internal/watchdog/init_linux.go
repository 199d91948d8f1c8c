package watchdog

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NeedsInit reports whether this process has, or may get, children that it does not start. It is PID 1,
// which becomes the parent of all orphans in its PID namespace, or the program that it replaced has left
// some.
func NeedsInit() bool {
	orphans, _ := children() // an error ends Run
	return os.Getpid() == 1 || len(orphans) > 0
}

// Init runs this program again as a child, with the same arguments, and returns the exit status of the
// child, or 128 and the number of the signal that killed it. Meanwhile Init reaps all children and passes
// SIGHUP, SIGINT, SIGQUIT and SIGTERM on to the child. So the child has no children but those that it
// starts, and their descendants.
//
// When PID 1 ends, the kernel kills all other processes in its PID namespace. When any other process that
// called Init is killed, the kernel kills its child.
func Init() (status int, err error) {
	runtime.LockOSThread() // the kernel kills the child when the thread ends that has started it
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) {
		signal.Notify(signals, unix.SIGHUP)
	}
	path, err := executable()
	if err != nil {
		return 0, fmt.Errorf("watchdog: find this program: %w", err)
	}
	child, err := os.StartProcess(path, os.Args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{
			Setpgid:   true, // a terminal signals this process only, which passes the signal on
			Pdeathsig: unix.SIGKILL,
		},
	})
	if err != nil {
		return 0, fmt.Errorf("watchdog: start this program as a child: %w", err)
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // fails if the child has ended, as Init does next
		}
	}()
	return reapUntil(child.Pid)
}

// reapUntil reaps children until the child with number pid has ended, and returns the status of that one.
func reapUntil(pid int) (status int, err error) {
	for {
		var status unix.WaitStatus
		reaped, err := unix.Wait4(-1, &status, 0, nil)
		if err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("watchdog: wait for children: %w", err)
		}
		if err == nil && reaped == pid {
			return statusOf(status), nil
		}
	}
}
