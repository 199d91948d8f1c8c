package tlsauth

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// check waits until e may read its files again, and returns the reason why e ends a connection with the identity id, or
// an empty text.
func check(e *Endpoint, id Identity) string {
	testkit.Advance(recheckInterval)
	if err := e.Check(id); err != nil {
		return err.Error()
	}
	return ""
}

// TestRemovedSecretEndsItsConnections: connections with another secret stay, whichever secret is first in the file.
func TestRemovedSecretEndsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := NewSecret(), NewSecret()
		a, b := holder(t, old), holder(t, old, fresh)
		dialled, accepted := meet(t, a, b)
		require.NoError(t, dialled.err)
		client := endpoint(t, Config{SecretFile: a.files.SecretFile})
		_, operator := meet(t, client, b)
		require.Equal(t, Operator, operator.id.Role)

		before := a.Version()
		write(t, a.files.SecretFile, fresh, old)
		write(t, b.files.SecretFile, fresh, old)
		require.Empty(t, check(a, dialled.id))
		require.NotEqual(t, before, a.Version())
		require.Empty(t, check(b, accepted.id))
		newer, newerAccepted := meet(t, a, b)
		require.NoError(t, newer.err)

		write(t, a.files.SecretFile, fresh)
		write(t, b.files.SecretFile, fresh)
		for end, e := range map[*Identity]*Endpoint{&dialled.id: a, &accepted.id: b, &operator.id: b} {
			require.Equal(t, "tlsauth: its secret is no longer in the file", check(e, *end))
		}
		require.Empty(t, check(a, newer.id))
		require.Empty(t, check(b, newerAccepted.id))
	})
}

// TestReplacedCertificateEndsConnections: a connection ends with a new certificate of this side, or with the removal of
// the authority of the other side, and with no other change.
func TestReplacedCertificateEndsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := newAuthority(t), newAuthority(t)
		own := old.issue(member("n1"), 24*time.Hour)
		a, b := endpoint(t, own), old.endpoint(member("n2"))
		connect := func() (dialled, accepted end) {
			dialled, accepted = meet(t, a, b)
			require.NoError(t, dialled.err)
			require.NoError(t, accepted.err)
			return dialled, accepted
		}
		dialled, accepted := connect()
		before := a.Version()
		write(t, own.TLS.CA, string(old.cert), string(fresh.cert)) // a and b share this file
		require.Empty(t, check(a, dialled.id))
		require.Empty(t, check(b, accepted.id))
		require.NotEqual(t, before, a.Version())

		replace(t, own, fresh.issue(member("n1"), 24*time.Hour))
		require.Equal(t, "tlsauth: this side has another certificate now", check(a, dialled.id))
		require.Empty(t, check(b, accepted.id), "b still accepts it")
		require.Empty(t, check(a, Identity{}), "a peer that spoke plain text")
		require.NoError(t, a.Check(nil))

		renewed, renewedAccepted := connect()
		write(t, own.TLS.CA, string(fresh.cert))
		require.Contains(t, check(a, renewed.id), "certificate signed by unknown authority", "n2 still has one of the old authority")
		require.Empty(t, check(b, renewedAccepted.id), "it cannot use its files, so the previous content counts")
	})
}

// replace moves the certificate and the key of one configuration to the files of another.
func replace(t *testing.T, old, fresh Config) {
	t.Helper()
	require.NoError(t, os.Rename(fresh.TLS.Cert, old.TLS.Cert))
	require.NoError(t, os.Rename(fresh.TLS.Key, old.TLS.Key))
}

// TestVersionStaysWithoutChange: files that were written again with the same content end no connection, and files that
// cannot be used change nothing.
func TestVersionStaysWithoutChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		e := a.endpoint(member("n1"))
		dialled, _ := meet(t, e, a.endpoint(member("n2")))
		before := e.Version()
		write(t, e.files.TLS.CA, "none")
		require.Empty(t, check(e, dialled.id))
		require.Equal(t, before, e.Version())
		write(t, e.files.TLS.CA, string(a.cert))
		require.Empty(t, check(e, dialled.id))

		s := NewSecret()
		e = holder(t, s)
		dialled, _ = meet(t, e, e)
		write(t, filepath.Clean(e.files.SecretFile), "# a remark", s)
		require.Empty(t, check(e, dialled.id))
	})
}
