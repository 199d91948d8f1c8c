//go:build linux || darwin || freebsd

package watchdog

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether Run works on this system.
const Supported = true

// pipeFD is the file descriptor of the watchdog's end of the pipe.
const pipeFD = 3

// Subcommand is the first argument of this program when it is started as the watchdog. It must then call [Serve] with
// the values of --grace and --lease, and the command after --.
const Subcommand = "watchdog"

// startTimeout limits the start of the watchdog, which acknowledges a deadline before it starts the command.
const startTimeout = 30 * time.Second

// supervisor is the process that runs a command.
type supervisor struct {
	schedule // with the last deadline that the watchdog has acknowledged
	pipe
	outcome      Outcome
	killedServer bool // the supervisor has killed the watchdog, because it failed to act in time
}

// Run runs the command until it ends or ctx does, and returns when nothing of it is left. Run repeatedly calls
// remaining, which returns how long the command may continue, counted from the call. An error means that the watchdog
// could not be started. The caller must have no other children, as in a child of [Init], because Run kills all
// children in the end.
func Run(ctx context.Context, c Command, remaining func() time.Duration) (Outcome, error) {
	if err := becomeSubreaper(); err != nil {
		return Outcome{}, err
	}
	s := &supervisor{schedule: schedule{Command: c, deadline: Now() + startTimeout}}
	cmd, err := s.start()
	if err != nil {
		return Outcome{}, err
	}
	defer s.Close()
	renew := func() {
		now := Now() // before the call of remaining: this process may be stopped in between
		s.send(now + remaining())
	}
	renew()
	renewals := time.NewTicker(s.margin() / 2)
	defer renewals.Stop()
	ctxDone := ctx.Done()
	for reports, isOpen := s.receive(), true; isOpen; {
		wait := s.killAt() + s.margin()/2 - Now()
		if wait <= 0 && !s.killedServer {
			s.killedServer = true
			_ = cmd.Process.Kill()
		}
		var report time.Duration
		select {
		case report, isOpen = <-reports:
			s.handleReport(report)
		case <-ctxDone:
			ctxDone = nil
			s.termSentAt = Now()
			s.send(requestStop)
		case <-renewals.C:
			renew()
		case <-time.After(max(wait, s.margin()/8)): // the next renewal may be as late as the deadline
		}
	}
	if err := cmd.Wait(); err != nil && s.termSentAt == 0 && !s.killedServer {
		s.outcome = Outcome{Voluntary: true, Status: 128 + int(unix.SIGKILL)} // another process has killed the watchdog, and so the command
	}
	s.killRest()
	return s.outcome, nil
}

// start starts the watchdog.
func (s *supervisor) start() (*exec.Cmd, error) {
	path, err := executable()
	if err != nil {
		return nil, fmt.Errorf("watchdog: this program: %w", err)
	}
	cmd := exec.Command(path, append([]string{Subcommand, "--grace", s.Grace.String(), "--lease", s.Timeout.String(), "--"}, s.Args...)...)
	cmd.Args[0], cmd.Env, cmd.SysProcAttr = os.Args[0], s.Env, watchdogAttr()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	near, far, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	cmd.ExtraFiles = []*os.File{far.File}
	if err := cmd.Start(); err != nil {
		near.Close()
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	s.pipe = near
	return cmd, nil
}

// handleReport handles a message of the watchdog.
func (s *supervisor) handleReport(report time.Duration) {
	switch {
	case report > 0:
		s.deadline = report
	case report <= reportEnded:
		s.outcome, s.termSentAt = Outcome{Voluntary: true, Status: int(reportEnded - report)}, Now()
	}
}

// killRest kills what a killed watchdog has left, and returns when nothing is left. If the children cannot be listed,
// for example for lack of a file descriptor, they may still exist: killRest then tries again.
func (s *supervisor) killRest() {
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
