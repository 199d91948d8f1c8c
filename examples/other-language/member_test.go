//go:build unix

// Package otherlanguage has no code in Go. Its test runs the member in JavaScript in a cluster of real nodes.
package otherlanguage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cli"
	"github.com/elect-go/elect/internal/testkit"
)

const mainEnv = "TEST_MAIN_OF_ELECT"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		cli.Main(builtin.Registry())
	}
	os.Exit(m.Run())
}

// hangTimeout ends a test that hangs. A slow machine needs less.
const hangTimeout = time.Minute

func requireNode(t *testing.T) {
	t.Helper()
	testkit.OnlyLong(t)
	_, noNode := exec.LookPath("node")
	_, noLibrary := os.Stat("node_modules/@msgpack/msgpack")
	testkit.Need(t, noNode == nil && noLibrary == nil, "node, and 'npm ci' in examples/other-language")
}

func TestJavaScriptUnits(t *testing.T) {
	requireNode(t)
	out, err := exec.CommandContext(t.Context(), "node", "--test").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// event is a new leader that a member has reported.
type event struct {
	Name  string
	Epoch uint64
}

// line is a line of a member that may report a leader: in the log of the command, or on the output of main.mjs.
type line struct {
	Event, Name string // of main.mjs
	Msg, Leader string // of the command
	Epoch       uint64
}

// leader returns the leader that the line of the member reports; false if it reports none.
func (l line) leader(member string) (event, bool) {
	switch {
	case l.Event == "leader":
		return event{l.Name, l.Epoch}, true
	case l.Msg == "became leader":
		return event{member, l.Epoch}, true
	case l.Msg == "following leader":
		return event{l.Leader, l.Epoch}, true
	}
	return event{}, false
}

// process is a member in a process of its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	lines <-chan event
}

// start starts a member, and stops it when the test ends.
func start(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(program, args...)}
	p.cmd.Env = append(os.Environ(), mainEnv+"=1", "GORACE=atexit_sleep_ms=0")
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	stdin, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := make(chan event, 1000)
	p.lines = lines
	var readers sync.WaitGroup
	for _, output := range []io.Reader{stdout, stderr} {
		readers.Go(func() {
			for scanner := bufio.NewScanner(output); scanner.Scan(); {
				var l line
				if json.Unmarshal(scanner.Bytes(), &l) != nil {
					fmt.Fprintf(t.Output(), "%s: %s\n", name, scanner.Text())
				}
				if e, ok := l.leader(name); ok {
					lines <- e
				}
			}
		})
	}
	go func() {
		readers.Wait()
		close(lines)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		readers.Wait()
		_ = p.cmd.Wait()
	})
	return p
}

// requireLeader waits until the member reports the named leader, and returns the epoch.
func (p *process) requireLeader(t *testing.T, name string) uint64 {
	t.Helper()
	timer := time.NewTimer(hangTimeout)
	defer timer.Stop()
	for {
		select {
		case e, isOpen := <-p.lines:
			require.True(t, isOpen, "%s has ended", p.name)
			if e.Name == name {
				return e.Epoch
			}
		case <-timer.C:
			t.Fatalf("%s does not name the leader %s", p.name, name)
		}
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// requireStop stops the member gracefully.
func (p *process) requireStop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	timer := time.AfterFunc(hangTimeout, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.lines {
	}
	require.NoError(t, p.cmd.Wait(), "%s", p.name)
}

// freeAddresses returns addresses of the loopback at which no process listens.
func freeAddresses(t *testing.T, count int) (addresses []string) {
	t.Helper()
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // after all addresses are chosen: they must differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// cluster has two nodes in Go, and the member in JavaScript between them in rank: n1 is below it, n3 above.
type cluster struct {
	addresses []string // of n1, js and n3
	flags     []string // of all members
	folder    string   // of the data directories; empty: static members without a lease
}

func (c *cluster) arguments(number int) []string {
	arguments := append([]string{"--listen", c.addresses[number-1], "--priority", fmt.Sprint(number)}, c.flags...)
	switch {
	case c.folder == "":
		for _, address := range c.addresses {
			arguments = append(arguments, "--members", address)
		}
		return arguments
	case number == 3:
		arguments = append(arguments, "--bootstrap")
	default:
		arguments = append(arguments, "--join", c.addresses[2])
	}
	return append(arguments, "--data-dir", filepath.Join(c.folder, fmt.Sprint(number)))
}

func (c *cluster) startNode(t *testing.T, number int) *process {
	t.Helper()
	name := fmt.Sprintf("n%d", number)
	arguments := []string{"node", "--name", name, "--log", "json"}
	if c.folder == "" {
		arguments = append(arguments, "--lease=off")
	}
	return start(t, name, os.Args[0], append(arguments, c.arguments(number)...)...)
}

func (c *cluster) startJavaScript(t *testing.T) *process {
	t.Helper()
	return start(t, "js", "node", append([]string{"main.mjs", "--name", "js"}, c.arguments(2)...)...)
}

func TestJavaScriptMemberLosesWinsAndGivesWay(t *testing.T) {
	requireNode(t)
	secret := filepath.Join(t.TempDir(), "secret")
	makeSecret := exec.Command(os.Args[0], "secret", secret)
	makeSecret.Env = append(os.Environ(), mainEnv+"=1")
	require.NoError(t, makeSecret.Run())
	for _, tc := range []struct {
		name     string
		flags    []string
		hasLease bool
	}{
		{"list", nil, false},
		{"list with secret", []string{"--secret-file", secret}, false},
		{"lease", nil, true},
		{"lease with secret", []string{"--secret-file", secret}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cluster{addresses: freeAddresses(t, 3), flags: tc.flags}
			if tc.hasLease {
				c.folder = t.TempDir()
			}
			n3, n1, js := c.startNode(t, 3), c.startNode(t, 1), c.startJavaScript(t)
			n1.requireLeader(t, "n3")
			first := js.requireLeader(t, "n3") // js loses the election at its start

			n3.signal(t, syscall.SIGKILL)
			won := js.requireLeader(t, "js")
			require.Greater(t, won, first, "it wins in a new epoch")
			require.GreaterOrEqual(t, n1.requireLeader(t, "js"), won, "it is followed")

			n3 = c.startNode(t, 3)
			require.Greater(t, js.requireLeader(t, "n3"), won, "it gives way to the higher member")
			require.Greater(t, n1.requireLeader(t, "n3"), won)

			if tc.hasLease {
				js.signal(t, syscall.SIGKILL)
				js = c.startJavaScript(t)
				require.Greater(t, js.requireLeader(t, "n3"), won, "after a restart it is the same member")
				js.requireStop(t)
				return
			}
			n3.signal(t, syscall.SIGKILL)
			won = js.requireLeader(t, "js")
			n1.requireLeader(t, "js")
			js.requireStop(t)
			require.Greater(t, n1.requireLeader(t, "n1"), won, "its goodbye ends its leadership")
		})
	}
}
