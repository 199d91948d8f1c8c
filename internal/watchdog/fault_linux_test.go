package watchdog

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/internal/testkit"
)

const (
	roleVariable = "GUARD_TEST_ROLE"
	lease        = 8 * time.Second // the shortest one with the longest margin
	forEver      = time.Hour
	grace        = time.Second
	ending       = 100 * time.Millisecond // time from SIGTERM to the end of a command that is not deaf
)

// The test binary is also the supervisor, its watchdog, and the command.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	switch {
	case role == "":
		testkit.AtOnce(4)                         // the tests wait more than they compute
		if err := becomeSubreaper(); err != nil { // otherwise, the kernel might continue a stopped process that loses its parent
			panic(err)
		}
		os.Exit(m.Run())
	case os.Args[1] == Subcommand:
		if Serve(func(release []byte) { note(string(release), Now()) }) != nil {
			os.Exit(1)
		}
	case os.Args[1] == "work":
		work(os.Args[2], os.Args[3:])
	default:
		supervise(role, os.Args[1:])
	}
}

// The roles of a supervisor: its lease is long; short and renewed all the time; renewed for a bit less
// than a multiple of the time between two renewals; or short and never renewed.
const (
	safe    = "safe"
	renewed = "renewed"
	uneven  = "uneven"
	cutOff  = "cut off"
)

// A lease has a margin of 1 s and is renewed each 0.5 s. With unevenLeft, half of the margin is left 150 ms after a
// renewal, and 150 ms of the margin at the next renewal.
const unevenLeft = 7650 * time.Millisecond

// supervise runs a command until a line comes on standard input.
func supervise(role string, args []string) {
	lease := lease
	if role == safe {
		lease = forEver
	}
	ctx, stop := context.WithCancel(context.Background())
	lines := os.NewFile(uintptr(unix.Stdin), "stdin")
	go func() {
		_, _ = bufio.NewReader(lines).ReadString('\n')
		stop()
	}()
	began := Now()
	var s Supervisor
	defer s.Close()
	prepared := s.Prepare()
	o, err := s.Run(ctx, Command{Args: args, Env: os.Environ(), Grace: grace, Timeout: lease}, func() Renewal {
		r := Renewal{Remaining: lease}
		if len(args) > 2 {
			r.Release = []byte(args[2] + ".released")
		}
		switch role {
		case cutOff:
			r.Remaining = began + lease - Now()
		case uneven:
			note(args[2]+".renewed", Now())
			r.Remaining = unevenLeft
		case hungUp:
			if _, err := os.Stat(args[2]); err == nil { // the command has started
				hangUp()
			}
		}
		return r
	})
	err = cmp.Or(prepared, err)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(o)
	_ = os.Stdout.Sync()
}

// note appends a time to a file.
func note(file string, now time.Duration) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(out, int64(now))
	_ = out.Close()
}

// work writes lines with its PID, its parent's PID, its traits and the time until it receives SIGTERM. Its traits:
//
//	deaf    ignores SIGTERM
//	forks   starts a deaf child in its process group
//	leaves  starts a deaf process in another session; the parent of that process ends
//	stays   starts a deaf child in another session
//	ends    ends with status 3 once a file with the suffix .end exists
func work(file string, traits []string) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	startChild := func(attr *syscall.SysProcAttr, traits ...string) {
		cmd := exec.Command("/proc/self/exe", append([]string{"work", file}, traits...)...)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, unix.SIGTERM)
	has := func(trait string) bool { return slices.Contains(traits, trait) }
	if has("forks") {
		startChild(nil, "deaf")
	}
	if has("leaves") {
		startChild(nil, "orphans")
	}
	if has("stays") {
		startChild(&syscall.SysProcAttr{Setsid: true}, "deaf")
	}
	if has("orphans") {
		startChild(&syscall.SysProcAttr{Setsid: true}, "deaf")
		return
	}
	write := func(what string) { fmt.Fprintf(out, "%d %d %s %d\n", os.Getpid(), os.Getppid(), what, Now()) }
	tick := time.Tick(10 * time.Millisecond)
	left := -1 // ticks until the end; negative before SIGTERM
	ends := func() bool {
		_, err := os.Stat(file + ".end")
		return has("ends") && err == nil
	}
	for !ends() {
		write("work+" + strings.Join(traits, "+"))
		select {
		case <-terminated:
			if !has("deaf") {
				left = int(ending/(10*time.Millisecond)) + 1
			}
		case <-tick:
		}
		if left--; left == 0 {
			write("terminated")
			return
		}
	}
	os.Exit(3)
}

// record is a line that work has written.
type record struct {
	pid, parent int
	what        string
	at          time.Duration
}

// trial is a supervisor that runs a command.
type trial struct {
	*testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	file     string
	watchdog int
	first    int // process of the command
}

// begin starts a trial and waits until the given number of processes of the command work.
func begin(t *testing.T, role string, processes int, traits ...string) *trial {
	t.Helper()
	tr := &trial{T: t, file: filepath.Join(t.TempDir(), "records")}
	tr.cmd = exec.Command(os.Args[0], append([]string{"/proc/self/exe", "work", tr.file}, traits...)...)
	tr.cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	tr.cmd.Stderr = os.Stderr
	var err error
	tr.in, err = tr.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := tr.cmd.StdoutPipe()
	require.NoError(t, err)
	tr.out = bufio.NewReader(out)
	require.NoError(t, tr.cmd.Start())
	t.Cleanup(func() {
		_ = tr.cmd.Process.Kill()
		_ = tr.cmd.Wait()
		for _, pid := range append(tr.pids(), tr.watchdog) {
			if pid > 0 {
				_ = unix.Kill(pid, unix.SIGKILL) // none is left, or the test has failed
			}
		}
	})
	require.Eventually(t, func() bool { return len(tr.pids()) == processes }, startTimeout, time.Millisecond)
	for _, s := range tr.records() {
		if s.what == "work+"+strings.Join(traits, "+") {
			tr.first, tr.watchdog = s.pid, s.parent
		}
	}
	return tr
}

func (tr *trial) records() (all []record) {
	text, _ := os.ReadFile(tr.file)
	for line := range strings.Lines(string(text)) {
		var s record
		if _, err := fmt.Sscan(line, &s.pid, &s.parent, &s.what, &s.at); err == nil {
			all = append(all, s)
		}
	}
	return all
}

func (tr *trial) pids() (all []int) {
	for _, s := range tr.records() {
		if !slices.Contains(all, s.pid) {
			all = append(all, s.pid)
		}
	}
	return all
}

func (tr *trial) signal(s syscall.Signal, pids ...int) {
	for _, pid := range pids {
		require.NoError(tr, unix.Kill(pid, s))
	}
}

// endCommand requests the end of the command from the supervisor.
func (tr *trial) endCommand() {
	_, err := io.WriteString(tr.in, "\n")
	require.NoError(tr, err)
}

// runs reports whether process pid runs. A zombie does not.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// requireEnd waits until all processes of the command have ended, which must be before until.
func (tr *trial) requireEnd(until time.Duration) {
	tr.Helper()
	pids := tr.pids() // read once: the records grow while the processes run
	require.Eventually(tr, func() bool { return !slices.ContainsFunc(pids, runs) }, startTimeout, time.Millisecond)
	all := tr.records()
	require.Less(tr, all[len(all)-1].at, until, "the command ran too long")
}

// outcome returns the outcome that the supervisor prints at its end.
func (tr *trial) outcome() (o Outcome) {
	tr.Helper()
	line, err := tr.out.ReadString('\n')
	require.NoError(tr, err)
	require.NoError(tr, json.Unmarshal([]byte(line), &o))
	require.NoError(tr, tr.cmd.Wait())
	require.False(tr, runs(tr.watchdog), "the watchdog is left")
	return o
}

// Whichever of the three processes fails, no process of the command is left when its lease has expired. A process
// that learns of the failure earlier does not wait for the expiry.
func TestCommandIsGoneInTime(t *testing.T) {
	testkit.OnlyLong(t)
	for _, tc := range []struct {
		name  string
		role  string
		fault func(tr *trial)
		then  func(tr *trial) // after the end of the command
	}{
		{"the supervisor is killed", safe, func(tr *trial) {
			tr.signal(unix.SIGKILL, tr.cmd.Process.Pid)
		}, nil},
		{"the supervisor is stopped", renewed, func(tr *trial) {
			tr.signal(unix.SIGSTOP, tr.cmd.Process.Pid)
		}, func(tr *trial) {
			tr.signal(unix.SIGCONT, tr.cmd.Process.Pid)
			require.False(tr, tr.outcome().Voluntary)
		}},
		{"the watchdog is killed", safe, func(tr *trial) {
			tr.signal(unix.SIGKILL, tr.watchdog)
		}, func(tr *trial) {
			require.Equal(tr, Outcome{Voluntary: true, Status: 137}, tr.outcome())
		}},
		{"the watchdog is stopped", renewed, func(tr *trial) {
			tr.signal(unix.SIGSTOP, tr.watchdog)
		}, func(tr *trial) {
			require.False(tr, tr.outcome().Voluntary)
		}},
		{"the watchdog is stopped, and the command to be ended", safe, func(tr *trial) {
			tr.signal(unix.SIGSTOP, tr.watchdog)
			tr.endCommand()
		}, func(tr *trial) {
			require.False(tr, tr.outcome().Voluntary)
		}},
		{"the watchdog is stopped, and the supervisor killed", safe, func(tr *trial) {
			tr.signal(unix.SIGSTOP, tr.watchdog)
			tr.signal(unix.SIGKILL, tr.cmd.Process.Pid)
		}, nil},
		{"the command is stopped, and the supervisor killed", safe, func(tr *trial) {
			tr.signal(unix.SIGSTOP, tr.first)
			tr.signal(unix.SIGKILL, tr.cmd.Process.Pid)
		}, nil},
		{"the command is killed", safe, func(tr *trial) {
			tr.signal(unix.SIGKILL, tr.first)
		}, func(tr *trial) {
			require.Equal(tr, Outcome{Voluntary: true, Status: 137}, tr.outcome())
		}},
		{"all receive SIGTERM", safe, func(tr *trial) { // as by systemd
			tr.signal(unix.SIGTERM, tr.watchdog, tr.first)
			tr.endCommand()
		}, func(tr *trial) {
			require.False(tr, tr.outcome().Voluntary)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, tc.role, 4, "deaf", "forks", "leaves", "stays")
			tc.fault(tr)
			if until := Now() + lease; tc.role == renewed {
				tr.requireEnd(until)
			} else {
				tr.requireEnd(until + startTimeout)
			}
			if tc.then != nil {
				tc.then(tr)
			}
			require.Eventually(t, func() bool { return !runs(tr.watchdog) }, startTimeout, time.Millisecond)
		})
	}
}

// A command receives SIGTERM early enough to end by itself, also if it is stopped at that time. It gets its grace if
// the deadline permits.
func TestSIGTERMPrecedesSIGKILL(t *testing.T) {
	testkit.OnlyLong(t)
	for _, role := range []string{safe, cutOff} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, role, 1, "says")
			if role == safe {
				tr.signal(unix.SIGSTOP, tr.first)
				tr.endCommand()
			}
			tr.requireEnd(tr.records()[0].at + lease + startTimeout)
			all := tr.records()
			require.Equal(t, "terminated", all[len(all)-1].what)
			require.Equal(t, Outcome{}, tr.outcome())
		})
	}
}

// A signal to all processes named elect does not end the watchdog before the command.
func TestWatchdogIgnoresSignals(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	tr := begin(t, safe, 1, "says")
	for _, s := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		tr.signal(s, tr.watchdog)
	}
	before := len(tr.records())
	require.Eventually(t, func() bool { return len(tr.records()) > before+10 }, startTimeout, time.Millisecond)
	tr.endCommand()
	require.Equal(t, Outcome{}, tr.outcome())
	all := tr.records()
	require.Equal(t, "terminated", all[len(all)-1].what)
}

// A supervisor kills a stopped watchdog when half of the margin is left. It does not wait for the next
// renewal, when none of the margin may be left.
func TestStoppedWatchdogIsKilledBetweenRenewals(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for range 3 { // on a busy machine a supervisor may be late once
		if leftByStoppedWatchdog(t) > 200*time.Millisecond {
			return
		}
	}
	require.Fail(t, "hardly any of the margin is left")
}

// leftByStoppedWatchdog returns the rest of the lease at the end of the command of a stopped watchdog.
func leftByStoppedWatchdog(t *testing.T) time.Duration {
	tr := begin(t, uneven, 1, "deaf")
	tr.signal(unix.SIGSTOP, tr.watchdog)
	stopped := Now()
	tr.requireEnd(stopped + unevenLeft)
	require.False(t, tr.outcome().Voluntary)
	var last time.Duration // last renewal that the watchdog has received
	renewals, err := os.ReadFile(tr.file + ".renewed")
	require.NoError(t, err)
	for line := range strings.Lines(string(renewals)) {
		var at time.Duration
		if _, err := fmt.Sscan(line, &at); err == nil && at < stopped {
			last = at
		}
	}
	require.Positive(t, last)
	all := tr.records()
	return last + unevenLeft - all[len(all)-1].at
}

// limit prevents a process from opening file descriptors, until lift is called.
func (tr *trial) limit(pid int) (lift func()) {
	var before unix.Rlimit
	require.NoError(tr, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before))
	require.NoError(tr, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}, nil))
	return func() { require.NoError(tr, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil)) }
}

// scheduled returns how often the threads of a process have been given a processor.
func scheduled(pid int) (times int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		var ran, waited, slices int
		text, _ := os.ReadFile(thread)
		_, _ = fmt.Sscan(string(text), &ran, &waited, &slices)
		times += slices
	}
	return times
}

// A supervisor without a file descriptor cannot list the processes of the command. They are not gone: it
// kills them once it has a descriptor.
func TestSupervisorWithoutDescriptorKillsRestLater(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	tr := begin(t, safe, 4, "deaf", "forks", "leaves", "stays")
	supervisor := tr.cmd.Process.Pid
	lift := tr.limit(supervisor)
	tr.signal(unix.SIGKILL, tr.watchdog)
	require.Eventually(t, func() bool { return unix.Kill(tr.watchdog, 0) != nil }, startTimeout, time.Millisecond, "it waits for its watchdog first")
	before := scheduled(supervisor)
	// A busy machine schedules the supervisor several times before its first try. So it must retry for seconds.
	require.Eventually(t, func() bool { return !runs(supervisor) || scheduled(supervisor) > before+400 }, startTimeout, time.Millisecond)
	lift()
	require.Equal(t, Outcome{Voluntary: true, Status: 137}, tr.outcome())
	require.False(t, slices.ContainsFunc(tr.pids(), runs))
}

// A watchdog without a file descriptor cannot list its children. It still sends SIGTERM to the command.
func TestWatchdogWithoutDescriptorTerminatesCommand(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	tr := begin(t, safe, 1, "says")
	tr.limit(tr.watchdog)
	tr.endCommand()
	require.Equal(t, Outcome{}, tr.outcome())
	all := tr.records()
	require.Equal(t, "terminated", all[len(all)-1].what)
}

// If supervisor and watchdog are killed at once, the kernel kills the process that the watchdog has started.
func TestCommandDiesWithBothProcesses(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	tr := begin(t, safe, 1, "deaf")
	tr.signal(unix.SIGSTOP, tr.watchdog) // it cannot act before it is killed
	tr.signal(unix.SIGKILL, tr.watchdog, tr.cmd.Process.Pid)
	tr.requireEnd(Now() + startTimeout)
}

// When the started process has ended, the watchdog ends its descendants before it reports the end.
func TestCommandEndsWithItsDescendants(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	tr := begin(t, safe, 4, "ends", "forks", "leaves", "stays")
	require.NoError(t, os.WriteFile(tr.file+".end", nil, 0o600))
	require.Equal(t, Outcome{Voluntary: true, Status: 3}, tr.outcome())
	require.False(t, slices.ContainsFunc(tr.pids(), runs))
}

func TestCommandStartFailure(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for _, command := range []string{"no-such-command", t.TempDir()} {
		cmd := exec.Command(os.Args[0], command)
		cmd.Env = append(os.Environ(), roleVariable+"="+safe)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.Output()
		require.NoError(t, err)
		in.Close()
		var o Outcome
		require.NoError(t, json.Unmarshal(out, &o))
		require.Equal(t, Outcome{Voluntary: true, Status: notStarted}, o)
	}
}
