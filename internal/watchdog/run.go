//go:build linux || darwin || freebsd

package watchdog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether Run works on this system.
const Supported = true

// File descriptors of the watchdog.
const (
	pipeFD  = 3 // its end of the pipe
	pidfdFD = 4 // pidfd of the supervisor, if the system has such
)

// Subcommand is the first argument of this program when it is started as the watchdog. [Supervisor.Args] follow. The
// program must then call [Serve].
const Subcommand = "watchdog"

// startTimeout limits the start of the watchdog, which acknowledges a deadline before it starts the command.
const startTimeout = 30 * time.Second

// Supervisor runs commands, one at a time, each under a watchdog of its own. The zero value is ready to use.
type Supervisor struct {
	// Args are arguments of the watchdog, after [Subcommand].
	Args []string

	ready *process // started in advance; nil for none
}

// process is a watchdog as its supervisor sees it.
type process struct {
	*exec.Cmd
	pipe
}

// Prepare starts the watchdog of the next command. Without it, [Supervisor.Run] waits for the start of a process.
// An error means that the watchdog cannot be started, and Run would return it.
func (s *Supervisor) Prepare() error {
	if s.ready != nil {
		return nil
	}
	if err := becomeSubreaper(); err != nil {
		return err
	}
	w, err := startProcess(s.Args)
	s.ready = w
	return err
}

// Close ends a watchdog that was started in advance.
func (s *Supervisor) Close() {
	if w := s.ready; w != nil {
		s.ready = nil
		w.pipe.Close()
		_ = w.Kill() // it has started nothing
		_ = w.Wait()
	}
}

// Kill kills the watchdog.
func (w *process) Kill() error { return w.Process.Kill() }

// Renewal lets a command continue for a time.
type Renewal struct {
	Remaining time.Duration // from now
	// Release is the argument of the release function that the watchdog calls with it after this process and the
	// command have ended: see [Serve]. It is optional.
	Release []byte
}

// Run runs the command until it ends or ctx does, and returns when nothing of it is left. Run repeatedly calls renew,
// which returns how long the command may continue, counted from the call. An error means that the watchdog could not
// be started. The caller must have no other children, as in a child of [Init], because Run kills all children in the
// end.
func (s *Supervisor) Run(ctx context.Context, c Command, renew func() Renewal) (Outcome, error) {
	if s.ready != nil && s.ready.hasEnded() {
		s.Close()
	}
	if err := s.Prepare(); err != nil {
		return Outcome{}, err
	}
	r := &run{schedule: schedule{Command: c, deadline: Now() + startTimeout}, process: s.ready}
	s.ready = nil
	defer r.pipe.Close()
	r.send(message{Command: &c})
	r.supervise(ctx, renew)
	return r.outcome, nil
}

// run is one run of a command, as the supervisor sees it.
type run struct {
	schedule // with the last deadline that the watchdog has acknowledged
	*process
	release        []byte // that the watchdog has
	outcome        Outcome
	killedWatchdog bool // the supervisor has killed the watchdog, because it failed to act in time
}

func (r *run) supervise(ctx context.Context, renew func() Renewal) {
	r.renew(renew)
	renewals := time.NewTicker(r.margin() / 2)
	defer renewals.Stop()
	ctxDone := ctx.Done()
	for reports, isOpen := r.receive(), true; isOpen; {
		wait := r.killAt() + r.margin()/2 - Now()
		if wait <= 0 && !r.killedWatchdog {
			r.killedWatchdog = true
			_ = r.Kill()
		}
		var report message
		select {
		case report, isOpen = <-reports:
			r.handleReport(report)
		case <-ctxDone:
			ctxDone = nil
			r.termSentAt = Now()
			r.send(message{Stop: true})
		case <-renewals.C:
			r.renew(renew)
		case <-time.After(max(wait, r.margin()/8)): // the next renewal may be as late as the deadline
		}
	}
	if err := r.Wait(); err != nil && r.termSentAt == 0 && !r.killedWatchdog {
		r.outcome = Outcome{Voluntary: true, Status: 128 + int(unix.SIGKILL)} // another process has killed the watchdog, and so the command
	}
	killRest()
}

// renew sends the deadline, and the release if it has changed.
func (r *run) renew(renew func() Renewal) {
	now := Now() // before the call of renew: this process may be stopped in between
	renewal := renew()
	m := message{Deadline: now + renewal.Remaining}
	if !bytes.Equal(renewal.Release, r.release) {
		m.Release, r.release = renewal.Release, renewal.Release
	}
	r.send(m)
}

// startProcess starts a watchdog with arguments. It waits for its command.
func startProcess(args []string) (*process, error) {
	path, err := executable()
	if err != nil {
		return nil, fmt.Errorf("watchdog: find this program: %w", err)
	}
	cmd := exec.Command(path, append([]string{Subcommand}, args...)...)
	cmd.Args[0], cmd.SysProcAttr = os.Args[0], watchdogAttr()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	near, far, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	cmd.ExtraFiles = []*os.File{far.File}
	if own, err := ownPidfd(); err == nil { // without it, the watchdog has no proof and releases nothing
		defer own.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, own)
	}
	if err := cmd.Start(); err != nil {
		near.Close()
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return &process{cmd, near}, nil
}

// hasEnded reports whether the watchdog is no longer there, for example because another process has killed it.
func (w *process) hasEnded() bool {
	poll := []unix.PollFd{{Fd: int32(w.pipe.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0 // a watchdog without a command sends nothing
}

// handleReport handles a message of the watchdog.
func (r *run) handleReport(m message) {
	switch {
	case m.Deadline > 0:
		r.deadline = m.Deadline
	case m.Ended != nil:
		r.outcome, r.termSentAt = Outcome{Voluntary: true, Status: *m.Ended}, Now()
	}
}

// killRest kills what a killed watchdog has left, and returns when nothing is left. If the children cannot be listed,
// for example for lack of a file descriptor, they may still exist: killRest then tries again.
func killRest() {
	for ; ; time.Sleep(10 * time.Millisecond) {
		pids, err := children()
		if err == nil && len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range pids {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}
}
