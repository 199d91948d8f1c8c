// Package watchdog runs a command and kills it by a deadline, even if the supervising process dies or stops.
//
//	var s watchdog.Supervisor
//	defer s.Close()
//	outcome, err := s.Run(ctx, watchdog.Command{Args: args, Grace: grace, Timeout: timeout}, renew)
//
// The process that calls [Supervisor.Run] is the supervisor. It starts its own program again as a watchdog, which calls
// [Serve] and starts the command in a new process group. Over a pipe, the supervisor repeatedly sends the deadline of
// the command. The watchdog acknowledges each deadline. When the deadline is near, or the pipe closes because the
// supervisor has died, the watchdog ends the command and all its descendants: with SIGTERM first, and with SIGKILL
// while there still is time. If the watchdog fails to do so, the supervisor kills the watchdog and the rest.
//
// # Guarantees
//
// On Linux, nothing of the command is left after the deadline, measured by CLOCK_BOOTTIME, if one of the two
// processes runs. The other one may be killed or stopped. A descendant may leave the process group, or its parent may
// end. Then it is found as a child of the watchdog, or of the supervisor after it (PR_SET_CHILD_SUBREAPER). If both
// processes are killed at once, the kernel kills the process that the watchdog has started (PR_SET_PDEATHSIG), but not
// its descendants.
//
// On Linux, if the supervisor has died, the watchdog reports the end of the command to a function, once it has proof
// that nothing of the two is left: see [Serve].
//
// Only the command and its descendants are signaled. A supervisor that may have other children must run in a child of
// [Init].
//
// # Non-guarantees
//
// Nothing is guaranteed while both processes are stopped. The watchdog does not end what another service has started
// for the command, as systemd-run, at or docker do. It cannot end processes that this user may not signal.
// [Supervisor.Run] waits for a process in a system call that cannot be interrupted. Systems other than Linux guarantee
// less: see [Limitations].
package watchdog

import "time"

// Command is a command to run, with its time limits.
type Command struct {
	Args []string // the program and its arguments
	Env  []string // each NAME=value
	// Grace is the time from SIGTERM to SIGKILL, if the deadline does not come first.
	Grace time.Duration
	// Timeout is the time from the last renewal to the deadline. An eighth of it, but at most 1 s, is reserved for
	// killing. Without another renewal, SIGTERM is sent another eighth of Timeout earlier, or Grace if that is
	// shorter.
	Timeout time.Duration
}

// Outcome is how a command ended.
type Outcome struct {
	// Voluntary is set if the command ended without a request, or because its watchdog was killed.
	Voluntary bool
	Status    int // of a voluntary end: the exit status, or 128 plus the number of the signal that killed it
}

// schedule is when the command receives which signal. Times are those of [Now].
type schedule struct {
	Command
	deadline   time.Duration // by which nothing of the command may be left
	termSentAt time.Duration // 0: not yet
}

// margin is the time for killing. The watchdog has one half of it, and the supervisor the other half if the watchdog
// fails.
func (p *schedule) margin() time.Duration { return min(p.Timeout/8, time.Second) }

func (p *schedule) termAt() time.Duration { return p.deadline - p.margin() - min(p.Grace, p.Timeout/8) }

func (p *schedule) killAt() time.Duration {
	if p.termSentAt == 0 {
		return p.deadline - p.margin()
	}
	return min(p.termSentAt+p.Grace, p.deadline-p.margin())
}

// waitTime returns how long to wait for messages before the next signal. It is positive even if the signal is due,
// because a new deadline may arrive. It is short, because the timers of the runtime stand still while the machine
// sleeps.
func (p *schedule) waitTime(now time.Duration) time.Duration {
	next := p.killAt()
	if p.termSentAt == 0 {
		next = p.termAt()
	}
	if now >= next {
		next = now + p.margin()/8
	}
	return min(next-now, p.margin()/2)
}
