//go:build linux || darwin || freebsd

package main

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
)

// The tests run themselves again, as the command.
const mainVariable = "TEST_MAIN_OF_ELECT_ETCD"

// patience is the time within which each expected event has happened, however slow the machine is.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is the command in a process of its own.
type process struct {
	*exec.Cmd
	t      *testing.T
	lines  chan string // of its standard output; closed in the end
	mu     sync.Mutex
	stderr bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// launch starts the command in a process.
func launch(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), t: t, lines: make(chan string, 1000)}
	p.Env = append(append(os.Environ(), mainVariable+"=yes"), environment...)
	p.Stderr = p
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p.Stdout = w
	require.NoError(t, p.Start())
	require.NoError(t, w.Close())
	go func() {
		defer close(p.lines)
		defer r.Close()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v says:\n%s", args, p.log())
		}
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait() // its watchdog ends the command
		}
	})
	return p
}

// line returns the next line of its standard output; io.EOF after the last one.
func (p *process) line() (string, error) {
	p.t.Helper()
	select {
	case line, isOpen := <-p.lines:
		if !isOpen {
			return "", io.EOF
		}
		return line, nil
	case <-time.After(patience):
		require.Fail(p.t, "no line", p.log())
		return "", nil
	}
}

// says requires that the next line is this one.
func (p *process) says(want string) {
	p.t.Helper()
	line, err := p.line()
	require.NoError(p.t, err, p.log())
	require.Equal(p.t, want, line)
}

// status waits for the end and returns the exit status.
func (p *process) status() int {
	p.t.Helper()
	kill := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer kill.Stop()
	err := p.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(p.t, err)
	}
	return p.ProcessState.ExitCode()
}

// operator returns a client that is not a contender.
func operator(t *testing.T, s *etcdtest.Servers) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// address returns --elector for a prefix.
func address(endpoints []string, prefix string) string {
	return "etcd://" + strings.Join(endpoints, ",") + prefix
}

// The flags of TLS, or the variables of etcdctl, reach servers that demand a certificate. The command has the same
// environment as with elect run.
func TestRunOverTLS(t *testing.T) {
	s := etcdtest.StartTLS(t)
	command := []string{"--name", "a", "--", "sh", "-c", "read line; echo $line $ELECT_RUN_NODE $ELECT_RUN_TOKEN $ELECT_RUN_EPOCH $ELECT_RUN_CLUSTER; exit 7"}
	for name, with := range map[string]struct{ environment, flags []string }{
		"flags":     {nil, []string{"--cacert", s.TLS.TrustedCAFile, "--cert", s.TLS.CertFile, "--key", s.TLS.KeyFile}},
		"variables": {[]string{"ETCDCTL_CACERT=" + s.TLS.TrustedCAFile, "ETCDCTL_CERT=" + s.TLS.CertFile, "ETCDCTL_KEY=" + s.TLS.KeyFile}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"run", "--elector", address(s.Endpoints(), "/tls/"+name)}, with.flags...)
			p := launch(t, with.environment, append(args, command...)...)
			line, err := p.line()
			require.NoError(t, err, p.log())
			words := strings.Fields(line)
			require.Len(t, words, 4, "standard input has ended: %q", line)
			require.Equal(t, "a", words[0])
			require.Regexp(t, `^[1-9][0-9]*$`, words[1])
			require.Equal(t, words[1], words[2], "the epoch is the token")
			require.Regexp(t, `^[0-9a-f-]{36}$`, words[3])
			require.Equal(t, 7, p.status())
		})
	}
	t.Run("unknown CA", func(t *testing.T) {
		other, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1)
		require.NoError(t, err)
		p := launch(t, nil, "watch", "--ttl", "1", "--elector", address(s.Endpoints(), "/tls/none"), "--cacert", other.CertFile)
		line, err := p.line()
		require.NoError(t, err, p.log())
		require.Contains(t, line, "cut off: etcd: read the leader from 127.0.0.1:")
		require.Contains(t, line, "certificate")
	})
	t.Run("no certificate", func(t *testing.T) {
		p := launch(t, nil, "watch", "--ttl", "1", "--json", "--elector", address(s.Endpoints(), "/tls/none"), "--cacert", s.TLS.TrustedCAFile)
		line, err := p.line()
		require.NoError(t, err, p.log())
		require.Contains(t, line, `"leader":null,"error":"etcd: read the leader from 127.0.0.1:`)
	})
}

// tick is a command that prints its token and the time again and again. It ends only by SIGKILL.
const tick = `trap "" TERM; while :; do echo $ELECT_RUN_TOKEN $(date +%s%N); done >> "$0"`

// tokens returns the tokens in a file of ticks in the order of their first line, and requires that no two of them
// worked at the same time.
func tokens(t *testing.T, file string) (order []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	last := int64(0)
	for line := range strings.Lines(string(text)) {
		var token string
		var at int64
		if _, err := fmt.Sscan(line, &token, &at); err != nil {
			continue // it was killed while it wrote
		}
		if len(order) == 0 || order[len(order)-1] != token {
			require.NotContains(t, order, token, "the command of token %s works after that of a later token", token)
			order = append(order, token)
		}
		require.GreaterOrEqual(t, at, last, "two at once")
		last = at
	}
	return order
}

// The command ends before the next one begins, whether its supervisor is killed, stopped or cut off from the servers.
func TestOneCommandAtATime(t *testing.T) {
	s := etcdtest.Start(t)
	for name, fault := range map[string]func(p *process, link *etcdtest.Link){
		"killed":     func(p *process, _ *etcdtest.Link) { _ = p.Process.Kill() },
		"stopped":    func(p *process, _ *etcdtest.Link) { _ = p.Process.Signal(syscall.SIGSTOP) },
		"cut off":    func(_ *process, link *etcdtest.Link) { link.Cut() },
		"terminated": func(p *process, _ *etcdtest.Link) { _ = p.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			file, link, ttl := t.TempDir()+"/ticks", s.Connect(t), "5"
			if name == "killed" && runtime.GOOS == "linux" {
				ttl = "3600" // the watchdog gives the leadership up: no contender waits for the lease
			}
			prefix := "/at-a-time/" + strings.ReplaceAll(name, " ", "-")
			start := func(name string, endpoints []string) *process {
				return launch(t, nil, "run", "--elector", address(endpoints, prefix), "--name", name, "--ttl", ttl, "--grace", "100ms", "--", "sh", "-c", tick, file)
			}
			awaitTokens := func(n int) {
				require.Eventually(t, func() bool {
					_, err := os.Stat(file)
					return err == nil && len(tokens(t, file)) >= n
				}, patience, 20*time.Millisecond)
			}
			a := start("a", link.Endpoints())
			awaitTokens(1)
			b := start("b", s.Endpoints())
			require.Eventually(t, func() bool { return strings.Contains(b.log(), "leader=a") }, patience, 20*time.Millisecond)
			fault(a, link)
			awaitTokens(2)
			_ = a.Process.Signal(syscall.SIGCONT)
			if name == "terminated" {
				require.Zero(t, a.status(), "a signal to stop is no failure")
			}
			require.NoError(t, b.Process.Signal(syscall.SIGTERM))
			require.Zero(t, b.status())
			require.GreaterOrEqual(t, len(tokens(t, file)), 2)
		})
	}
}

// One of the contenders that start within the time runs the command, and all end.
func TestOnce(t *testing.T) {
	s := etcdtest.Start(t)
	file := t.TempDir() + "/runs"
	var all []*process
	for _, name := range []string{"a", "b"} {
		all = append(all, launch(t, nil, "run", "--elector", address(s.Endpoints(), "/once"), "--name", name, "--once=10s", "--",
			"sh", "-c", `echo $ELECT_RUN_NODE >> "$0"`, file))
	}
	for _, p := range all {
		require.Zero(t, p.status(), p.log())
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `^[ab]\n$`, string(text))
}

// Standard output has an object for each change, and the shell command its variables.
func TestWatch(t *testing.T) {
	s := etcdtest.Start(t)
	watch := launch(t, nil, "watch", "--elector", address(s.Endpoints(), "/watch"), "--json", "--exec", `echo "$ELECT_WATCH_LEADER $ELECT_WATCH_TOKEN $ELECT_WATCH_EPOCH"`)
	next := func() (c struct {
		Time        time.Time
		Leader      *string
		LeaderMeta  map[string]string `json:"leader_meta"`
		Token       uint64
		Scope       string
		Error       string
		Environment string `json:"-"`
	}) {
		t.Helper()
		line, err := watch.line()
		require.NoError(t, err, watch.log())
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&c), line)
		c.Environment, err = watch.line()
		require.NoError(t, err)
		return c
	}
	vacant := next()
	require.Nil(t, vacant.Leader)
	require.Equal(t, "  ", vacant.Environment)
	require.Empty(t, vacant.Error)

	run := launch(t, nil, "run", "--elector", address(s.Endpoints(), "/watch"), "--name", "a", "--meta", "http=10.0.0.1:80", "--", "sh", "-c", "echo works; sleep 1000")
	run.says("works")
	led := next()
	require.Equal(t, "a", *led.Leader)
	require.Equal(t, map[string]string{"http": "10.0.0.1:80"}, led.LeaderMeta)
	require.Positive(t, led.Token)
	require.Regexp(t, `^[0-9a-f-]{36}$`, led.Scope)
	require.Equal(t, fmt.Sprintf("a %d %d", led.Token, led.Token), led.Environment)

	// A write that changes nothing is no change.
	client := operator(t, s)
	key, err := client.Get(t.Context(), "/watch/", clientv3.WithPrefix())
	require.NoError(t, err)
	_, err = client.Put(t.Context(), string(key.Kvs[0].Key), string(key.Kvs[0].Value), clientv3.WithIgnoreLease())
	require.NoError(t, err)

	require.NoError(t, run.Process.Signal(syscall.SIGTERM))
	require.Zero(t, run.status(), run.log())
	require.Nil(t, next().Leader)
	require.NoError(t, watch.Process.Signal(syscall.SIGTERM))
	require.Zero(t, watch.status())
}

// A watcher of servers that are gone reports it, and sees the leader when they are back.
func TestWatcherSurvivesServers(t *testing.T) {
	s := etcdtest.Start(t)
	watch := launch(t, nil, "watch", "--elector", address(s.Endpoints(), "/gone"), "--ttl", "2")
	line, err := watch.line()
	require.NoError(t, err, watch.log())
	require.Contains(t, line, "  no leader is known")
	for i := range s.Len() {
		s.Stop(i)
	}
	line, err = watch.line()
	require.NoError(t, err, watch.log())
	require.Contains(t, line, "  cut off: etcd: read the leader from 127.0.0.1:")
	s.StartAll()
	for !strings.HasSuffix(line, "  no leader is known") {
		line, err = watch.line()
		require.NoError(t, err, watch.log())
	}
}

// What no attempt can mend ends the command with a status.
func TestRejectedUserEndsCommand(t *testing.T) {
	s := etcdtest.Start(t)
	client := operator(t, s)
	for _, do := range []func() error{
		func() error { _, err := client.UserAdd(t.Context(), "root", "right"); return err },
		func() error { _, err := client.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := client.AuthEnable(t.Context()); return err },
	} {
		require.NoError(t, do())
	}
	elector := address(s.Endpoints(), "/user")
	p := launch(t, []string{"ETCDCTL_PASSWORD=wrong"}, "run", "--elector", elector, "--user", "root", "--restart", "always", "--", "true")
	require.Equal(t, 1, p.status())
	require.Contains(t, p.log(), "elect-etcd: etcd: connect: etcdserver: authentication failed")
	p = launch(t, nil, "watch", "--elector", elector, "--user", "root:wrong")
	require.Equal(t, 1, p.status())
	require.Contains(t, p.log(), "elect-etcd: etcd: connect: etcdserver: authentication failed")
	p = launch(t, []string{"ETCDCTL_PASSWORD=right"}, "run", "--elector", elector, "--user", "root", "--", "true")
	require.Zero(t, p.status(), p.log())
}

func TestUsage(t *testing.T) {
	const good = "--elector=etcd://127.0.0.1:1/p"
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", good}, []string{"run wants -- and a command behind its flags", "See 'elect-etcd run --help'"}},
		{[]string{"run", "--", "true"}, []string{"--elector is missing, want " + form}},
		{[]string{"watch"}, []string{"--elector is missing, want " + form}},
		{[]string{"watch", "--elector", "http://a:1/p"}, []string{`--elector is "http://a:1/p", want ` + form}},
		{[]string{"watch", "--elector", "etcd://a:1"}, []string{`--elector is "etcd://a:1", want ` + form}},
		{[]string{"watch", "--elector", "etcd://a:1/p/"}, []string{"without a slash at the end"}},
		{[]string{"watch", "--elector", "etcd://a:1,b/p"}, []string{`--elector names the server "b", want HOST:PORT`}},
		{[]string{"watch", good, "--ttl", "x"}, []string{`--ttl is "x", want a whole number`}},
		{[]string{"run", good, "--ttl", "0", "--user", "u", "--cert", "c", "--log", "xml", "--log-level", "loud", "--restart", "so", "--", "no-such-command"}, []string{
			"--ttl is 0, want at least 1 s", "--user or its password is missing", "--cert or --key is missing", `--log is "xml"`, `--log-level is "loud"`,
			`--restart is "so"`, "no-such-command",
		}},
		{[]string{"run", good, "--name", "{", "--", "true"}, []string{`name is "{", want one that does not begin with {`}},
		{[]string{"watch", good, "--cacert", "/no/such/file"}, []string{"/no/such/file: no such file"}},
		{[]string{"watch", good, "--user", "u:p", "--password", "p"}, []string{"--user has a password, and --password is set, too"}},
		{[]string{"watch", good, "x"}, []string{`unknown command "x"`}},
		{[]string{"nonsense"}, []string{`unknown command "nonsense"`}},
	} {
		p := launch(t, nil, tc.args...)
		require.Equal(t, 2, p.status(), "%v\n%s", tc.args, p.log())
		for _, want := range tc.want {
			require.Contains(t, p.log(), want, tc.args)
		}
	}
}

func TestEnvironmentGivesFlags(t *testing.T) {
	variables := map[string]string{"ETCDCTL_USER": "u", "ETCDCTL_PASSWORD": "p", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "true"}
	o := engine().New(pflag.NewFlagSet("run", pflag.ContinueOnError)).(*options)
	o.environment = func(name string) (string, bool) { text, given := variables[name]; return text, given }
	require.NoError(t, o.set.Parse([]string{"--user", "flag"}))
	require.NoError(t, o.Parse("etcd://[::1]:2379,b:1/service/leader"))
	require.Equal(t, []string{"[::1]:2379", "b:1"}, o.config.Endpoints)
	require.Equal(t, "/service/leader", o.config.Prefix)
	require.Equal(t, "flag", o.config.Username, "a flag overrides its variable")
	require.Equal(t, "p", o.config.Password)
	require.True(t, o.config.TLS.InsecureSkipVerify)
	variables["ETCDCTL_INSECURE_SKIP_TLS_VERIFY"] = "maybe"
	o.set.Lookup("insecure-skip-tls-verify").Changed = false
	require.ErrorContains(t, o.Parse("etcd://b:1/p"), `ETCDCTL_INSECURE_SKIP_TLS_VERIFY is "maybe", want true or false`)
}
