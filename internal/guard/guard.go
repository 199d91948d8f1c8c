// Package guard runs a command that must be gone in time, whatever becomes of who runs it.
//
// Who runs it, the supervisor, starts itself once more as a guard, and that starts the command, in a process
// group of its own. On a line between the two the guard hears again and again by when the command must be gone. When
// that time comes near, or the line ends because the supervisor is no more, the guard ends the command and all
// that has come of it: SIGTERM first, and SIGKILL while there still is time. It acknowledges what it has heard,
// and the supervisor ends the guard and all of that itself where the guard does not do so by then.
//
// # What it promises
//
// On Linux nothing is left of the command by that time, on CLOCK_BOOTTIME, if one of the two processes runs:
// either may be killed or stopped. What has left the process group, or whose parent has ended, is found as a
// child of the guard, or of the supervisor after it (PR_SET_CHILD_SUBREAPER). If both are killed at once
// the kernel kills the process that was started (PR_SET_PDEATHSIG), and nobody what that has forked.
//
// Only the command and its descendants are signalled. A supervisor that would have other children runs in a child of
// [Init] instead.
//
// # What it does not promise
//
// Anything while both are stopped. To end what another service has started for the command, as systemd-run,
// at or docker do; what an ordinary user may not signal; or what is in a system call that cannot be
// interrupted: Run waits for that. Other systems than Linux lack more: see [Lacks].
package guard

import "time"

// Command is what to run.
type Command struct {
	Args []string // the program, and its arguments
	Env  []string // each NAME=value
	// Grace is the time from SIGTERM to SIGKILL, where the command need not be gone before.
	Grace time.Duration
	// Lease is the time from the last renewal to the end of the leadership. An eighth of it, but at most 1 s, is
	// kept for killing. Without a further renewal, SIGTERM comes another eighth, or Grace if that is less, before.
	Lease time.Duration
}

// Outcome is how a command ended.
type Outcome struct {
	// Own says that nobody told it to end: it did so of its own accord, or its guard was killed.
	Own    bool
	Status int // the exit status if so; 128 and the number of the signal that killed it
}

// plan is when the command gets which signal. Times are those of [Now].
type plan struct {
	Command
	end  time.Duration // by then nothing may be left of it
	told time.Duration // when it was told to end; 0: it was not
}

// margin is for killing, half of it by the guard, and half by the supervisor if the guard does not.
func (p *plan) margin() time.Duration { return min(p.Lease/8, time.Second) }

func (p *plan) termAt() time.Duration { return p.end - p.margin() - min(p.Grace, p.Lease/8) }

func (p *plan) killAt() time.Duration {
	if p.told == 0 {
		return p.end - p.margin()
	}
	return min(p.told+p.Grace, p.end-p.margin())
}

// rest is how long to listen before what is due is done: a while also where it is due already, for there may be news.
// The timers of the runtime stand still while the machine sleeps, so it is never long.
func (p *plan) rest(now time.Duration) time.Duration {
	next := p.killAt()
	if p.told == 0 {
		next = p.termAt()
	}
	if now >= next {
		next = now + p.margin()/8
	}
	return min(next-now, p.margin()/2)
}

// Both say numbers on one line: times, and what stands for something else.
const (
	stop  = 0  // to the guard: the command is to end now
	ended = -1 // and below, from it: the command has ended of its own accord, with status ended minus that
)
