//go:build linux || darwin || freebsd

package guard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Supported says that Run works on this system.
const Supported = true

// theLine is the descriptor of the guard's end of it.
const theLine = 3

// Word is the first argument of this program when it is to be the guard: it then calls [Serve] with --grace and
// --lease, and the command behind --.
const Word = "guard"

// patience is for a guard that has not yet begun: it says so before it starts the command.
const patience = 30 * time.Second

// supervisor is who runs a command.
type supervisor struct {
	plan // with what the guard is known to have heard
	line
	outcome  Outcome
	enforced bool // the guard was killed, for it did not do in time what it had to
}

// Run runs the command until it ends or ctx does, and returns when nothing of it is left. All the while, left says for
// how long the command may go on if nothing more is heard, from when it is called. The error is what kept the guard
// from starting. The caller has no other children, as in a child of [Init]: Run kills all that are left at the end.
func Run(ctx context.Context, c Command, left func() time.Duration) (Outcome, error) {
	if err := adopt(); err != nil {
		return Outcome{}, err
	}
	s := &supervisor{plan: plan{Command: c, end: Now() + patience}}
	guard, err := s.start()
	if err != nil {
		return Outcome{}, err
	}
	defer s.Close()
	renew := func() {
		now := Now() // before it asks: this process may be stopped in between
		s.say(now + left())
	}
	renew()
	again := time.NewTicker(s.margin() / 2)
	defer again.Stop()
	over := ctx.Done()
	for reports, runs := s.hear(), true; runs; {
		wait := s.killAt() + s.margin()/2 - Now()
		if wait <= 0 && !s.enforced {
			s.enforced = true
			_ = guard.Process.Kill()
		}
		var report time.Duration
		select {
		case report, runs = <-reports:
			s.take(report)
		case <-over:
			over = nil
			s.told = Now()
			s.say(stop)
		case <-again.C:
			renew()
		case <-time.After(max(wait, s.margin()/8)): // the next renewal may be as late as the end of the lease
		}
	}
	if err := guard.Wait(); err != nil && s.told == 0 && !s.enforced {
		s.outcome = Outcome{Own: true, Status: 128 + int(unix.SIGKILL)} // somebody has killed the guard, and so the command
	}
	s.sweep()
	return s.outcome, nil
}

// start starts the guard.
func (s *supervisor) start() (*exec.Cmd, error) {
	itself, err := itself()
	if err != nil {
		return nil, fmt.Errorf("guard: this program: %w", err)
	}
	cmd := exec.Command(itself, append([]string{Word, "--grace", s.Grace.String(), "--lease", s.Lease.String(), "--"}, s.Args...)...)
	cmd.Args[0], cmd.Env, cmd.SysProcAttr = os.Args[0], s.Env, ofGuard()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	here, there, err := newLine()
	if err != nil {
		return nil, err
	}
	defer there.Close()
	cmd.ExtraFiles = []*os.File{there.File}
	if err := cmd.Start(); err != nil {
		here.Close()
		return nil, fmt.Errorf("guard: %w", err)
	}
	s.line = here
	return cmd, nil
}

// take takes in what the guard has said.
func (s *supervisor) take(report time.Duration) {
	switch {
	case report > 0:
		s.end = report
	case report <= ended:
		s.outcome, s.told = Outcome{Own: true, Status: int(ended - report)}, Now()
	}
}

// sweep kills what a guard that was killed has left, and returns when nothing is. Processes are not gone
// because they cannot be listed, for want of a file descriptor for example: then sweep tries again.
func (s *supervisor) sweep() {
	for ; ; time.Sleep(10 * time.Millisecond) {
		rest, err := children()
		if err == nil && len(rest) == 0 {
			return
		}
		for _, pid := range rest {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range rest {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}
}
