package watchdog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/internal/testkit"
)

// hungUp is the role of a supervisor that closes its end of the pipe, and keeps running.
const hungUp = "hung up"

// hangUp ends each Unix connection of this process.
func hangUp() {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		var fd int
		if _, err := fmt.Sscan(filepath.Base(file), &fd); err == nil {
			if link, _ := os.Readlink(file); strings.HasPrefix(link, "socket:") {
				_ = unix.Shutdown(fd, unix.SHUT_RDWR)
			}
		}
	}
}

// releases returns the times at which the watchdog has called its release function.
func (tr *trial) releases() (times []time.Duration) {
	text, _ := os.ReadFile(tr.file + ".released")
	for line := range strings.Lines(string(text)) {
		var at time.Duration
		_, err := fmt.Sscan(line, &at)
		require.NoError(tr, err)
		times = append(times, at)
	}
	return times
}

// The watchdog calls its release function once, after the supervisor and the last process of the command have ended.
func TestWatchdogReleasesAfterSupervisorAndCommand(t *testing.T) {
	testkit.Processes(t)
	for _, traits := range [][]string{{"says"}, {"deaf", "forks", "leaves", "stays"}} {
		t.Run(strings.Join(traits, "+"), func(t *testing.T) {
			t.Parallel()
			tr := begin(t, safe, len(traits), traits...)
			tr.signal(unix.SIGKILL, tr.cmd.Process.Pid)
			require.Eventually(t, func() bool { return !runs(tr.watchdog) }, startTimeout, time.Millisecond)
			require.False(t, slices.ContainsFunc(tr.pids(), runs))
			all := tr.records()
			require.Len(t, tr.releases(), 1)
			require.Greater(t, tr.releases()[0], all[len(all)-1].at)
		})
	}
}

// The watchdog of a live supervisor releases nothing: the node of the supervisor hands over, or its lease expires.
func TestWatchdogOfLiveSupervisorReleasesNothing(t *testing.T) {
	testkit.OnlyLong(t)
	for _, tc := range []struct {
		name, role string
		fault      func(tr *trial)
	}{
		{"the pipe is closed", hungUp, func(*trial) {}},
		{"the supervisor is stopped", renewed, func(tr *trial) { tr.signal(unix.SIGSTOP, tr.cmd.Process.Pid) }},
		{"the command is killed", safe, func(tr *trial) { tr.signal(unix.SIGKILL, tr.first) }},
		{"the supervisor ends the command", safe, func(tr *trial) { tr.endCommand() }},
		{"the watchdog is killed", safe, func(tr *trial) { tr.signal(unix.SIGKILL, tr.watchdog) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, tc.role, 1, "says")
			tc.fault(tr)
			tr.requireEnd(Now() + lease + startTimeout)
			require.Eventually(t, func() bool { return !runs(tr.watchdog) }, startTimeout, time.Millisecond)
			require.Empty(t, tr.releases())
		})
	}
}

// A program that is started as the watchdog may have inherited any file with the number of the pidfd.
func TestPidfdIsRecognized(t *testing.T) {
	own, err := ownPidfd()
	require.NoError(t, err)
	defer own.Close()
	require.True(t, isPidfd(int(own.Fd()), os.Getpid()))
	require.False(t, isPidfd(int(own.Fd()), os.Getppid()))
	require.False(t, hasExited(int(own.Fd()), false, time.Hour))
	other, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer other.Close()
	require.False(t, isPidfd(int(other.Fd()), os.Getpid()))
}
