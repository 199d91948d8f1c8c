//go:build linux || darwin || freebsd

package guard

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// notStarted is the status of a command that cannot be started, as shells have it.
const notStarted = 127

// server is the guard.
type server struct {
	plan
	line
	pid    int  // of the command, and of its group
	reaped bool // whether the command has ended; its group may live on
	gone   bool // and all that came of it
}

// Serve is the life of the guard that [Run] has started: it returns when nothing of the command is left.
func Serve(c Command) error {
	runtime.LockOSThread() // for the kernel the command is the child of this thread, and dies with it
	l := openLine(theLine)
	if err := adopt(); err != nil {
		return err
	}
	// It ends when the command has, whoever wants it to end before. Ignored, the command would ignore them too.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT)
	if !signal.Ignored(unix.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGCHLD)
	g := &server{plan: plan{Command: c}, line: l}
	ends := l.hear()
	for Now() >= g.termAt() { // it took long to come so far: there may be a newer time
		if g.end = <-ends; g.end == stop {
			return nil // it may be that the supervisor is gone, or that somebody else has started this
		}
	}
	g.say(g.end)
	if err := g.start(); err != nil {
		return err
	}
	for ; !g.gone; g.reap() {
		select {
		case end, open := <-ends:
			if !open {
				ends = nil
			}
			g.take(end)
			continue // with what was said since
		case <-changes:
		case <-time.After(g.rest(Now())):
		}
		g.act(Now())
	}
	return nil
}

func (g *server) start() error {
	cmd := exec.Command(g.Args[0], g.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = ofCommand()
	if err := cmd.Start(); err != nil {
		g.say(ended - notStarted)
		return err
	}
	g.pid = cmd.Process.Pid
	return nil
}

// take takes in what the supervisor has said. If it is gone that is no time, which is stop.
func (g *server) take(end time.Duration) {
	if end == stop {
		g.tell()
	} else {
		g.end = end
		g.say(end)
	}
}

// act does what is due.
func (g *server) act(now time.Duration) {
	if now >= g.killAt() {
		g.tell() // also where there is no time for it
		g.signal(unix.SIGKILL)
	} else if now >= g.termAt() {
		g.tell()
	}
}

// tell has the command end. One that is stopped hears it when it runs again.
func (g *server) tell() {
	if g.told == 0 {
		g.told = Now()
		g.signal(unix.SIGTERM)
		g.signal(unix.SIGCONT)
	}
}

// signal reaches the group, and who was adopted out of another one. The group is there until the command
// has been reaped, and after that if a child is in it. That holds also if the children cannot be listed.
func (g *server) signal(s syscall.Signal) {
	there := !adopts || !g.reaped
	pids, _ := children()
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err == nil && group == g.pid {
			there = true
		} else {
			_ = unix.Kill(pid, s)
		}
	}
	if there {
		_ = unix.Kill(-g.pid, s)
	}
}

// reap takes who has ended. Nobody else does, so no number in this process stands for a stranger.
func (g *server) reap() {
	for {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // there are no children
			g.gone = adopts || unix.Kill(-g.pid, 0) != nil
			return
		case pid == 0:
			return
		case pid == g.pid:
			g.reaped = true
			if g.told == 0 {
				g.say(ended - statusOf(how))
				g.tell()
			}
		}
	}
}

func statusOf(how unix.WaitStatus) time.Duration {
	if how.Signaled() {
		return 128 + time.Duration(how.Signal())
	}
	return time.Duration(how.ExitStatus())
}
