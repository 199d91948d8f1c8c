package tlsauth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func TestMembersAuthenticateWithCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		dialled, accepted := meet(t, a.endpoint(member("n1")), a.endpoint(member("n2")))
		require.NoError(t, dialled.err)
		require.NoError(t, accepted.err)
		require.Equal(t, "member n2", dialled.id.String())
		require.Equal(t, "member n1", accepted.id.String())
		require.True(t, accepted.id.AllowsName("n1"))
		require.False(t, accepted.id.AllowsName("n2"))
		require.False(t, accepted.id.CanAdminister(), "that is for operators")
		talk(t, dialled, accepted)
	})
}

func TestNonMemberConnectsButCannotListen(t *testing.T) {
	for role, orders := range map[Role]bool{Operator: true, Observer: false} {
		t.Run(role.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				asks := a.endpoint(Identity{Cluster: "demo", Role: role})
				require.Equal(t, role, asks.Self().Role)
				asks.files.Cluster = "" // it finds the name in its certificate
				dialled, accepted := meet(t, asks, a.endpoint(member("n1")))
				require.NoError(t, dialled.err)
				require.Equal(t, role, accepted.id.Role)
				require.Equal(t, orders, accepted.id.CanAdminister())
				require.False(t, accepted.id.AllowsName(""))
				require.False(t, accepted.id.AllowsName("n1"))

				dialled, _ = meet(t, a.endpoint(member("n1")), asks)
				require.Error(t, dialled.err, "it cannot be dialed")
			})
		})
	}
}

// TestIdentityEndsWithCertificates: an identity ends with its certificate; one that a secret proved does not end.
func TestIdentityEndsWithCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, day := newAuthority(t), 24*time.Hour
		begin := time.Now()
		dialled, accepted := meet(t, endpoint(t, a.issue(member("n1"), day)), endpoint(t, a.issue(member("n2"), 2*day)))
		require.True(t, begin.Add(2*day).Equal(dialled.id.Until))
		require.True(t, begin.Add(day).Equal(accepted.id.Until))
		require.True(t, begin.Add(-clockSkewAllowance).Equal(accepted.id.Since))
		require.True(t, accepted.id.IsValid(begin.Add(day)))
		require.False(t, accepted.id.IsValid(begin.Add(day+1)))

		secret := NewSecret()
		_, accepted = meet(t, holder(t, secret), holder(t, secret))
		require.NoError(t, accepted.err)
		require.True(t, accepted.id.IsValid(begin.Add(100*365*day)))
	})
}

func TestValidityCoversWholePath(t *testing.T) {
	at := func(hours time.Duration) time.Time { return time.Unix(0, 0).Add(hours * time.Hour) }
	leaf := &x509.Certificate{NotBefore: at(2), NotAfter: at(9)}
	short, long := &x509.Certificate{NotBefore: at(3), NotAfter: at(5)}, &x509.Certificate{NotBefore: at(1), NotAfter: at(7)}
	since, until := validity([][]*x509.Certificate{{leaf, short}, {leaf, long}})
	require.Equal(t, at(2), since)
	require.Equal(t, at(7), until)
}

// TestOperatorCannotBeDialed: not even if its certificate allows the use as a server.
func TestOperatorCannotBeDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		listens := a.endpoint(member("n2"))
		listens.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs[0].Path = "/operator" })
		dialled, _ := meet(t, a.endpoint(member("n1")), listens)
		require.EqualError(t, dialled.err, "tlsauth: certificate elect://demo/operator: it is not that of a member")
	})
}

// TestInvalidCertificateIsRejected: each side reports the reason, and names the certificate of the other side.
func TestInvalidCertificateIsRejected(t *testing.T) {
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		other func(t *testing.T, a *authority) *Endpoint
		want  string
	}{
		"foreign": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = newAuthority(t).odd(func(*x509.Certificate) {})
			return e
		}, ": x509: certificate signed by unknown authority"},
		"expired": {func(t *testing.T, a *authority) *Endpoint {
			e := endpoint(t, a.issue(member("n2"), day))
			testkit.Advance(day + time.Second)
			return e
		}, "certificate elect://demo/member/n2: x509: certificate has expired or is not yet valid"},
		"another cluster": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs[0].Host = "other" })
			return e
		}, `certificate elect://other/member/n2: it is one of cluster "other", and this is "demo"`},
		"no name": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs = nil })
			return e
		}, "certificate odd: it names no member"},
		"two": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs = append(c.URIs, member("n3").uri()) })
			return e
		}, "it names 2 of a cluster, want one"},
		"a path of its own": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs[0].Path = "/member/n2/operator" })
			return e
		}, `it names "elect://demo/member/n2/operator"`},
		"an early one": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })
			return e
		}, "certificate has expired or is not yet valid"},
		"one for no use": {func(t *testing.T, a *authority) *Endpoint {
			e := a.endpoint(member("n2"))
			e.files.keys.own = a.odd(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} })
			return e
		}, "certificate specifies an incompatible key usage"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				// The good certificate is valid for longer than the bubble lasts.
				good, bad := endpoint(t, a.issue(member("n1"), 100*day)), test.other(t, a)
				_, accepted := meet(t, bad, good)
				require.ErrorContains(t, accepted.err, test.want)
				dialled, accepted := meet(t, good, bad)
				require.ErrorContains(t, dialled.err, test.want)
				if name != "foreign" { // this is an alert of TLS: see TestForeignCertificateRaisesAlert
					require.ErrorContains(t, accepted.err, "refused by the other side: ", "the listener receives the reason")
				}
			})
		})
	}
}

// odd issues a certificate of the authority that no command issues.
func (a *authority) odd(change func(*x509.Certificate)) tls.Certificate {
	pair, err := tls.X509KeyPair(a.cert, a.key)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "odd"}, URIs: []*url.URL{member("n2").uri()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	change(template)
	cert, key, err := signCert(template, pair.Leaf, pair.PrivateKey)
	require.NoError(a.t, err)
	own, err := tls.X509KeyPair(cert, key)
	require.NoError(a.t, err)
	return own
}

// TestDNSNameIdentifiesMember: public authorities and cert-manager issue certificates with DNS names.
func TestDNSNameIdentifiesMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		e := a.endpoint(member("n2"))
		e.files.keys.own = a.odd(func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{"n2", "n2.example.com"} })
		dialled, accepted := meet(t, e, a.endpoint(member("n1")))
		require.NoError(t, dialled.err)
		require.True(t, accepted.id.AllowsName("n2"))
		require.True(t, accepted.id.AllowsName("n2.example.com"))
		require.False(t, accepted.id.AllowsName("n1"))
		require.False(t, accepted.id.CanAdminister())
	})
}

// TestOwnCertificateIsChecked: at its start, an endpoint checks its certificate as its peers will.
func TestOwnCertificateIsChecked(t *testing.T) {
	a := newAuthority(t)
	good := a.issue(member("n1"), time.Hour)
	for name, test := range map[string]struct {
		change func(*Config)
		file   func(Config) string
		want   string
	}{
		"of another authority": {func(c *Config) { c.TLS.CA = newAuthority(t).ca }, func(c Config) string { return c.TLS.Cert }, "signed by unknown authority"},
		"another key":          {func(c *Config) { c.TLS.Key = a.issue(member("n2"), time.Hour).TLS.Key }, func(c Config) string { return c.TLS.Cert }, "private key does not match public key"},
		"another member":       {func(c *Config) { c.Member = "n2" }, func(c Config) string { return c.TLS.Cert }, "it is that of member n1, and this is member n2"},
		"another cluster":      {func(c *Config) { c.Cluster = "other" }, func(c Config) string { return c.TLS.Cert }, `it is one of cluster "demo", and this is "other"`},
		"no PEM":               {func(c *Config) { c.TLS.CA = write(t, filepath.Join(t.TempDir(), "ca.crt"), "none") }, func(c Config) string { return c.TLS.CA }, "it holds no certificate"},
		"no file":              {func(c *Config) { c.TLS.Cert = filepath.Join(t.TempDir(), "none") }, func(c Config) string { return c.TLS.Cert }, "no such file"},
		"expired":              {func(c *Config) { *c = a.issue(member("late"), -time.Minute) }, func(c Config) string { return c.TLS.Cert }, "has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			test.change(&c)
			_, err := New(c)
			require.ErrorContains(t, err, strconv.Quote(test.file(c)))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestCertificateIsRenewedDuringConnections: existing connections continue, and later ones use the new certificate.
func TestCertificateIsRenewedDuringConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		one, two := a.endpoint(member("n1")), a.endpoint(member("n2"))
		var standing [][2]net.Conn
		for range 50 {
			dialled, accepted := meet(t, one, two)
			require.NoError(t, dialled.err)
			standing = append(standing, [2]net.Conn{dialled, accepted})
		}
		before := two.files.current().own.Leaf.SerialNumber
		for range 3 { // the first certificate expires meanwhile
			testkit.Advance(20 * time.Hour)
			a.issue(member("n1"), 24*time.Hour)
			a.issue(member("n2"), 24*time.Hour)
			dialled, accepted := meet(t, one, two)
			require.NoError(t, dialled.err)
			require.NoError(t, accepted.err)
			standing = append(standing, [2]net.Conn{dialled, accepted})
		}
		require.NotEqual(t, before, two.files.current().own.Leaf.SerialNumber)
		for _, ends := range standing {
			talk(t, ends[0], ends[1])
		}
	})
}

// TestFailedRenewalKeepsPreviousCertificate: the failure is logged once.
func TestFailedRenewalKeepsPreviousCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, said := newAuthority(t), new(testkit.Log)
		c := a.issue(member("n1"), 100*24*time.Hour)
		c.Log = said.Logger()
		e := endpoint(t, c)
		write(t, c.TLS.Cert, "-----BEGIN CERTIFICATE-----", "not whole")
		for range 10 {
			testkit.Advance(recheckInterval)
			dialled, accepted := meet(t, e, a.endpoint(member("n2")))
			require.NoError(t, dialled.err)
			require.NoError(t, accepted.err)
		}
		require.Len(t, said.Lines("not reloaded"), 1, said.Lines())
		require.NotEmpty(t, said.Lines(c.TLS.Cert))

		a.issue(member("n1"), 100*24*time.Hour)
		testkit.Advance(recheckInterval)
		e.files.current()
		require.Len(t, said.Lines("credentials reloaded"), 1)
	})
}

// TestRenewalOfTwoFilesLogsNoError: between the two writes, the key does not match the certificate.
func TestRenewalOfTwoFilesLogsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, said := newAuthority(t), new(testkit.Log)
		c := a.issue(member("n1"), 24*time.Hour)
		c.Log = said.Logger()
		e := endpoint(t, c)
		old, err := os.ReadFile(c.TLS.Key)
		require.NoError(t, err)
		a.issue(member("n1"), 24*time.Hour)
		fresh, err := os.ReadFile(c.TLS.Key)
		require.NoError(t, err)
		write(t, c.TLS.Key, string(old))
		before := e.files.keys.own.Leaf.SerialNumber
		testkit.Advance(recheckInterval)
		require.Equal(t, before, e.files.current().own.Leaf.SerialNumber)
		write(t, c.TLS.Key, string(fresh))
		testkit.Advance(recheckInterval)
		require.NotEqual(t, before, e.files.current().own.Leaf.SerialNumber)
		require.Empty(t, said.Lines("not reloaded"))
	})
}

// TestMissingFileKeepsPreviousContent: an endpoint keeps the content of a missing file until the file exists again.
func TestMissingFileKeepsPreviousContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		e := holder(t, s)
		require.NoError(t, os.Remove(e.files.SecretFile))
		testkit.Advance(recheckInterval)
		dialled, _ := meet(t, e, holder(t, s))
		require.NoError(t, dialled.err)
		fresh := NewSecret()
		write(t, e.files.SecretFile, fresh)
		testkit.Advance(recheckInterval)
		require.Equal(t, fresh, e.files.current().secrets[0].text())
	})
}

// TestHandshakeDoesNotWaitForBlockedFile uses a file system that does not answer for some time.
func TestHandshakeDoesNotWaitForBlockedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, fresh, log := NewSecret(), NewSecret(), new(testkit.Log)
		path := write(t, filepath.Join(t.TempDir(), "secret"), s)
		e := endpoint(t, Config{Cluster: "demo", SecretFile: path, Log: log.Logger()})
		blocked, release := make(chan struct{}, 1), make(chan struct{})
		e.files.readFile = func(path string, check func(*os.File) error) ([]byte, error) {
			blocked <- struct{}{} // a second read at the same time would wait here
			<-release
			return readFile(path, check)
		}
		write(t, path, fresh)
		testkit.Advance(recheckInterval)
		for range 5 {
			start := time.Now()
			dialled, accepted := meet(t, e, holder(t, s))
			require.NoError(t, dialled.err)
			require.NoError(t, accepted.err)
			require.LessOrEqual(t, time.Since(start), checkTimeout) // of the virtual clock
			testkit.Advance(recheckInterval)
		}
		require.Len(t, blocked, 1)
		require.Len(t, log.Lines("does not load in time"), 1, log.Lines())
		close(release)
		synctest.Wait()
		require.Equal(t, fresh, e.files.current().secrets[0].text())
		require.Len(t, log.Lines("credentials reloaded"), 1)
		dialled, _ := meet(t, e, holder(t, fresh))
		require.NoError(t, dialled.err)
	})
}

// TestFromPlainToSecretToCertificates: each step accepts the previous method, and no earlier one.
func TestFromPlainToSecretToCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newAuthority(t), NewSecret()
		secrets := holder(t, s)
		to := Config{Cluster: "demo", SecretFile: secrets.files.SecretFile, Migrate: true}
		toSecret := endpoint(t, to)
		certified := a.issue(member("n1"), time.Hour)
		certified.SecretFile, certified.Migrate = to.SecretFile, true
		toCertificates, certificates := endpoint(t, certified), a.endpoint(member("n2"))

		plain := func(e *Endpoint) end {
			near, far := pipe(t)
			go func() { _, _ = near.Write([]byte{0, 0, 0, 9, 0x94}) }()
			accepted := as(far, e.Server)
			if accepted.err == nil {
				got := make([]byte, 5)
				n, err := accepted.Read(got[:1])
				require.NoError(t, err)
				_, err = accepted.Read(got[n:])
				require.NoError(t, err)
				require.Equal(t, []byte{0, 0, 0, 9, 0x94}, got, "nothing is lost")
			}
			return accepted
		}
		require.Equal(t, Unauthenticated, plain(toSecret).id.Role)
		require.NoError(t, plain(toSecret).err)
		for _, e := range []*Endpoint{secrets, toCertificates, certificates} {
			require.ErrorIs(t, plain(e).err, ErrPlain)
		}

		for _, test := range []struct {
			name           string
			dials, listens *Endpoint
			role           Role
		}{
			{"the secret, while plain text goes", secrets, toSecret, SecretHolder},
			{"plain text goes", toSecret, secrets, SecretHolder},
			{"the secret, while it goes", secrets, toCertificates, SecretHolder},
			{"the secret goes", toCertificates, secrets, SecretHolder},
			{"both have both", toCertificates, toCertificates, SecretHolder},
			{"certificates, while the secret goes", certificates, toCertificates, Member},
			{"the secret goes, to certificates", toCertificates, certificates, Member},
			{"the end", certificates, certificates, Member},
			{"two steps", secrets, certificates, Unauthenticated},
			{"two steps back", certificates, secrets, Unauthenticated},
		} {
			dialled, accepted := meet(t, test.dials, test.listens)
			if test.role == Unauthenticated {
				require.Error(t, dialled.err, test.name)
				require.Error(t, accepted.err, test.name)
				continue
			}
			require.NoError(t, dialled.err, test.name)
			require.NoError(t, accepted.err, test.name)
			require.Equal(t, test.role, accepted.id.Role, test.name)
			talk(t, dialled, accepted)
		}
		_, accepted := meet(t, toCertificates, toCertificates)
		require.True(t, accepted.id.CanAdminister())
		require.True(t, accepted.id.AllowsName("n1"))
		require.False(t, accepted.id.AllowsName("n2"), "the certificate names its holder")
	})
}

func TestIssue(t *testing.T) {
	a := newAuthority(t)
	for name, test := range map[string]struct {
		cert, key []byte
		id        Identity
		want      string
	}{
		"no name":       {a.cert, a.key, Identity{Cluster: "demo", Role: Member}, `a certificate for "member", want one member, an operator or an observer`},
		"a holder":      {a.cert, a.key, Identity{Cluster: "demo", Role: SecretHolder}, `a certificate for "holder of the secret", want one member, an operator or an observer`},
		"no authority":  {nil, a.key, member("n1"), "the authority: "},
		"not a fit key": {a.cert, newAuthority(t).key, member("n1"), "private key does not match"},
	} {
		_, _, err := Issue(test.cert, test.key, test.id, time.Hour)
		require.ErrorContains(t, err, test.want, name)
	}
	cert, key, err := Issue(a.cert, a.key, member("n1"), time.Hour)
	require.NoError(t, err)
	_, _, err = Issue(cert, key, member("n2"), time.Hour)
	require.ErrorContains(t, err, "its certificate is not that of an authority")

	cert, key, err = Issue(a.cert, a.key, member("n1"), 100*365*24*time.Hour)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	authority, err := tls.X509KeyPair(a.cert, a.key)
	require.NoError(t, err)
	require.Equal(t, authority.Leaf.NotAfter, pair.Leaf.NotAfter, "no longer than the authority")
}
