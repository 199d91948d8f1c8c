//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// logged waits for the line of a JSON log that has msg, and returns it.
func (p *process) logged(t *testing.T, msg string) map[string]any {
	t.Helper()
	for {
		var entry map[string]any
		line := p.stderr.line(t)
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		if entry["msg"] == msg {
			return entry
		}
	}
}

func TestSIGHUPReloadsConfigFile(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	catchSIGHUP(t)
	file := filepath.Join(t.TempDir(), "elect.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("priority: 1\n")
	p := command(t, "node", "--config", file, "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--log", "json", "--lease=off")
	p.Env = append(p.Env, "ELECT_LISTNE=x")
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	require.Equal(t, "ELECT_LISTNE (did you mean ELECT_LISTEN?)",
		p.logged(t, "unknown ELECT_ environment variables")["variables"])
	addr := p.logged(t, "started")["addr"].(string)
	p.logged(t, "became leader")
	priority := func() int {
		var s statusObject
		decodeStrictly(t, statusOf(t, addr, "--json"), &s)
		return s.Members[0].Priority
	}
	require.Equal(t, 1, priority())

	write("priority: 2\nwitness: true\nlog_level: debug\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.Equal(t, "witness", p.logged(t, "setting changed, restart required")["fields"])
	require.Equal(t, "priority 2, log_level debug", p.logged(t, "configuration reloaded")["changed"])
	require.Equal(t, 2, priority())

	write("priority: 3\nnonsense: 1\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.Contains(t, p.logged(t, "configuration not reloaded")["problem"], "elect.yaml:2: nonsense is not a field")
	require.Equal(t, 2, priority())

	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.status(t), p.stderr.text())
}

// catchSIGHUP makes child processes start with the default action for SIGHUP, also if the tests run
// under nohup.
func catchSIGHUP(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
}

// A reload waits for a file system that does not answer.
func TestStopDoesNotWaitForReload(t *testing.T) {
	r := newReloading(t, "lease: off\nlisten: 127.0.0.1:7400\nmembers: [127.0.0.1:7400]\n")
	reading, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	r.load = func() (*confload.Settings, error) {
		close(reading)
		<-release
		return nil, os.ErrNotExist
	}
	detach := r.attach(t.Context(), r.node)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	<-reading
	detach()
	require.Empty(t, r.out.String())
}

func TestStopWhileFilesAreReadHasStatusZero(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	require.NoError(t, cleanExit(ctx, nil))
	require.ErrorIs(t, cleanExit(ctx, os.ErrNotExist), os.ErrNotExist)
	stop()
	require.ErrorIs(t, cleanExit(ctx, os.ErrNotExist), os.ErrNotExist)
	require.Equal(t, &exitError{}, cleanExit(ctx, context.Cause(ctx)))
}

// Opening a FIFO would wait for a writer forever.
func TestFIFOIsRejectedAtStart(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, store.FileName)
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	const listen, members = "--listen=127.0.0.1:0", "--members=127.0.0.1:0"
	for name, args := range map[string][]string{
		"configuration of a node": {"node", "--config", fifo},
		"checked configuration":   {"config", "check", fifo},
		"data file":               {"node", listen, members, "--data-dir", dir},
		"secret":                  {"node", listen, members, "--lease=off", "--secret-file", fifo},
		"secret of a client":      {"status", "127.0.0.1:1", "--secret-file", fifo},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, stderr := elect(args...)
			require.NotZero(t, status)
			require.Contains(t, stderr, "it is a FIFO, want a regular file")
			require.Contains(t, stderr, fifo)
		})
	}
}

// Without a file there is nothing to reload: SIGHUP means that the terminal has closed.
func TestSIGHUPWithoutFileStopsNode(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	catchSIGHUP(t)
	p := startNode(t)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.Equal(t, "hangup", p.logged(t, "stopping")["signal"])
	require.Zero(t, p.status(t), p.stderr.text())
}

// signalUntilExit sends s each millisecond until the process has exited, and returns its status.
func (p *process) signalUntilExit(s os.Signal) int {
	exited := make(chan error, 1)
	go func() { exited <- p.Wait() }()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-exited:
			return p.ProcessState.ExitCode()
		case <-again.C:
			_ = p.Process.Signal(s) // fails if the process has exited
		}
	}
}

// A closing terminal sends SIGHUP twice: the kernel sends one and the shell another. The log is
// unread, so the process still runs for a while when the node has stopped.
func TestRepeatedSIGHUPKeepsGoodbyes(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	catchSIGHUP(t)
	addr := keptFree(t, nil)
	p := launchUnread(t, fullPipe, "node", "--listen", addr, "--members", addr, "--lease=off")
	requireLeads(t, addr)
	require.Zero(t, p.signalUntilExit(syscall.SIGHUP))
}

// systemd sends SIGHUP right after SIGTERM, with SendSIGHUP=yes.
func TestSIGHUPAfterSIGTERMKeepsExitStatus(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(file, []byte("priority: 1\n"), 0o600))
	addr := keptFree(t, nil)
	p := launchUnread(t, fullPipe, "node", "--config", file, "--listen", addr, "--members", addr, "--lease=off")
	requireLeads(t, addr)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.signalUntilExit(syscall.SIGHUP))
}

func TestSIGHUPUnderNohupIsIgnored(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := command(t)
	p.Path, p.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" node --listen 127.0.0.1:0 --members 127.0.0.1:0 --name a --log json --lease=off`, os.Args[0]}
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	p.logged(t, "became leader")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "terminated", p.logged(t, "stopping")["signal"])
	require.Zero(t, p.status(t), p.stderr.text())
}
