package cluster_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/secure"
)

// privately writes a file that only this user can read.
func privately(t testing.TB, name string, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func secretFile(t testing.TB, secrets ...string) string {
	if len(secrets) == 0 {
		secrets = []string{secure.NewSecret()}
	}
	return privately(t, "secret", strings.Join(secrets, "\n"))
}

// trial is an authority for the cluster of the tests.
type trial struct {
	t         testing.TB
	cert, key []byte
	ca        string
}

func newTrial(t testing.TB) *trial {
	cert, key, err := secure.NewAuthority("elect", 10000*time.Hour)
	require.NoError(t, err)
	return &trial{t, cert, key, privately(t, "ca.crt", string(cert))}
}

func (a *trial) certificate(role secure.Role, names ...string) secure.Certificate {
	return a.lasting(10000*time.Hour, role, names...)
}

func (a *trial) lasting(life time.Duration, role secure.Role, names ...string) secure.Certificate {
	cert, key, err := secure.Issue(a.cert, a.key, secure.Identity{Cluster: "elect", Role: role, Names: names}, life)
	require.NoError(a.t, err)
	return secure.Certificate{Cert: privately(a.t, "crt", string(cert)), Key: privately(a.t, "key", string(key)), CA: a.ca}
}

// asking asks a fleet in its own way.
func (f *fleet) asking(c secure.Config) client.Client {
	to := f.operator()
	if c != (secure.Config{}) {
		door, err := secure.New(c)
		require.NoError(f.t, err)
		to.Secure = door
	}
	return to
}

func TestWhoListensToStrangersNeedsAWayIn(t *testing.T) {
	file := secretFile(t)
	missing := filepath.Join(t.TempDir(), "none")
	trial := newTrial(t)
	for name, test := range map[string]struct {
		change      func(c *cluster.Config)
		field, want string
	}{
		"none":                 {func(c *cluster.Config) {}, "listen", "secret_file: FILE (elect secret FILE creates one"},
		"every interface":      {func(c *cluster.Config) { c.Listen, c.Advertise = ":7400", "10.0.0.1:7400" }, "listen", "tls: {cert: FILE, key: FILE, ca: FILE}"},
		"a name":               {func(c *cluster.Config) { c.Listen = "n1.example:7400" }, "listen", "insecure: true"},
		"both":                 {func(c *cluster.Config) { c.SecretFile, c.Insecure = file, true }, "insecure", "one of them"},
		"migrate alone":        {func(c *cluster.Config) { c.Security, c.Insecure = "migrate", true }, "security", "migrate, beside secret_file or tls"},
		"another word":         {func(c *cluster.Config) { c.SecretFile, c.Security = file, "none" }, "security", "migrate, beside secret_file or tls"},
		"no such file":         {func(c *cluster.Config) { c.SecretFile = missing }, "secret_file", "no such file"},
		"half a certificate":   {func(c *cluster.Config) { c.TLS.CA = trial.ca }, "tls", "all of cert, key and ca"},
		"two ways":             {func(c *cluster.Config) { c.SecretFile, c.TLS = file, trial.certificate(secure.Member, "n1") }, "tls", "one of the two"},
		"another member's":     {func(c *cluster.Config) { c.TLS = trial.certificate(secure.Member, "n2") }, "tls.cert", "it is that of member n2, and this is member n1"},
		"an operator's":        {func(c *cluster.Config) { c.TLS = trial.certificate(secure.Operator) }, "tls.cert", "it is that of operator, and this is member n1"},
		"of another authority": {func(c *cluster.Config) { c.TLS = trial.certificate(secure.Member, "n1"); c.TLS.CA = newTrial(t).ca }, "tls.cert", "signed by unknown authority"},
	} {
		c := cluster.Config{Name: "n1", Listen: "10.0.0.1:7400", Lease: lease.Off}
		test.change(&c)
		_, err := cluster.New(c)
		require.ErrorContains(t, err, test.want, name)
		require.Len(t, problems(err), 1, name)
		require.Equal(t, test.field, problems(err)[0].Field, name)
	}
	for name, change := range map[string]func(c *cluster.Config){
		"the loopback":  func(c *cluster.Config) { c.Listen = "127.0.0.1:7400" },
		"its name":      func(c *cluster.Config) { c.Listen = "localhost:7400" },
		"a secret":      func(c *cluster.Config) { c.SecretFile = file },
		"a certificate": func(c *cluster.Config) { c.TLS = trial.certificate(secure.Member, "n1") },
		"insecure":      func(c *cluster.Config) { c.Insecure = true },
		"to a secret":   func(c *cluster.Config) { c.SecretFile, c.Security = file, "migrate" },
		"from a secret": func(c *cluster.Config) {
			c.SecretFile, c.TLS, c.Security = file, trial.certificate(secure.Member, "n1"), "migrate"
		},
		"over loopbacks": func(c *cluster.Config) { c.Listen = "[::1]:7400" },
	} {
		c := cluster.Config{Name: "n1", Listen: "10.0.0.1:7400", Lease: lease.Off}
		change(&c)
		_, err := cluster.New(c)
		require.NoError(t, err, name)
	}
}

// TestAListenerOfTheProgramsOwn is looked at when it is there.
func TestAListenerOfTheProgramsOwn(t *testing.T) {
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "0.0.0.0:0", Advertise: "10.0.0.1:7400", Members: []string{"10.0.0.1:7400"}, Lease: lease.Off, Network: cluster.Network{Listen: cluster.Listen}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it would run for ever
	defer cancel()
	require.ErrorContains(t, n.Run(ctx), "want an address of the loopback, or secret_file")
}

func TestInsecureIsSaidAtEachStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Insecure = true }
		m := f.grow(1)[0]
		require.Len(t, m.log.Lines("level=WARN", "insecure: "), 1)
	})
}

// TestAClosedCluster: who has the secret takes part, asks and gives orders, and nobody else does anything.
func TestAClosedCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		file := secretFile(t)
		secret := func(file string) func(*cluster.Config) {
			return func(c *cluster.Config) {
				leased(c)
				c.SecretFile = file
			}
		}
		f.config = secret(file)
		f.grow(3)

		stranger := func(i int, change func(*cluster.Config)) *member {
			f.config = change
			m := f.start(i)
			delete(f.live, m.name)
			return m
		}
		plain := stranger(4, leased)
		other := stranger(5, secret(secretFile(t)))
		f.quiet(30 * time.Second)
		for _, m := range f.live {
			require.Len(t, m.Members(), 3)
		}
		require.NotEmpty(t, plain.log.Lines("waiting for members", "this cluster is closed"))
		require.NotEmpty(t, plain.log.Lines("connection rejected by peer", "--secret-file FILE"), "it is told what it needs")
		require.NotEmpty(t, other.log.Lines("refused by the other side", "it has not proved a secret that is believed here"))
		for _, m := range f.live {
			require.NotEmpty(t, m.log.Lines("connection closed", "plain text instead of TLS"))
			require.NotEmpty(t, m.log.Lines("connection closed", "it has not proved a secret"))
		}

		for _, how := range []secure.Config{{}, {SecretFile: secretFile(t)}} {
			_, err := f.asking(how).Status(t.Context(), "n1:7400")
			require.ErrorContains(t, err, "secret")
			require.ErrorContains(t, f.asking(how).Leave(t.Context(), "n1:7400"), "secret")
		}
		require.Len(t, f.live["n1"].Members(), 3)
		to := f.asking(secure.Config{SecretFile: file})
		s, err := to.Status(t.Context(), "n1:7400")
		require.NoError(t, err)
		require.Len(t, s.Members, 3)
		require.NoError(t, to.Leave(t.Context(), "n1:7400"))
		require.NotEmpty(t, f.live["n1"].log.Lines("admin request accepted", "by=operator", "order=leave"))
	})
}

// TestCertificates: a member takes part under its name and gives no orders, an observer asks, an operator orders.
func TestCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newTrial(t)
		f.config = func(c *cluster.Config) { c.TLS = a.certificate(secure.Member, c.Name) }
		f.grow(3)
		for name, test := range map[string]struct {
			tls   secure.Certificate
			asks  bool
			order string
		}{
			"nobody":   {secure.Certificate{}, false, "certificate"},
			"foreign":  {newTrial(t).certificate(secure.Operator), false, "signed by unknown authority"},
			"observer": {a.certificate(secure.Observer), true, "this client is observer"},
			"member":   {a.certificate(secure.Member, "n1"), true, "this client is member n1"},
			"operator": {a.certificate(secure.Operator), true, ""},
		} {
			to := f.asking(secure.Config{TLS: test.tls})
			_, err := to.Status(t.Context(), "n3:7400")
			require.Equal(t, test.asks, err == nil, "%s: %v", name, err)
			err = to.SetPriority(t.Context(), "n3:7400", 7)
			if test.order == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, test.order, name)
			}
		}
		require.NotEmpty(t, f.live["n3"].log.Lines("admin request accepted", "by=operator"))
		require.NotEmpty(t, f.live["n3"].log.Lines("admin request rejected", "this client is observer"))
	})
}

// TestAMemberIsWhoItsCertificateSays: with the certificate of one nobody is another.
func TestAMemberIsWhoItsCertificateSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newTrial(t)
		f.config = func(c *cluster.Config) { c.TLS = a.certificate(secure.Member, c.Name) }
		f.grow(1)
		for _, test := range []struct {
			name string
			tls  secure.Certificate
			want string
		}{
			{"mallory", a.certificate(secure.Member, "mallory"), ""},
			{"n1", a.certificate(secure.Member, "mallory"), `cluster: it says that it is "n1", and has proved that it is member mallory`},
			{"mallory", a.certificate(secure.Operator), `cluster: it says that it is "mallory", and has proved that it is operator`},
		} {
			door, err := secure.New(secure.Config{TLS: test.tls})
			require.NoError(t, err)
			near, err := f.operator().Dial(t.Context(), "n1:7400")
			require.NoError(t, err)
			safe, _, err := door.Client(near)
			require.NoError(t, err)
			r := raw{t, safe}
			r.say(hello(func(h *wire.Hello) { h.Name = test.name }))
			if test.want == "" {
				r.hears("hello")
			} else {
				require.Equal(t, test.want, r.closes(bound))
			}
			safe.Close()
		}
	})
}

// TestFromNothingToCertificates: a running cluster goes from plain text over a secret to certificates, a member at a time, and whoever
// is of the step before or after takes part meanwhile. The leader is the last of each step.
func TestFromNothingToCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a, file := newFleet(t), newTrial(t), secretFile(t)
		f.grow(3)
		for _, step := range []func(c *cluster.Config){
			func(c *cluster.Config) { c.SecretFile, c.Security = file, "migrate" },
			func(c *cluster.Config) { c.SecretFile = file },
			func(c *cluster.Config) {
				c.SecretFile, c.TLS, c.Security = file, a.certificate(secure.Member, c.Name), "migrate"
			},
			func(c *cluster.Config) { c.TLS = a.certificate(secure.Member, c.Name) },
		} {
			f.config = step
			for i := 1; i <= 3; i++ {
				f.halt(f.live[nameOf(i)])
				m := f.start(i)
				f.agree("n3", bound)
				for _, m := range f.live {
					require.Len(t, m.Members(), 3)
				}
				require.Empty(t, m.log.Lines("level=ERROR"))
			}
			f.quiet(2 * time.Minute) // connections are closed as idle, and made again
			f.agree("n3", bound)
		}
		plain := f.operator()
		_, err := plain.Status(t.Context(), "n1:7400")
		require.ErrorContains(t, err, "this cluster is closed")
	})
}

// TestWithoutMigrateNothingFallsBack: who has a secret takes part in no cluster that has none.
func TestWithoutMigrateNothingFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		f.grow(1)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.SecretFile = secretFile(t)
		}
		closed := f.start(2)
		testkit.Pass(10 * time.Second)
		require.Len(t, f.live["n1"].Members(), 1)
		require.NotEmpty(t, closed.log.Lines("waiting for members", "plain text instead of TLS"))
	})
}

// TestManyStallBeforeTheyProveAnything: members, and who asks, come in all the same.
func TestManyStallBeforeTheyProveAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		file := secretFile(t)
		f.config = func(c *cluster.Config) { c.SecretFile = file }
		f.grow(2)
		dial := f.operator().Dial
		stalled := func() (all []net.Conn) {
			for range 500 {
				c, err := dial(t.Context(), "n2:7400")
				require.NoError(t, err)
				go func() { _, _ = c.Write([]byte{0x16, 3, 1}) }()
				all = append(all, c)
			}
			return all
		}
		all := stalled()
		f.start(3)
		f.agree("n3", bound)
		_, err := f.asking(secure.Config{SecretFile: file}).Status(t.Context(), "n2:7400")
		require.NoError(t, err)
		f.quiet(10 * time.Second)
		for _, c := range all {
			c.Close()
		}
	})
}

// TestTheSameUserGivesOrders, on the loopback without a secret. Other users are in the tests of secure.
func TestTheSameUserGivesOrders(t *testing.T) {
	m := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Timing: algo.Local(), Lease: lease.Off})
	m.follows(t, "n1", 30*time.Second)
	err := client.Client{}.SetPriority(t.Context(), m.Members()[0].Addr, 3)
	if runtime.GOOS != "linux" {
		require.ErrorContains(t, err, "a secret is needed")
		return
	}
	require.NoError(t, err)
	require.NotEmpty(t, m.log.Lines("admin request accepted", `by="the same user"`))
}
