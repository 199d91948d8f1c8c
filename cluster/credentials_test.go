package cluster_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
)

// overwrite replaces a file as an administrator does.
func overwrite(t testing.TB, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", content, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// issueTo replaces the certificate of a member by one of this authority.
func (a *authority) issueTo(c tlsauth.Certificate, name string) {
	cert, key, err := tlsauth.Issue(a.cert, a.key, tlsauth.Identity{Cluster: "elect", Role: tlsauth.Member, Names: []string{name}}, 9000*time.Hour)
	require.NoError(a.t, err)
	overwrite(a.t, c.Cert, cert)
	overwrite(a.t, c.Key, key)
}

// ownFiles gives each member a certificate, and a file of its own for the authority.
func (a *authority) ownFiles(c *cluster.Config) {
	leased(c)
	c.TLS = a.certificate(tlsauth.Member, c.Name)
	c.TLS.CA = writePrivate(a.t, "ca.crt", string(a.cert))
}

// losses returns the number of elections and suspicions that a member has counted.
func (m *member) losses(t testing.TB) (n uint64) {
	t.Helper()
	s, err := m.Status(t.Context())
	require.NoError(t, err)
	for name, count := range s.Counters {
		if strings.HasPrefix(name, "elections.") || strings.HasPrefix(name, "suspicions.") {
			n += count
		}
	}
	return n
}

// rotate performs each step on one member after another. No member may lose a connection or start an election. The
// client of n1 must have lost its connection a minute after the last step.
func (f *fleet) rotate(all []*member, steps ...func(*member)) {
	f.t.Helper()
	var before []uint64
	for _, m := range all {
		before = append(before, m.losses(f.t))
	}
	for _, step := range steps {
		for _, m := range all {
			step(m)
			f.quiet(20 * time.Second)
		}
	}
	f.quiet(time.Minute - 20*time.Second)
	for i, m := range all {
		require.Equal(f.t, before[i], m.losses(f.t), m.name)
		require.Empty(f.t, m.log.Lines("level=ERROR"))
		if lines := m.log.Lines("level=WARN", "connection"); m.name != "n1" {
			require.Empty(f.t, lines)
		} else {
			require.Len(f.t, lines, 1) // of the client
		}
	}
}

// watchAs connects a client that watches n1 and does not read its own files again. The channel receives the reason for
// the end of its connection.
func (f *fleet) watchAs(c tlsauth.Config) <-chan string {
	f.t.Helper()
	r := f.dialWith("n1:7400", c)
	r.greet(hello(func(h *wire.Hello) { h.Client = true }))
	frame, err := wire.NewClientCodec(func(text string) string { return text }).Append(nil, wire.WatchRequest{})
	require.NoError(f.t, err)
	r.frame(frame)
	end := make(chan string, 1)
	go func() { end <- r.closes(time.Hour) }()
	return end
}

// While the authority is replaced node by node, only a client with an old certificate is disconnected.
func TestReplacedAuthorityKeepsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := newAuthority(t), newAuthority(t)
		f := newFleet(t)
		f.config = old.ownFiles
		all := f.grow(5)
		client := f.watchAs(tlsauth.Config{TLS: old.certificate(tlsauth.Observer)})
		f.rotate(all,
			func(m *member) { overwrite(t, m.Config().TLS.CA, bytes.Join([][]byte{old.cert, fresh.cert}, nil)) },
			func(m *member) { fresh.issueTo(m.Config().TLS, m.name) },
			func(m *member) { overwrite(t, m.Config().TLS.CA, fresh.cert) },
		)
		require.Contains(t, <-client, "have been replaced")
		f.kill(all[4])
		f.agree("n4", 2*bound)
	})
}

// While the secret is replaced node by node, only a client with the old secret is disconnected, within a minute.
func TestReplacedSecretKeepsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := tlsauth.NewSecret(), tlsauth.NewSecret()
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.SecretFile = secretFile(t, old)
		}
		all := f.grow(5)
		client := f.watchAs(tlsauth.Config{SecretFile: secretFile(t, old)})
		set := func(secrets ...string) func(m *member) {
			return func(m *member) { overwrite(t, m.Config().SecretFile, []byte(strings.Join(secrets, "\n"))) }
		}
		f.rotate(all, set(old, fresh), set(fresh, old), set(fresh))
		require.Contains(t, <-client, "its secret is no longer in the file")
		f.kill(all[4])
		f.agree("n4", 2*bound)
	})
}

// A secret is replaced on all machines within half a minute, and no node ever accepts both secrets. That causes no
// election either.
func TestSecretReplacedWithoutOverlapKeepsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		old := tlsauth.NewSecret()
		f.config = func(c *cluster.Config) {
			leased(c)
			c.SecretFile = secretFile(t, old)
		}
		all := f.grow(3)
		fresh := []byte(tlsauth.NewSecret())
		before := all[0].losses(t)
		for _, m := range all {
			overwrite(t, m.Config().SecretFile, fresh)
			f.quiet(10 * time.Second)
		}
		f.quiet(2 * time.Minute)
		require.Equal(t, before, all[0].losses(t))
	})
}

// A member that has not received a certificate of the new authority is out of the cluster within a minute. It returns
// when it has one. With KeepConnections it stays.
func TestMemberWithReplacedCertificateIsDisconnected(t *testing.T) {
	for name, keeps := range map[string]bool{"by default": false, "with KeepConnections": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, fresh := newAuthority(t), newAuthority(t)
				f := newFleet(t)
				f.config = func(c *cluster.Config) {
					old.ownFiles(c)
					c.KeepConnections = keeps
				}
				all := f.grow(3)
				for _, m := range all[:2] {
					fresh.issueTo(m.Config().TLS, m.name)
					overwrite(t, m.Config().TLS.CA, fresh.cert)
				}
				if keeps {
					f.quiet(10 * time.Minute)
					return
				}
				testkit.Advance(time.Minute)
				f.agree("n2", 2*bound, all[2])
				require.NotEmpty(t, all[0].log.Lines("connection closed", `reason="old credentials"`, "signed by unknown authority"))
				fresh.issueTo(all[2].Config().TLS, "n3")
				overwrite(t, all[2].Config().TLS.CA, fresh.cert)
				f.agree("n3", time.Minute)
			})
		})
	}
}
