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
	"github.com/elect-go/elect/tlsauth"
)

// writePrivate writes a file that only this user can read.
func writePrivate(t testing.TB, name string, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func secretFile(t testing.TB, secrets ...string) string {
	if len(secrets) == 0 {
		secrets = []string{tlsauth.NewSecret()}
	}
	return writePrivate(t, "secret", strings.Join(secrets, "\n"))
}

// authority is the certificate authority of a test.
type authority struct {
	t         testing.TB
	cert, key []byte
	ca        string
}

func newAuthority(t testing.TB) *authority {
	cert, key, err := tlsauth.NewAuthority("elect", 10000*time.Hour)
	require.NoError(t, err)
	return &authority{t, cert, key, writePrivate(t, "ca.crt", string(cert))}
}

func (a *authority) certificate(role tlsauth.Role, names ...string) tlsauth.Certificate {
	return a.lasting(10000*time.Hour, role, names...)
}

func (a *authority) lasting(life time.Duration, role tlsauth.Role, names ...string) tlsauth.Certificate {
	cert, key, err := tlsauth.Issue(a.cert, a.key, tlsauth.Identity{Cluster: "elect", Role: role, Names: names}, life)
	require.NoError(a.t, err)
	return tlsauth.Certificate{Cert: writePrivate(a.t, "crt", string(cert)), Key: writePrivate(a.t, "key", string(key)), CA: a.ca}
}

// client returns a client that authenticates with c.
func (f *fleet) client(c tlsauth.Config) client.Client {
	to := f.operator()
	if c != (tlsauth.Config{}) {
		endpoint, err := tlsauth.New(c)
		require.NoError(f.t, err)
		to.Secure = endpoint
	}
	return to
}

func TestPublicListenerNeedsAuthentication(t *testing.T) {
	file := secretFile(t)
	missing := filepath.Join(t.TempDir(), "none")
	ca := newAuthority(t)
	for name, test := range map[string]struct {
		change      func(c *cluster.Config)
		field, want string
	}{
		"none":                {func(c *cluster.Config) {}, "listen", "secret_file: FILE (elect secret FILE creates one"},
		"all interfaces":      {func(c *cluster.Config) { c.Listen, c.Advertise = ":7400", "10.0.0.1:7400" }, "listen", "tls: {cert: FILE, key: FILE, ca: FILE}"},
		"DNS name":            {func(c *cluster.Config) { c.Listen = "n1.example:7400" }, "listen", "insecure: true"},
		"secret and insecure": {func(c *cluster.Config) { c.SecretFile, c.Insecure = file, true }, "insecure", "one of them"},
		"migrate alone":       {func(c *cluster.Config) { c.Security, c.Insecure = "migrate", true }, "security", "migrate, beside secret_file or tls"},
		"unknown value":       {func(c *cluster.Config) { c.SecretFile, c.Security = file, "none" }, "security", "migrate, beside secret_file or tls"},
		"no such file":        {func(c *cluster.Config) { c.SecretFile = missing }, "secret_file", "no such file"},
		"half a certificate":  {func(c *cluster.Config) { c.TLS.CA = ca.ca }, "tls", "all of cert, key and ca"},
		"secret and tls":      {func(c *cluster.Config) { c.SecretFile, c.TLS = file, ca.certificate(tlsauth.Member, "n1") }, "tls", "one of the two"},
		"other member":        {func(c *cluster.Config) { c.TLS = ca.certificate(tlsauth.Member, "n2") }, "tls.cert", "it is that of member n2, and this is member n1"},
		"operator":            {func(c *cluster.Config) { c.TLS = ca.certificate(tlsauth.Operator) }, "tls.cert", "it is that of operator, and this is member n1"},
		"other authority":     {func(c *cluster.Config) { c.TLS = ca.certificate(tlsauth.Member, "n1"); c.TLS.CA = newAuthority(t).ca }, "tls.cert", "signed by unknown authority"},
	} {
		c := cluster.Config{Name: "n1", Listen: "10.0.0.1:7400", Lease: lease.Off}
		test.change(&c)
		_, err := cluster.New(c)
		require.ErrorContains(t, err, test.want, name)
		require.Len(t, problems(err), 1, name)
		require.Equal(t, test.field, problems(err)[0].Field, name)
	}
	for name, change := range map[string]func(c *cluster.Config){
		"loopback":    func(c *cluster.Config) { c.Listen = "127.0.0.1:7400" },
		"localhost":   func(c *cluster.Config) { c.Listen = "localhost:7400" },
		"secret":      func(c *cluster.Config) { c.SecretFile = file },
		"certificate": func(c *cluster.Config) { c.TLS = ca.certificate(tlsauth.Member, "n1") },
		"insecure":    func(c *cluster.Config) { c.Insecure = true },
		"to a secret": func(c *cluster.Config) { c.SecretFile, c.Security = file, "migrate" },
		"from a secret": func(c *cluster.Config) {
			c.SecretFile, c.TLS, c.Security = file, ca.certificate(tlsauth.Member, "n1"), "migrate"
		},
		"IPv6 loopback": func(c *cluster.Config) { c.Listen = "[::1]:7400" },
	} {
		c := cluster.Config{Name: "n1", Listen: "10.0.0.1:7400", Lease: lease.Off}
		change(&c)
		_, err := cluster.New(c)
		require.NoError(t, err, name)
	}
}

// The address of a listener that the program supplies is known only when Run has opened it.
func TestAddressOfCustomListenerIsChecked(t *testing.T) {
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "0.0.0.0:0", Advertise: "10.0.0.1:7400", Members: []string{"10.0.0.1:7400"}, Lease: lease.Off, Network: cluster.Network{Listen: cluster.Listen}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // ends Run if it does not fail
	defer cancel()
	require.ErrorContains(t, n.Run(ctx), "want an address of the loopback, or secret_file")
}

func TestInsecureNodeWarnsAtEachStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) { c.Insecure = true }
		m := f.grow(1)[0]
		require.Len(t, m.log.Lines("level=WARN", "insecure: "), 1)
	})
}

// Only nodes and clients with the secret may take part, ask for the status and send admin requests.
func TestClosedClusterRejectsPeersWithoutSecret(t *testing.T) {
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

		outsider := func(i int, change func(*cluster.Config)) *member {
			f.config = change
			m := f.start(i)
			delete(f.live, m.name)
			return m
		}
		plain := outsider(4, leased)
		other := outsider(5, secret(secretFile(t)))
		f.quiet(30 * time.Second)
		for _, m := range f.live {
			require.Len(t, m.Members(), 3)
		}
		require.NotEmpty(t, plain.log.Lines("waiting for members", "this cluster is closed"))
		require.NotEmpty(t, plain.log.Lines("connection rejected by peer", "--secret-file FILE"), "the reason names the missing setting")
		require.NotEmpty(t, other.log.Lines("refused by the other side", "it has not proved a secret that is believed here"))
		for _, m := range f.live {
			require.NotEmpty(t, m.log.Lines("connection closed", "plain text instead of TLS"))
			require.NotEmpty(t, m.log.Lines("connection closed", "it has not proved a secret"))
		}

		for _, how := range []tlsauth.Config{{}, {SecretFile: secretFile(t)}} {
			_, err := f.client(how).Status(t.Context(), "n1:7400")
			require.ErrorContains(t, err, "secret")
			require.ErrorContains(t, f.client(how).Leave(t.Context(), "n1:7400"), "secret")
		}
		require.Len(t, f.live["n1"].Members(), 3)
		to := f.client(tlsauth.Config{SecretFile: file})
		s, err := to.Status(t.Context(), "n1:7400")
		require.NoError(t, err)
		require.Len(t, s.Members, 3)
		require.NoError(t, to.Leave(t.Context(), "n1:7400"))
		require.NotEmpty(t, f.live["n1"].log.Lines("admin request accepted", "by=operator", "action=leave"))
	})
}

// A member takes part under its name, but sends no admin requests. An observer may ask for the status, and an operator
// may also send admin requests.
func TestCertificateRoleLimitsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newAuthority(t)
		f.config = func(c *cluster.Config) { c.TLS = a.certificate(tlsauth.Member, c.Name) }
		f.grow(3)
		for name, test := range map[string]struct {
			tls        tlsauth.Certificate
			asks       bool
			adminError string
		}{
			"none":     {tlsauth.Certificate{}, false, "certificate"},
			"foreign":  {newAuthority(t).certificate(tlsauth.Operator), false, "signed by unknown authority"},
			"observer": {a.certificate(tlsauth.Observer), true, "this client is observer"},
			"member":   {a.certificate(tlsauth.Member, "n1"), true, "this client is member n1"},
			"operator": {a.certificate(tlsauth.Operator), true, ""},
		} {
			to := f.client(tlsauth.Config{TLS: test.tls})
			_, err := to.Status(t.Context(), "n3:7400")
			require.Equal(t, test.asks, err == nil, "%s: %v", name, err)
			err = to.SetPriority(t.Context(), "n3:7400", 7)
			if test.adminError == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, test.adminError, name)
			}
		}
		require.NotEmpty(t, f.live["n3"].log.Lines("admin request accepted", "by=operator"))
		require.NotEmpty(t, f.live["n3"].log.Lines("admin request rejected", "this client is observer"))
	})
}

// A node cannot take the name of another member, because the name must be in its certificate.
func TestMemberNameMustMatchCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newAuthority(t)
		f.config = func(c *cluster.Config) { c.TLS = a.certificate(tlsauth.Member, c.Name) }
		f.grow(1)
		for _, test := range []struct {
			name string
			tls  tlsauth.Certificate
			want string
		}{
			{"mallory", a.certificate(tlsauth.Member, "mallory"), ""},
			{"n1", a.certificate(tlsauth.Member, "mallory"), `cluster: it says that it is "n1", and has proved that it is member mallory`},
			{"mallory", a.certificate(tlsauth.Operator), `cluster: it says that it is "mallory", and has proved that it is operator`},
		} {
			endpoint, err := tlsauth.New(tlsauth.Config{TLS: test.tls})
			require.NoError(t, err)
			near, err := f.operator().Dial(t.Context(), "n1:7400")
			require.NoError(t, err)
			safe, _, err := endpoint.Client(near)
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

// A running cluster migrates from plain text to a secret and then to certificates, one member at a time. Members of
// adjacent steps form one cluster meanwhile. The leader migrates last in each step.
func TestClusterMigratesFromPlainTextToCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a, file := newFleet(t), newAuthority(t), secretFile(t)
		f.grow(3)
		for _, step := range []func(c *cluster.Config){
			func(c *cluster.Config) { c.SecretFile, c.Security = file, "migrate" },
			func(c *cluster.Config) { c.SecretFile = file },
			func(c *cluster.Config) {
				c.SecretFile, c.TLS, c.Security = file, a.certificate(tlsauth.Member, c.Name), "migrate"
			},
			func(c *cluster.Config) { c.TLS = a.certificate(tlsauth.Member, c.Name) },
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
			f.quiet(2 * time.Minute) // idle connections are closed, and opened again
			f.agree("n3", bound)
		}
		plain := f.operator()
		_, err := plain.Status(t.Context(), "n1:7400")
		require.ErrorContains(t, err, "this cluster is closed")
	})
}

// Without security: migrate, a node with a secret does not join a cluster that has none.
func TestNodeWithSecretRejectsPlainText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		f.grow(1)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.SecretFile = secretFile(t)
		}
		closed := f.start(2)
		testkit.Advance(10 * time.Second)
		require.Len(t, f.live["n1"].Members(), 1)
		require.NotEmpty(t, closed.log.Lines("waiting for members", "plain text instead of TLS"))
	})
}

// Many connections that stall in the handshake keep neither members nor clients out.
func TestStalledHandshakesDoNotBlockOthers(t *testing.T) {
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
		_, err := f.client(tlsauth.Config{SecretFile: file}).Status(t.Context(), "n2:7400")
		require.NoError(t, err)
		f.quiet(10 * time.Second)
		for _, c := range all {
			c.Close()
		}
	})
}

// On the loopback without a secret, a process of the same user may send admin requests. The tests of package tlsauth
// cover other users.
func TestSameUserSendsAdminRequests(t *testing.T) {
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
