//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// patience ends a test that hangs. It is far above the time that a slow machine needs.
const patience = 2 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// childEnv makes the test program run the command, without the second that a process under the race detector waits at
// its end.
var childEnv = []string{mainEnv + "=1", "GORACE=atexit_sleep_ms=0 halt_on_error=1"}

// process is the command in a process of its own, with a temporary folder of its own.
type process struct {
	*exec.Cmd
	temp           string
	stdout, stderr *lineBuffer
}

func command(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{temp: t.TempDir(), stdout: newLineBuffer(), stderr: newLineBuffer()}
	p.Cmd = exec.CommandContext(within(t), os.Args[0], args...)
	p.Env = append(append(os.Environ(), childEnv...), "TMPDIR="+p.temp)
	p.Stdout, p.Stderr = p.stdout, p.stderr
	return p
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := command(t, args...)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// status waits for the end of the process and returns its exit status.
func (p *process) status(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("elect %v: %v, it said %s", p.Args[1:], err, p.stderr.text())
	}
	return p.ProcessState.ExitCode()
}

func (p *process) requireClean(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.temp)
	require.NoError(t, err)
	require.Empty(t, entries, "left behind")
}

func requireGone(t *testing.T, nodes []runningNode) {
	t.Helper()
	for _, n := range nodes {
		require.ErrorIs(t, syscall.Kill(n.Pid, 0), syscall.ESRCH, "%s still runs", n.Name)
		c, err := net.Dial("tcp", n.Addr)
		if err == nil {
			c.Close()
		}
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "%s still listens", n.Name)
	}
}

func TestDemoMeasuresEachRound(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for _, tc := range []struct {
		signal string
		rounds int
		least  time.Duration // shortest possible failover
	}{
		{"kill", 2, 0},
		{"stop", 1, algo.LAN().Timeout - 2*algo.LAN().Heartbeat}, // detected by timeout only
		{"term", 1, 0},
	} {
		t.Run(tc.signal, func(t *testing.T) {
			t.Parallel()
			p := launch(t, "demo", "--json", "--rounds", strconv.Itoa(tc.rounds), "--nodes", "3", "--signal", tc.signal)
			require.Zero(t, p.status(t), p.stderr.text())
			rounds := strings.Split(strings.TrimSpace(p.stdout.text()), "\n")
			require.Len(t, rounds, tc.rounds)
			before := uint64(0)
			for _, line := range rounds {
				require.Equal(t, []string{"algorithm", "detect_ms", "elect_ms", "epoch_after", "epoch_before", "failover_ms",
					"messages", "new_leader", "nodes", "old_leader"}, keys(t, line))
				var r roundObject
				decodeStrictly(t, line, &r)
				require.Equal(t, "bully+lease", r.Algorithm)
				require.Equal(t, 3, r.Nodes)
				require.Equal(t, "n3", r.OldLeader, "the highest leads, also after it came back")
				require.Equal(t, "n2", r.NewLeader)
				require.Greater(t, r.EpochAfter, r.EpochBefore)
				require.GreaterOrEqual(t, r.EpochBefore, before)
				require.Greater(t, r.FailoverMS, ms(tc.least))
				require.Positive(t, r.DetectMS)
				require.InDelta(t, r.FailoverMS, r.DetectMS+r.ElectMS, 0.002)
				require.Positive(t, r.Messages["coordinator"])
				before = r.EpochAfter
			}
			p.requireClean(t)
		})
	}
}

func TestDemoPrintsLinesToPipe(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "demo", "--nodes", "3")
	require.Zero(t, p.status(t), p.stderr.text())
	said := p.stdout.text()
	for _, want := range []string{
		"NODE", "STATE", "LEADER", "EPOCH", "SENT", "All 3 follow n3", "n3, the leader, is killed (SIGKILL)",
		"All survivors follow n2 in epoch", " to suspect, ", " coordinator", "n3 is back and takes over in epoch", farewell,
		"by bully+lease (timing: lan)", "By default a failover takes up to 960 ms and an election",
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "\x1b", "a pipe is no terminal")
	p.requireClean(t)
}

func TestDemoOfTwoNodesRunsWithoutLease(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "demo", "--nodes", "2")
	require.Zero(t, p.status(t), p.stderr.text())
	require.Contains(t, p.stdout.text(), "2 processes on this machine elect by bully (timing: lan)")
	require.Contains(t, p.stdout.text(), "All survivors follow n1 in epoch")
	require.Regexp(t, `By default a failover takes up to 960 ms and an election: .* so these two ran with --lease=off\.\n$`, p.stdout.text())
	p.requireClean(t)
}

func TestDemoKeepsClusterUntilInterrupt(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := launch(t, "demo", "--keep", "--json", "--nodes", "3")
	line := p.stdout.line(t)
	require.Equal(t, []string{"nodes"}, keys(t, line))
	var o runningCluster
	decodeStrictly(t, line, &o)
	require.Len(t, o.Nodes, 3)
	for i, n := range o.Nodes {
		require.Equal(t, []string{"n1", "n2", "n3"}[i], n.Name)
		require.NoError(t, syscall.Kill(n.Pid, 0))
	}

	stdout := statusOf(t, o.Nodes[0].Addr, "--json")
	require.Equal(t, []string{"algorithm", "cluster", "committed", "config_term", "config_version", "counters", "election", "election_at", "epoch", "leader", "leader_addr", "leader_name", "lease", "members", "node", "pending_contacts"}, keys(t, stdout))
	var s statusObject
	decodeStrictly(t, stdout, &s)
	require.Len(t, s.Members, 3)
	stdout = statusOf(t, o.Nodes[0].Addr)
	require.Regexp(t, `(?m)^leader +n3 in epoch [0-9]+$`, stdout)
	require.Regexp(t, `(?m)^asked +n1$`, stdout)
	require.Regexp(t, `(?m)^n3 +leader +alive `, stdout)
	require.Regexp(t, `(?m)^n1 +follower +self `, stdout)
	require.Regexp(t, `(?m)^sent\.heartbeat +[0-9]+$`, stdout)

	// The reader may kill a node by hand: the demonstration continues.
	require.NoError(t, syscall.Kill(o.Nodes[2].Pid, syscall.SIGKILL))
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Zero(t, p.status(t), p.stderr.text())
	requireGone(t, o.Nodes)
	p.requireClean(t)
}

func TestDemoCleansUpAfterSignal(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	catchSIGHUP(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := launch(t, "demo", "--nodes", "3", "--rounds", "1000")
			for !strings.Contains(p.stdout.line(t), "is killed") {
			}
			require.NoError(t, p.Process.Signal(s))
			require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
			p.requireClean(t)
		})
	}
}

func TestDemoCleansUpAfterClosedPipe(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := command(t, "demo", "--nodes", "3")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	p.Stdout = w
	require.NoError(t, p.Start())
	require.NoError(t, w.Close())
	require.Zero(t, p.status(t), p.stderr.text())
	p.requireClean(t)
}

func TestDemoCleansUpAfterFailedStart(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	p := newProgram(builtins.registry)
	p.selfCommand = func() ([]string, error) { return []string{"sh", "-c", "echo no such luck >&2; exit 3"}, nil }
	var stdout, stderr bytes.Buffer
	require.Equal(t, statusFailed, p.run(t.Context(), []string{"demo", "--json"}, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "start n1: exit status 3; it said:\nno such luck")
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, entries, "left behind")
}

// startNode starts elect node and waits until it leads.
func startNode(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, append([]string{"node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--log", "json", "--lease=off"}, args...)...)
	for {
		var entry struct{ Msg string }
		require.NoError(t, json.Unmarshal([]byte(p.stderr.line(t)), &entry), "a log of JSON")
		if entry.Msg == "became leader" {
			return p
		}
	}
}

func TestStoppedNodeExitsWithStatusZero(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := startNode(t, "--data-dir", filepath.Join(t.TempDir(), "data"))
		require.NoError(t, p.Process.Signal(s))
		require.Zero(t, p.status(t), p.stderr.text()) // tests of cluster require less than a second
	}
}

func TestNodeWarnsWithoutDataDirectory(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := startNode(t)
	require.Contains(t, p.stderr.text(), "no data directory")
}

func TestSecondProcessOnDataDirectoryFails(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	startNode(t, "--data-dir", data)
	second := launch(t, "node", "--listen", "127.0.0.1:0", "--name", "b", "--data-dir", data)
	require.Equal(t, statusFailed, second.status(t))
	require.Contains(t, second.stderr.text(), "in use by another process: one data directory serves one node")
	require.Contains(t, second.stderr.text(), data)
}

func TestNodeReportsUnusableDataDirectory(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	data := filepath.Join(file, "data")
	p := launch(t, "node", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--data-dir", data)
	require.Equal(t, statusFailed, p.status(t))
	require.Contains(t, p.stderr.text(), data)
	require.Contains(t, p.stderr.text(), "not a directory")
}

func TestNodeReportsAddressInUse(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := launch(t, "node", "--listen", l.Addr().String(), "--members", l.Addr().String(), "--name", "a", "--lease=off")
	require.Equal(t, statusFailed, p.status(t))
	require.Contains(t, p.stderr.text(), "listen on "+l.Addr().String())
}

// statusOf returns the output of elect status. It retries while the node is too busy to answer.
func statusOf(t *testing.T, args ...string) string {
	t.Helper()
	for began := time.Now(); ; {
		status, stdout, stderr := elect(append([]string{"status", "--timeout", patience.String()}, args...)...)
		if status == 0 {
			return stdout
		}
		require.Less(t, time.Since(began), patience, stderr)
	}
}

// runCluster starts real nodes and waits until they agree.
func runCluster(t *testing.T, nodes int, events func(string, trace.Event), args ...string) *proccluster.Cluster {
	t.Helper()
	f, err := proccluster.New(within(t), proccluster.Config{
		Command: []string{os.Args[0]}, Env: childEnv, Nodes: nodes, Hosts: proccluster.Loopback(nodes), Args: args, OnEvent: events,
		StartTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	_, err = f.WaitQuiet(within(t))
	require.NoError(t, err)
	return f
}

func TestEvidenceDetectsCrashBeforeTimeout(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	f := runCluster(t, 3, nil, "--preset", "wan", "--lease=off")
	m, err := f.Failover(within(t), proccluster.Kill)
	require.NoError(t, err)
	require.Less(t, m.Detect, algo.WAN().Timeout-algo.WAN().Heartbeat, "sooner than silence could tell")
}

func TestTimeoutDetectsCrashWithoutEvidence(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	f := runCluster(t, 3, nil, "--preset", "local", "--lease=off", "--timeout-only")
	m, err := f.Failover(within(t), proccluster.Kill)
	require.NoError(t, err)
	require.Greater(t, m.Detect, algo.Local().Timeout-2*algo.Local().Heartbeat)
}

func TestStaticMembersElectLeader(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	f, err := proccluster.New(within(t), proccluster.Config{
		Command: []string{os.Args[0]}, Env: childEnv, Nodes: 3, StartTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	leader, err := f.WaitQuiet(within(t))
	require.NoError(t, err)
	require.Equal(t, "n3", leader.Name)
	m, err := f.Failover(within(t), proccluster.Kill)
	require.NoError(t, err)
	require.Equal(t, "n2", m.NewLeader)
	require.NotEmpty(t, m.Saves)
	require.Positive(t, m.CriticalSaves)
}

// losing starts a measurement of the time that the bounds do not include: the processor time of the nodes, which is
// long only under the race detector, and the time for which their threads wait for a processor.
func losing(f *proccluster.Cluster) (lost func() time.Duration) {
	of := func(s proccluster.State) time.Duration {
		ran, waited := testkit.Scheduled(s.Pid)
		return ran + waited
	}
	before := make(map[int]time.Duration) // by process
	for _, s := range f.States() {
		before[s.Pid] = of(s)
	}
	return func() (all time.Duration) {
		for _, s := range f.States() {
			all += max(0, of(s)-before[s.Pid])
		}
		return all
	}
}

// requireCalm repeats watch until it reports no change. A change fails the test, unless the machine was so busy that a
// false suspicion is possible.
func requireCalm(t *testing.T, f *proccluster.Cluster, watch func() (changed string)) {
	t.Helper()
	for began := time.Now(); ; {
		lost := losing(f)
		changed := watch()
		if changed == "" {
			return
		}
		changed += fmt.Sprintf(", with %v lost to a busy machine", lost())
		if lost() < algo.LAN().Timeout-2*algo.LAN().Heartbeat || time.Since(began) > 4*patience {
			t.Fatal(changed)
		}
		t.Log("again:", changed)
	}
}

// After a pause of the leader, all nodes follow one leader within the bound. No further election follows.
func TestNodesAgreeWithoutElectionsAfterLeaderResumes(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	var agreedAt atomic.Int64
	agreedAt.Store(math.MaxInt64)
	elections := make(chan string, 1)
	f := runCluster(t, 3, func(node string, e trace.Event) {
		calls := e.Kind == trace.Announce || e.Kind == trace.Send && e.Message.Kind() == "election"
		if calls && int64(e.At) > agreedAt.Load() {
			select {
			case elections <- node + " " + string(e.Kind):
			default: // one is enough to fail
			}
		}
	}, "--lease=off")
	bound := algo.LAN().RecoveryBound()

	old, err := f.WaitLeader(within(t))
	require.NoError(t, err)
	m, err := f.Failover(within(t), proccluster.Stop)
	require.NoError(t, err)
	require.NotEqual(t, old.Name, m.NewLeader)
	lost := losing(f)
	r, err := f.Recover(within(t), old.Name, false)
	require.NoError(t, err)
	require.Less(t, r.Duration, bound+lost())
	require.Equal(t, old.Name, r.Leader, "the highest takes over")

	requireCalm(t, f, func() string {
		_, err := f.WaitQuiet(within(t))
		require.NoError(t, err)
		agreedAt.Store(proccluster.Now())
		defer func() { // discards an election that came later
			agreedAt.Store(math.MaxInt64)
			select {
			case <-elections:
			default:
			}
		}()
		select {
		case e := <-elections:
			return "an election after all had agreed: " + e
		case <-time.After(bound):
			return ""
		}
	})
}

// lineBuffer takes the output of a process and hands it out by line.
type lineBuffer struct {
	lines chan string
	all   chan []byte // holds the one buffer
	rest  []byte
}

func newLineBuffer() *lineBuffer {
	b := &lineBuffer{lines: make(chan string, 1<<16), all: make(chan []byte, 1)}
	b.all <- nil
	return b
}

func (b *lineBuffer) Write(text []byte) (int, error) {
	b.all <- append(<-b.all, text...)
	b.rest = append(b.rest, text...)
	for {
		line, rest, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		b.lines <- string(line)
		b.rest = rest
	}
}

// line waits for the next line.
func (b *lineBuffer) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-b.lines:
		return line
	case <-time.After(patience):
		t.Fatalf("no more lines after %s", b.text())
		return ""
	}
}

func (b *lineBuffer) text() string {
	all := <-b.all
	defer func() { b.all <- all }()
	return string(all)
}
