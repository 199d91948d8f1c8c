//go:build unix

package enginetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mainVariable is set in a process that a test has started as the command.
const mainVariable = "ELECTOR_TEST_COMMAND"

// CommandMain runs the tests of a command, or the command if [Launch] has started this process. It is for TestMain.
func CommandMain(m *testing.M, main func()) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Process is the command in a process of its own.
type Process struct {
	*exec.Cmd
	t      *testing.T
	lines  chan string // of its standard output; closed in the end
	mu     sync.Mutex
	stderr bytes.Buffer
	logged chan struct{} // closed at the next write to stderr
}

// Write appends to the log, which is the standard error of the process.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.logged)
	p.logged = make(chan struct{})
	return p.stderr.Write(b)
}

// Log returns what the process has written to its standard error.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// Launch starts the command in a process that ends with the test.
func Launch(t *testing.T, environment []string, args ...string) *Process {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := launch(t, w, environment, args...)
	require.NoError(t, w.Close())
	p.lines = make(chan string, 1000)
	go func() {
		defer close(p.lines)
		defer r.Close()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p
}

func launch(t *testing.T, stdout *os.File, environment []string, args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(os.Args[0], args...), t: t, logged: make(chan struct{})}
	p.Env = append(append(os.Environ(), mainVariable+"=yes"), environment...)
	p.Stdout, p.Stderr = stdout, p
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of %v:\n%s", args, p.Log())
		}
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait() // its watchdog ends the command
		}
	})
	return p
}

// Line returns the next line of its standard output; io.EOF after the last one.
func (p *Process) Line() (string, error) {
	p.t.Helper()
	select {
	case line, isOpen := <-p.lines:
		if !isOpen {
			return "", io.EOF
		}
		return line, nil
	case <-time.After(EventTimeout):
		require.Fail(p.t, "no line", p.Log())
		return "", nil
	}
}

// NextLine returns the next line of its standard output, which must not have ended.
func (p *Process) NextLine() string {
	p.t.Helper()
	line, err := p.Line()
	require.NoError(p.t, err, p.Log())
	return line
}

// AwaitLog waits until the log contains a text.
func (p *Process) AwaitLog(text string) {
	p.t.Helper()
	for limit := time.After(EventTimeout); ; {
		p.mu.Lock()
		found, logged := strings.Contains(p.stderr.String(), text), p.logged
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-logged:
		case <-limit:
			require.Fail(p.t, "not in the log: "+text, p.Log())
		}
	}
}

// Status waits for the end and returns the exit status.
func (p *Process) Status() int {
	p.t.Helper()
	kill := time.AfterFunc(EventTimeout, func() { _ = p.Process.Kill() })
	defer kill.Stop()
	err := p.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(p.t, err)
	}
	return p.ProcessState.ExitCode()
}

// Terminate requires that the process ends with status 0 when it gets SIGTERM.
func (p *Process) Terminate() {
	p.t.Helper()
	require.NoError(p.t, p.Process.Signal(syscall.SIGTERM))
	require.Zero(p.t, p.Status(), "a signal to stop is no failure\n%s", p.Log())
}

// Command is the command elect-ENGINE for its tests.
type Command struct {
	// Flags returns the flags that name an election, with servers that are reached over a link.
	Flags func(t *testing.T, election string, l *Link) []string
	// Lease returns the flags for a lease with a duration in seconds.
	Lease func(seconds int) []string
	// Touch writes to the servers what is no change of an election.
	Touch func(t *testing.T, election string)
	// StopServers stops the servers, and returns a function that starts them again.
	StopServers func() (start func())
}

// args returns the arguments for an election with a lease of some seconds.
func (c Command) args(t *testing.T, verb, election string, l *Link, seconds int, more ...string) []string {
	return slices.Concat([]string{verb}, c.Flags(t, election, l), c.Lease(seconds), more)
}

// release holds an election once, and gives the leadership up. A Lease of Kubernetes that is new is held only after its
// duration.
func (c Command) release(t *testing.T, election string) {
	t.Helper()
	p := Launch(t, nil, c.args(t, "run", election, NewLink(), 1, "--", "true")...)
	require.Zero(t, p.Status(), p.Log())
}

// TestOnlyOneRuns tests that COMMAND ends before the next one begins, whether its supervisor is killed, stopped,
// terminated, or cut off from the servers.
func (c Command) TestOnlyOneRuns(t *testing.T) {
	nothing := func() {}
	for name, inject := range map[string]func(p *Process, l *Link) (end func()){
		"killed": func(p *Process, _ *Link) func() {
			_ = p.Process.Kill()
			return nothing
		},
		"stopped": func(p *Process, _ *Link) func() {
			_ = p.Process.Signal(syscall.SIGSTOP)
			return func() { _ = p.Process.Signal(syscall.SIGCONT) }
		},
		"cut off": func(_ *Process, l *Link) func() {
			l.Cut()
			return l.Heal
		},
		"terminated": func(p *Process, _ *Link) func() {
			p.Terminate()
			return nothing
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seconds := 5
			if name == "killed" && runtime.GOOS == "linux" {
				seconds = 3600 // the watchdog gives the leadership up: no contender waits for the lease
			}
			election := "at-a-time-" + strings.ReplaceAll(name, " ", "-")
			c.release(t, election)
			s := newStream(t)
			start := func(name string, l *Link) *Process {
				return launch(t, s.w, nil, c.args(t, "run", election, l, seconds, "--name", name, "--grace", "100ms", "--", "sh", "-c", tick)...)
			}
			link := NewLink()
			a := start("a", link)
			s.nextToken()
			b := start("b", NewLink())
			b.AwaitLog("leader=a")
			end := inject(a, link)
			s.nextToken()
			end()
			b.Terminate()
			_ = a.Process.Kill()
			s.end()
		})
	}
}

// tick is a command that prints its token again and again. It ends only by SIGKILL.
const tick = `trap "" TERM; while echo $ELECT_RUN_TOKEN; do sleep 0.01; done`

// stream is the standard output that several commands share. A line is one write, so the order of the lines is that in
// which the commands have worked.
type stream struct {
	t       *testing.T
	w       *os.File
	changes chan string // the first line, and each that differs from the one before it; closed in the end
	all     []string    // that nextToken has returned
}

func newStream(t *testing.T) *stream {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	s := &stream{t: t, w: w, changes: make(chan string, 1000)}
	t.Cleanup(func() { _ = w.Close() })
	go func() {
		defer close(s.changes)
		defer r.Close()
		last := ""
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if lines.Text() != last {
				last = lines.Text()
				s.changes <- last
			}
		}
	}()
	return s
}

// nextToken waits for a command with another token, which no command before it had.
func (s *stream) nextToken() {
	s.t.Helper()
	select {
	case token, isOpen := <-s.changes:
		require.True(s.t, isOpen, "all commands have ended")
		require.NotContains(s.t, s.all, token, "the command of this token works after that of a later token")
		s.all = append(s.all, token)
	case <-time.After(EventTimeout):
		require.Fail(s.t, "no command begins", s.all)
	}
}

// end waits until all commands have ended, and requires that none has worked after a later one.
func (s *stream) end() {
	s.t.Helper()
	require.NoError(s.t, s.w.Close())
	for token := range s.changes {
		require.NotContains(s.t, s.all, token, "the command of this token works after that of a later token")
		s.all = append(s.all, token)
	}
}

// TestOnce tests that one of the contenders that start within the time runs the command, and all end.
func (c Command) TestOnce(t *testing.T) {
	c.release(t, "once")
	s := newStream(t)
	var all []*Process
	for _, name := range []string{"a", "b"} {
		all = append(all, launch(t, s.w, nil, c.args(t, "run", "once", NewLink(), 5, "--name", name, "--once=10s", "--",
			"sh", "-c", "echo $ELECT_RUN_NODE")...))
	}
	for _, p := range all {
		require.Zero(t, p.Status(), p.Log())
	}
	s.end()
	require.Len(t, s.all, 1)
	require.Regexp(t, `^[ab]$`, s.all[0])
}

// change is what watch prints with --json, and the output of the command that it runs.
type change struct {
	Time        time.Time
	Leader      *string
	LeaderMeta  map[string]string `json:"leader_meta"`
	Token       uint64
	Scope       string
	Error       string
	Environment string `json:"-"`
}

func (p *Process) nextChange() (c change) {
	p.t.Helper()
	line := p.NextLine()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	require.NoError(p.t, d.Decode(&c), line)
	c.Environment = p.NextLine()
	return c
}

// TestWatch tests that standard output has an object for each change, and the shell command its variables.
func (c Command) TestWatch(t *testing.T) {
	c.release(t, "watch")
	watch := Launch(t, nil, c.args(t, "watch", "watch", NewLink(), 5, "--json", "--exec", `echo "$ELECT_WATCH_LEADER $ELECT_WATCH_TOKEN $ELECT_WATCH_EPOCH"`)...)
	vacant := watch.nextChange()
	require.Nil(t, vacant.Leader)
	require.Equal(t, "  ", vacant.Environment)
	require.Empty(t, vacant.Error)

	run := Launch(t, nil, c.args(t, "run", "watch", NewLink(), 5, "--name", "a", "--meta", "http=10.0.0.1:80", "--", "sh", "-c", "echo works; exec sleep 1000")...)
	require.Equal(t, "works", run.NextLine())
	led := watch.nextChange()
	require.NotNil(t, led.Leader)
	require.Equal(t, "a", *led.Leader)
	require.Equal(t, map[string]string{"http": "10.0.0.1:80"}, led.LeaderMeta)
	require.Positive(t, led.Token)
	require.Regexp(t, `^[0-9a-f-]{36}$`, led.Scope)
	require.Equal(t, fmt.Sprintf("a %d %d", led.Token, led.Token), led.Environment)

	c.Touch(t, "watch")
	run.Terminate()
	require.Nil(t, watch.nextChange().Leader)
	watch.Terminate()
}

// TestWatcherSurvivesServers tests that a watcher of servers that are gone reports it, and sees the leader when they
// are back.
func (c Command) TestWatcherSurvivesServers(t *testing.T) {
	watch := Launch(t, nil, c.args(t, "watch", "gone", NewLink(), 2)...)
	require.Contains(t, watch.NextLine(), "  no leader is known")
	start := c.StopServers()
	require.Contains(t, watch.NextLine(), "  cut off: ")
	start()
	for !strings.HasSuffix(watch.NextLine(), "  no leader is known") {
		continue
	}
}

// TestMistakes tests that each of some command lines is rejected with status 2. A row has the arguments, and what the
// error contains.
func TestMistakes(t *testing.T, rows [][2][]string) {
	for _, row := range rows {
		p := Launch(t, nil, row[0]...)
		require.Equal(t, 2, p.Status(), "%v\n%s", row[0], p.Log())
		for _, want := range row[1] {
			require.Contains(t, p.Log(), want, row[0])
		}
	}
}
