//go:build linux || darwin || freebsd

package watchdog

import (
	"cmp"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// notStarted is the status of a command that cannot be started, as in shells.
const notStarted = 127

// watchdog is the process that [Supervisor.Run] has started.
type watchdog struct {
	schedule
	pipe
	pid      int    // of the command, and of its group
	reaped   bool   // the command has ended; its group may still exist
	allEnded bool   // the command and its descendants have ended
	release  string // argument of the release function
}

// Serve runs the watchdog that [Supervisor.Prepare] has started, and returns when nothing of the command is left.
//
// Then, if the supervisor has ended too, Serve calls release with the last [Renewal.Release], provided that it has
// proof of both: a pidfd of the supervisor is readable, and this process, which adopts all descendants of the command,
// has no child any more. Only Linux has such a proof.
func Serve(release func([]byte)) error {
	runtime.LockOSThread() // for the kernel, the command is the child of this thread, and dies with it
	p := openPipe(pipeFD)
	unix.CloseOnExec(pidfdFD)
	if err := becomeSubreaper(); err != nil {
		return err
	}
	hasPidfd := isPidfd(pidfdFD, os.Getppid())
	// The watchdog ends only after the command. It handles these signals, because the command would inherit ignored
	// ones.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT)
	if !signal.Ignored(unix.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
	childSignals := make(chan os.Signal, 1)
	signal.Notify(childSignals, unix.SIGCHLD)
	messages := p.receive()
	first := <-messages
	if first.Command == nil {
		return nil // the supervisor has ended before there was a command, or another program has started this one
	}
	w := &watchdog{schedule: schedule{Command: *first.Command}, pipe: p}
	for Now() >= w.termAt() { // the start was slow: a newer deadline may have arrived
		m, isOpen := <-messages
		if !isOpen || m.Stop {
			return nil
		}
		w.deadline, w.release = m.Deadline, cmp.Or(string(m.Release), w.release)
	}
	w.send(message{Deadline: w.deadline})
	if err := w.start(); err != nil {
		return err
	}
	for ; !w.allEnded; w.reap() {
		select {
		case m, isOpen := <-messages:
			if !isOpen {
				messages = nil
			}
			w.handleMessage(m, isOpen)
			continue // with other messages
		case <-childSignals:
		case <-time.After(w.waitTime(Now())):
		}
		w.handleTime(Now())
	}
	if hasPidfd && w.release != "" && hasExited(pidfdFD, messages == nil, w.Timeout) {
		release([]byte(w.release))
	}
	return nil
}

func (w *watchdog) start() error {
	cmd := exec.Command(w.Args[0], w.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Env, os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = commandAttr()
	if err := cmd.Start(); err != nil {
		w.reportEnd(notStarted)
		return err
	}
	w.pid = cmd.Process.Pid
	return nil
}

// reportEnd reports that the command has ended voluntarily.
func (w *watchdog) reportEnd(status int) { w.send(message{Ended: &status}) }

// handleMessage handles a message of the supervisor, or the end of the pipe.
func (w *watchdog) handleMessage(m message, isOpen bool) {
	if m.Stop || !isOpen {
		w.sendTerm()
		return
	}
	w.deadline, w.release = m.Deadline, cmp.Or(string(m.Release), w.release)
	w.send(message{Deadline: m.Deadline})
}

// handleTime sends the signals that are due.
func (w *watchdog) handleTime(now time.Duration) {
	if now >= w.killAt() {
		w.sendTerm() // even if there is no time for it
		w.signalAll(unix.SIGKILL)
	} else if now >= w.termAt() {
		w.sendTerm()
	}
}

// sendTerm requests that the command ends. SIGCONT lets a stopped command receive the request.
func (w *watchdog) sendTerm() {
	if w.termSentAt == 0 {
		w.termSentAt = Now()
		w.signalAll(unix.SIGTERM)
		w.signalAll(unix.SIGCONT)
	}
}

// signalAll signals the group, and adopted descendants outside of it. The group exists until the command has been
// reaped, and longer if a child is in it. That also holds if the children cannot be listed.
func (w *watchdog) signalAll(s syscall.Signal) {
	groupExists := !isSubreaper || !w.reaped
	pids, _ := children()
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err == nil && group == w.pid {
			groupExists = true
		} else {
			_ = unix.Kill(pid, s)
		}
	}
	if groupExists {
		_ = unix.Kill(-w.pid, s)
	}
}

// reap reaps children that have ended. Nothing else in this process reaps, so no process ID that it uses has been
// reused.
func (w *watchdog) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // there are no children
			w.allEnded = isSubreaper || unix.Kill(-w.pid, 0) != nil
			return
		case pid == 0:
			return
		case pid == w.pid:
			w.reaped = true
			if w.termSentAt == 0 {
				w.reportEnd(statusOf(status))
				w.sendTerm()
			}
		}
	}
}

func statusOf(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
