package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// visitor is the script of a process that elect has not started, such as one of docker exec. Its folder is $1. After a
// line in the FIFO go, it leaves 30 orphans that end at once, and one that answers a line in the FIFO ask.
const visitor = `
	read line < $1/go
	i=0; while [ $i -lt 30 ]; do sh -c ': &'; i=$((i+1)); done
	sh -c '(read line < $1/ask; : > $1/answered) &' sh $1
	: > $1/visited`

// visited is an elect process that replaced a shell after the shell had started a visitor.
type visited struct {
	*process
	dir string
}

// visit starts a visitor and then elect. With isPID1, elect is PID 1 in a PID namespace of its own.
func visit(t *testing.T, isPID1 bool, args ...string) visited {
	t.Helper()
	v := visited{command(t), t.TempDir()}
	for _, name := range []string{"go", "ask"} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(v.dir, name), 0o600))
	}
	script := `sh -c "$0" visitor "$1" & shift; exec "$@"`
	if isPID1 {
		script = "mount -t proc proc /proc && { " + script + "; }"
		v.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	}
	path, err := exec.LookPath("sh")
	require.NoError(t, err)
	v.Path, v.Args = path, append([]string{"sh", "-c", script, visitor, v.dir, os.Args[0]}, args...)
	err = v.Start()
	testkit.Need(t, !isPID1 || err == nil, fmt.Sprintf("a PID namespace, which takes root: %v", err))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = v.Process.Kill()
		v.tell(t, "go") // otherwise the visitor, or its orphan, waits forever and holds the output
		v.tell(t, "ask")
		_ = v.Wait()
	})
	return v
}

// tell writes a line to a FIFO, also if no process reads from it.
func (v visited) tell(t *testing.T, name string) {
	fifo, err := os.OpenFile(filepath.Join(v.dir, name), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = fifo.WriteString("\n")
	require.NoError(t, err)
	t.Cleanup(func() { _ = fifo.Close() }) // an earlier Close could discard the line
}

// waitFor waits for a file of that name.
func (v visited) waitFor(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(v.dir, name))
		return err == nil
	}, patience, time.Millisecond, "%s: %s", name, v.stderr.text())
}

// children returns the number of children, including ended ones that are not reaped yet.
func (v visited) children(t *testing.T) (n int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", v.Process.Pid))
	require.NoError(t, err)
	for _, path := range threads {
		text, _ := os.ReadFile(path) // a thread may have ended
		n += len(strings.Fields(string(text)))
	}
	return n
}

func (v visited) requireChildren(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return v.children(t) == n }, patience, time.Millisecond, "%s", v.stderr.text())
}

// testVisitedRun makes a visitor leave orphans next to a command, and ends the command.
func testVisitedRun(t *testing.T, isPID1 bool, children int) {
	t.Helper()
	dir := t.TempDir()
	end := filepath.Join(dir, "end")
	require.NoError(t, syscall.Mkfifo(end, 0o600))
	v := visit(t, isPID1, alone(t, "--restart", "always", "--", "sh", "-c", "trap 'exit 7' TERM; echo works; read line < "+end)...)
	require.Equal(t, "works", v.stdout.line(t))
	v.tell(t, "go")
	v.waitFor(t, "visited")
	v.requireChildren(t, children)
	require.NoError(t, os.WriteFile(end, []byte("\n"), 0)) // the command ends
	require.Equal(t, "works", v.stdout.line(t), "the command begins again")
	v.tell(t, "ask")
	v.waitFor(t, "answered") // so the orphan still runs
	require.NoError(t, v.Process.Signal(syscall.SIGTERM))
	require.Zero(t, v.status(t), v.stderr.text())
	require.Contains(t, v.stderr.text(), "command stopped", "the signal is passed on")
}

func TestPID1ReapsAndSignalsOwnCommandOnly(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	testVisitedRun(t, true, 2) // elect, and the orphan that answers later
}

func TestNodeAsPID1ReapsOrphans(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	v := visit(t, true, "node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--lease=off")
	v.tell(t, "go")
	v.waitFor(t, "visited")
	v.requireChildren(t, 2)
	for !strings.Contains(v.stderr.line(t), `msg="became leader"`) {
	}
	require.NoError(t, v.Process.Signal(syscall.SIGTERM))
	require.Zero(t, v.status(t), v.stderr.text())
	require.Contains(t, v.stderr.text(), "msg=stopped", "the signal is passed on")
}

// Not only PID 1 can have inherited children: a shell that becomes elect may have some, too.
func TestRunSparesInheritedChildren(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	testVisitedRun(t, false, 1)
}

// The /proc of another PID namespace lists children by PIDs that belong to other processes here.
func TestRunRejectsForeignProc(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := command(t, alone(t, "--", "true")...)
	p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	err := p.Start()
	testkit.Need(t, err == nil, fmt.Sprintf("a PID namespace, which takes root: %v", err))
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	require.Contains(t, p.stderr.text(), "mount the /proc of this PID namespace")
}

func TestPID1EndsWithStatusOfCommand(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for script, status := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		v := visit(t, true, alone(t, "--", "sh", "-c", script)...)
		require.Equal(t, status, v.status(t), v.stderr.text())
	}
}
