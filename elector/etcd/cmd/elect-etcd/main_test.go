//go:build linux || darwin || freebsd

package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

func TestMain(m *testing.M) { enginetest.CommandMain(m, main) }

// command returns the command for the servers of a test.
func command(s *etcdtest.Servers) enginetest.Command {
	return enginetest.Command{
		Flags: func(_ *testing.T, election string, l *enginetest.Link) []string {
			return []string{"--elector", address(s.Proxies(l), "/"+election)}
		},
		Lease: func(seconds int) []string { return []string{"--ttl", strconv.Itoa(seconds)} },
		Touch: func(t *testing.T, election string) {
			client := s.Client()
			key, err := client.Get(t.Context(), "/"+election+"/", clientv3.WithPrefix())
			require.NoError(t, err)
			_, err = client.Put(t.Context(), string(key.Kvs[0].Key), string(key.Kvs[0].Value), clientv3.WithIgnoreLease())
			require.NoError(t, err)
		},
		StopServers: func() (start func()) {
			s.StopAll()
			return s.StartAll
		},
	}
}

func TestOnlyOneCommandRuns(t *testing.T) { command(etcdtest.Start(t)).TestOnlyOneRuns(t) }
func TestOnce(t *testing.T)               { command(etcdtest.Start(t)).TestOnce(t) }
func TestWatch(t *testing.T)              { command(etcdtest.Start(t)).TestWatch(t) }
func TestWatcherSurvivesServers(t *testing.T) {
	command(etcdtest.Start(t)).TestWatcherSurvivesServers(t)
}

// address returns the value of --elector for a prefix.
func address(endpoints []string, prefix string) string {
	return "etcd://" + strings.Join(endpoints, ",") + prefix
}

// The command passes the TLS flags, or the variables of etcdctl, to servers that demand a certificate. The child has
// the same environment as with elect run.
func TestRunOverTLS(t *testing.T) {
	s := etcdtest.StartTLS(t)
	command := []string{"--name", "a", "--", "sh", "-c", "read line; echo $line $ELECT_RUN_NODE $ELECT_RUN_TOKEN $ELECT_RUN_EPOCH $ELECT_RUN_CLUSTER; exit 7"}
	for name, with := range map[string]struct{ environment, flags []string }{
		"flags":     {nil, []string{"--cacert", s.TLS.TrustedCAFile, "--cert", s.TLS.CertFile, "--key", s.TLS.KeyFile}},
		"variables": {[]string{"ETCDCTL_CACERT=" + s.TLS.TrustedCAFile, "ETCDCTL_CERT=" + s.TLS.CertFile, "ETCDCTL_KEY=" + s.TLS.KeyFile}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"run", "--elector", address(s.Endpoints(), "/tls/"+name)}, with.flags...)
			p := enginetest.Launch(t, with.environment, append(args, command...)...)
			line := p.NextLine()
			words := strings.Fields(line)
			require.Len(t, words, 4, "standard input has ended: %q", line)
			require.Equal(t, "a", words[0])
			require.Regexp(t, `^[1-9][0-9]*$`, words[1])
			require.Equal(t, words[1], words[2], "the epoch is the token")
			require.Regexp(t, `^[0-9a-f-]{36}$`, words[3])
			require.Equal(t, 7, p.Status())
		})
	}
	t.Run("unknown CA", func(t *testing.T) {
		other, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1)
		require.NoError(t, err)
		p := enginetest.Launch(t, nil, "watch", "--ttl", "1", "--elector", address(s.Endpoints(), "/tls/none"), "--cacert", other.CertFile)
		line := p.NextLine()
		require.Contains(t, line, "cut off: etcd: read the leader from 127.0.0.1:")
		require.Contains(t, line, "certificate")
	})
	t.Run("no certificate", func(t *testing.T) {
		p := enginetest.Launch(t, nil, "watch", "--ttl", "1", "--json", "--elector", address(s.Endpoints(), "/tls/none"), "--cacert", s.TLS.TrustedCAFile)
		line := p.NextLine()
		require.Contains(t, line, `"leader":null,"error":"etcd: read the leader from 127.0.0.1:`)
	})
}

// A rejected user ends the command, because no retry can succeed.
func TestRejectedUserEndsCommand(t *testing.T) {
	s := etcdtest.Start(t)
	client := s.Client()
	for _, do := range []func() error{
		func() error { _, err := client.UserAdd(t.Context(), "root", "right"); return err },
		func() error { _, err := client.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := client.AuthEnable(t.Context()); return err },
	} {
		require.NoError(t, do())
	}
	elector := address(s.Endpoints(), "/user")
	p := enginetest.Launch(t, []string{"ETCDCTL_PASSWORD=wrong"}, "run", "--elector", elector, "--user", "root", "--restart", "always", "--", "true")
	require.Equal(t, 1, p.Status())
	require.Contains(t, p.Log(), "elect-etcd: etcd: connect: etcdserver: authentication failed")
	p = enginetest.Launch(t, nil, "watch", "--elector", elector, "--user", "root:wrong")
	require.Equal(t, 1, p.Status())
	require.Contains(t, p.Log(), "elect-etcd: etcd: connect: etcdserver: authentication failed")
	p = enginetest.Launch(t, []string{"ETCDCTL_PASSWORD=right"}, "run", "--elector", elector, "--user", "root", "--", "true")
	require.Zero(t, p.Status(), p.Log())
}

func TestUsage(t *testing.T) {
	const good = "--elector=etcd://127.0.0.1:1/p"
	enginetest.TestMistakes(t, [][2][]string{
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
	})
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
