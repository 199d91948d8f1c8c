package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/watchdog"
)

func init() { roles["worker"] = runWorker }

// runWorker is a command that ignores SIGTERM. It has a descendant in another session, an orphan, which ignores SIGTERM
// too. Both append a record every 2 ms.
func runWorker(args []string) {
	signal.Ignore(syscall.SIGTERM)
	out, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	next := map[string]string{"main": "fork", "fork": "child"}[args[1]]
	if next != "" {
		cmd := exec.Command(os.Args[0], "worker", args[0], next)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	if args[1] == "fork" {
		return
	}
	for range time.Tick(2 * time.Millisecond) {
		fmt.Fprintln(out, watchdog.Now().Nanoseconds(), os.Getenv("ELECT_RUN_TOKEN"), os.Getenv("ELECT_RUN_NODE"), args[1], os.Getpid(), os.Getppid())
	}
}

// record is one line of a worker: the time, the token, and the process.
type record struct {
	at          int64
	token       uint64
	node, what  string
	pid, parent int
}

func recordsIn(file string) (all []record) {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		var s record
		if _, err := fmt.Sscan(line, &s.at, &s.token, &s.node, &s.what, &s.pid, &s.parent); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// runners are up to three members that run a command.
type runners struct {
	*testing.T
	dir   string
	lab   *netlab.Lab // network that can be partitioned; nil: the loopback
	addrs []string    // of all three members
	// proxies are in front of the members, at addrs; nil: none.
	proxies *proxies
	args    []string
	nodes   map[string]*process
	// initial are the addresses of the initial members. Any other member joins them.
	initial []string
}

func newRunners(t *testing.T, lab *netlab.Lab, names []string, args ...string) *runners {
	r := &runners{T: t, dir: t.TempDir(), lab: lab, args: args, nodes: make(map[string]*process)}
	for host := range 3 {
		if lab != nil {
			r.addrs = append(r.addrs, net.JoinHostPort(lab.Addr(host), "7400"))
		} else {
			r.addrs = append(r.addrs, keptFree(t, r.addrs))
		}
	}
	r.startAll(names)
	return r
}

func (r *runners) startAll(names []string) {
	for _, name := range names {
		r.initial = append(r.initial, r.addrs[host(name)])
	}
	for _, name := range names {
		r.start(name)
	}
}

// host returns the host of a member.
func host(name string) int { return int(name[1] - '0') }

func (r *runners) start(name string) {
	way := "--join"
	if slices.Contains(r.initial, r.addrs[host(name)]) {
		way = "--members"
	}
	listen := []string{"--listen", r.addrs[host(name)]}
	if r.proxies != nil {
		listen = []string{"--listen", r.proxies.all[r.addrs[host(name)]].behind, "--advertise", r.addrs[host(name)]}
	}
	words := slices.Concat([]string{os.Args[0], "run", "--name", name}, listen, []string{
		way, strings.Join(r.initial, ","), "--data-dir", filepath.Join(r.dir, name), "--priority", name[1:]}, r.args)
	if r.lab != nil {
		words = append(r.lab.Command(host(name)), words...)
	}
	p := &process{stdout: newLineBuffer(), stderr: newLineBuffer()}
	p.Cmd = exec.CommandContext(r.Context(), words[0], words[1:]...)
	p.Env = append(append(os.Environ(), childEnv...), "ELECT_INSECURE=true") // also in a network of its own
	p.Stdout, p.Stderr = p.stdout, p.stderr
	require.NoError(r, p.Start())
	r.nodes[name] = p
	r.Cleanup(func() {
		if r.Failed() {
			r.Logf("%s says:\n%s", name, p.stderr.text())
		}
		_ = p.Process.Signal(syscall.SIGCONT)
		_ = p.Process.Kill()
		_ = p.Wait() // returns after the end of the watchdog
	})
}

// works waits for a record with a token above a given one, and returns the first record of the highest token.
func (r *runners) works(file string, above uint64) (first record) {
	r.Helper()
	require.Eventually(r, func() bool {
		for _, s := range recordsIn(file) {
			if s.token > above && s.what == "main" {
				above, first = s.token, s
			}
		}
		return first.token > 0
	}, patience, 10*time.Millisecond, "no command works after token %d", above)
	return first
}

// requireOneAtATime requires that the tokens never decrease in the order of time.
func (r *runners) requireOneAtATime(file string) {
	r.Helper()
	all := recordsIn(file)
	slices.SortStableFunc(all, func(a, b record) int { return int(a.at - b.at) })
	for i := 1; i < len(all); i++ {
		require.GreaterOrEqual(r, all[i].token, all[i-1].token, "two at once: %+v, and then %+v", all[i-1], all[i])
	}
}

// At most one command works at a time, whichever process is killed or paused. After each fault another command starts.
func TestAtMostOneCommandRunsDespiteFaults(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "records")
	r := newRunners(t, nil, []string{"n0", "n1", "n2"}, "--grace", "200ms", "--restart", "always", "--", os.Args[0], "worker", file, "main")
	restart := func(w record, p *process) { // a restart resets the standby, which doubles with each fault
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		require.Zero(t, p.status(t))
		r.start(w.node)
	}
	faults := []struct {
		name string
		do   func(w record, p *process)
		mend func(w record, p *process)
	}{
		{"the supervisor is killed", func(w record, p *process) {
			_ = p.Process.Kill()
		}, func(w record, p *process) {
			_ = p.Wait()
			r.start(w.node)
		}},
		{"the supervisor is stopped", func(_ record, p *process) {
			_ = p.Process.Signal(syscall.SIGSTOP)
		}, func(_ record, p *process) {
			_ = p.Process.Signal(syscall.SIGCONT)
		}},
		{"the watchdog is killed", func(w record, _ *process) { _ = syscall.Kill(w.parent, syscall.SIGKILL) }, restart},
		{"the watchdog is stopped", func(w record, _ *process) { _ = syscall.Kill(w.parent, syscall.SIGSTOP) }, restart},
		{"the command is killed", func(w record, _ *process) { _ = syscall.Kill(w.pid, syscall.SIGKILL) }, restart},
		{"the command is stopped, and the supervisor gets SIGTERM", func(w record, p *process) {
			_ = syscall.Kill(w.pid, syscall.SIGSTOP)
			_ = p.Process.Signal(syscall.SIGTERM)
		}, func(w record, p *process) {
			require.Zero(t, p.status(t))
			r.start(w.node)
		}},
	}
	n, began := 0, time.Now()
	for ; n < len(faults) || testkit.Long() && time.Since(began) < 2*time.Minute; n++ {
		f, w := faults[n%len(faults)], r.works(file, 0)
		p := r.nodes[w.node]
		f.do(w, p)
		next := r.works(file, w.token)
		t.Logf("%s, which worked with token %d: %s works with %d after %v", f.name, w.token, next.node, next.token,
			time.Duration(next.at-lastOf(recordsIn(file), w.token)))
		if f.mend != nil {
			f.mend(w, p)
		}
	}
	r.requireOneAtATime(file)
}

// The command of a partitioned member ends before another one starts.
func TestCommandEndsOnPartitionedMember(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	lab, err := netlab.New(3)
	if errors.Is(err, netlab.ErrUnavailable) {
		testkit.Need(t, false, err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	file := filepath.Join(t.TempDir(), "records")
	r := newRunners(t, lab, []string{"n0", "n1", "n2"}, "--grace", "10s", "--", os.Args[0], "worker", file, "main")
	w := r.works(file, 0)
	others := slices.DeleteFunc([]int{0, 1, 2}, func(h int) bool { return h == host(w.node) })
	require.NoError(t, lab.Split([]int{host(w.node)}, others))
	next := r.works(file, w.token)
	t.Logf("%s works with %d after %v", next.node, next.token, time.Duration(next.at-lastOf(recordsIn(file), w.token)))
	require.NoError(t, lab.Heal())
	r.requireOneAtATime(file)
}

// lastOf returns the time of the last record with the given token.
func lastOf(all []record, token uint64) (last int64) {
	for _, s := range all {
		if s.token == token {
			last = max(last, s.at)
		}
	}
	return last
}

// alone returns the arguments of a member without peers that runs a command.
func alone(t *testing.T, args ...string) []string {
	return append([]string{"run", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--name", "a", "--data-dir", filepath.Join(t.TempDir(), "data")}, args...)
}

func TestRunExitsWithStatusOfCommand(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for script, status := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		p := launch(t, alone(t, "--", "sh", "-c", script)...)
		require.Equal(t, status, p.status(t), p.stderr.text())
	}
}

// The watchdog reports a command that cannot be started, in the log format of elect run.
func TestWatchdogHasFormOfLog(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "no-program")
	require.NoError(t, os.WriteFile(file, []byte("no program"), 0o700))
	p := launch(t, alone(t, "--log", "json", "--", file)...)
	require.Equal(t, 127, p.status(t), p.stderr.text())
	var failed []string
	for text := range strings.Lines(p.stderr.text()) {
		var line struct{ Msg, Error string }
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		if line.Msg == "command start failed" {
			failed = append(failed, line.Error)
		}
	}
	require.Len(t, failed, 1, p.stderr.text())
	require.NotEmpty(t, failed[0])
}

func TestCommandReceivesTokenInEnvironment(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := command(t, alone(t, "--", "sh", "-c", "read line; echo $line $ELECT_RUN_NODE $ELECT_RUN_EPOCH $ELECT_RUN_TOKEN $ELECT_RUN_CLUSTER")...)
	p.Stdin = strings.NewReader("hello\n")
	require.NoError(t, p.Start())
	require.Zero(t, p.status(t), p.stderr.text())
	said := strings.Fields(p.stdout.text())
	require.Len(t, said, 5, p.stdout.text())
	require.Equal(t, []string{"hello", "a"}, said[:2])
	require.Regexp(t, `^[1-9][0-9]*$`, said[2]) // 1, unless the lease expired before the command began
	require.Equal(t, said[2], said[3], "the token is the epoch")
	require.Regexp(t, `^[0-9a-f-]{36}$`, said[4])
}

// A nested elect must not inherit the settings of the outer one.
func TestElectInCommandOfRunHasOwnSettings(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, alone(t, "--cluster", "outer", "--", os.Args[0], "config", "show", "--json", "--listen", "127.0.0.1:0", "--name", "b", "--lease=off")...)
	require.Zero(t, p.status(t), p.stderr.text())
	var o showObject
	decodeStrictly(t, p.stdout.text(), &o)
	require.Empty(t, o.Unknown)
	for _, f := range o.Fields {
		require.NotEqual(t, diag.Environment, f.Source, "%s is %v", f.Field, f.Value)
	}
}

func TestRunRestartsFailedCommand(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for restart, runs := range map[string]string{"never": "x\n", "on-failure": "x\nx\n"} {
		file := filepath.Join(t.TempDir(), "runs")
		p := launch(t, alone(t, "--restart", restart, "--", "sh", "-c", "echo x >> "+file+`; test $(wc -l < `+file+`) -ge 2`)...)
		if restart == "never" {
			require.Equal(t, 1, p.status(t), p.stderr.text())
		} else {
			require.Zero(t, p.status(t), p.stderr.text())
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, runs, string(text))
	}
}

func TestSignalStopsCommandBeforeElect(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	catchSIGHUP(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		// The lease of wan is long enough for a busy machine.
		p := launch(t, alone(t, "--preset", "wan", "--restart", "always", "--", "sh", "-c", `trap "echo told; exit 3" TERM; echo works; while :; do sleep 0.02; done`)...)
		require.Equal(t, "works", p.stdout.line(t))
		require.NoError(t, p.Process.Signal(s))
		require.Zero(t, p.status(t), p.stderr.text())
		require.Equal(t, "told", p.stdout.line(t))
	}
}

// A second signal ends elect at once, unless it directly follows the first. The watchdog then ends the command.
func TestSecondSignalEndsElectImmediately(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := launch(t, alone(t, "--grace", "1h", "--", "sh", "-c", `trap "echo told" TERM; echo works; while :; do sleep 0.02; done`)...)
	require.Equal(t, "works", p.stdout.line(t))
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "told", p.stdout.line(t))
	require.Equal(t, statusFailed, p.signalUntilExit(syscall.SIGTERM), p.stderr.text()) // the command has ended too, as its output is closed
}

func TestUnreadLogDoesNotStopRun(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	for name, stderr := range unreadPipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The lease of wan is long enough for a busy machine.
			p := launchUnread(t, stderr, alone(t, "--preset", "wan", "--", "sh", "-c", `exec 2>/dev/null; trap "echo told; exit 3" TERM; echo works; while :; do sleep 0.02; done`)...)
			require.Equal(t, "works", p.stdout.line(t))
			require.NoError(t, p.Process.Signal(syscall.SIGTERM))
			require.Zero(t, p.status(t))
			require.Equal(t, "told", p.stdout.line(t))
		})
	}
}

func TestCommandDoesNotInheritIgnoredSIGPIPE(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launchUnread(t, brokenPipe, alone(t, "--", "sh", "-c", "echo a line >&2")...)
	require.Equal(t, 128+int(syscall.SIGPIPE), p.status(t))
}

func TestRunWarnsWithoutLease(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	const warning = `msg="lease is off" effect="without a lease two nodes may lead at the same time`
	p := launch(t, alone(t, "--lease=false", "--", "true")...)
	require.Zero(t, p.status(t), p.stderr.text())
	require.Contains(t, p.stderr.text(), warning)
	require.NotContains(t, p.stderr.text(), "bully+lease")
	p = launch(t, alone(t, "--", "true")...)
	require.Zero(t, p.status(t), p.stderr.text())
	require.NotContains(t, p.stderr.text(), warning)
	require.Contains(t, p.stderr.text(), "bully+lease")
}

// One of the members that start within the time of --once runs the command, and all members end. A higher member that
// starts later does not take over.
func TestOnceRunsCommandOnOneMember(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	file, began := filepath.Join(t.TempDir(), "runs"), time.Now()
	r := newRunners(t, nil, []string{"n0", "n1"}, "--once=8s", "--lease-preempt", "--", "sh", "-c",
		"echo -n $ELECT_RUN_NODE >> "+file+"; until test -e "+file+".go; do sleep 0.02; done; exit 5")
	var leader string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(file)
		leader = string(text)
		return leader != ""
	}, patience, time.Millisecond)
	r.start("n2")
	for started, met := time.Now(), false; !met || time.Since(started) < algo.LAN().RecoveryBound(); {
		s, err := client.Client{}.Status(within(t), r.addrs[2])
		for _, m := range s.Members {
			if err == nil && s.Leader != nil && m.ID == *s.Leader {
				require.Equal(t, leader, m.Name)
				met = true
			}
		}
		require.Less(t, time.Since(started), patience)
	}
	require.NoError(t, os.WriteFile(file+".go", nil, 0o600))
	for name, p := range r.nodes {
		require.Equal(t, map[string]int{leader: 5}[name], p.status(t), p.stderr.text())
	}
	require.Greater(t, time.Since(began), 8*time.Second, "a late member must see the leader")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, leader, string(text))
}

func TestOnceFailsWithoutQuorum(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	addr := keptFree(t, nil)
	other := keptFree(t, []string{addr})
	p := launch(t, "run", "--once=500ms", "--listen", addr, "--members", addr+","+other, "--data-dir", filepath.Join(t.TempDir(), "data"), "--", "true")
	require.Equal(t, statusFailed, p.status(t), p.stderr.text())
	require.Contains(t, p.stderr.text(), "no member has led for 500ms")
}

func TestUsageOfRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"run"}, "run wants -- and a command"},
		{[]string{"run", "true"}, "run wants -- and a command"},
		{[]string{"run", "--"}, "run wants -- and a command"},
		{[]string{"run", "--", "no-such-command"}, "no-such-command"},
		{[]string{"run", "--restart", "sometimes", "--grace", "-1s", "--", "true"}, `--restart is "sometimes", want never, on-failure or always`},
		{[]string{"run", "--restart", "sometimes", "--grace", "-1s", "--", "true"}, `--grace is -1s, want not below 0`},
		{[]string{"run", "--once", "--restart", "always", "--", "true"}, "--once is 1m0s, want a time, and --restart never"},
		{[]string{"run", "--once", "--lease=false", "--", "true"}, "--once wants a lease"},
		{[]string{"run", "--lease-trust-evidence", "--lease-trusted-network", "--", "true"}, "wants lease.trust_evidence to be false, on all members"},
		{[]string{"run", "--listen", "127.0.0.1:0", "--", "true"}, "data"},
	} {
		status, _, stderr := elect(tc.args...)
		require.Equal(t, statusUsage, status, stderr)
		require.Contains(t, stderr, tc.want)
	}
}

// The trace has the leadership in which the command runs, and is complete when elect has ended.
func TestRunWritesTrace(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	p := launch(t, alone(t, "--trace", file, "--", "sh", "-c", "echo $ELECT_RUN_EPOCH")...)
	require.Zero(t, p.status(t), p.stderr.text())
	epochs := make(map[string]bool)
	for _, e := range traced(t, file) {
		if proccluster.IsOwnLeadership(e) {
			epochs[fmt.Sprint(uint64(e.Leader.Epoch))] = true
		}
	}
	require.True(t, epochs[strings.TrimSpace(p.stdout.text())], "%v, and the command ran in %s", epochs, p.stdout.text())

	p = launch(t, alone(t, "--trace", filepath.Join(file, "none"), "--", "true")...)
	require.Equal(t, statusFailed, p.status(t))
	require.Contains(t, p.stderr.text(), "--trace: open ")
}
