package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// A node logs each warning of the end of its certificate once. After a renewal the warnings start again.
func TestEndOfOwnCertificateIsWarned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write := func(name string, text []byte) string {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path+".new", text, 0o600))
			require.NoError(t, os.Rename(path+".new", path))
			return path
		}
		ca, caKey, err := tlsauth.NewAuthority("elect", 1000*time.Hour)
		require.NoError(t, err)
		issue := func(life time.Duration) tlsauth.Certificate {
			cert, key, err := tlsauth.Issue(ca, caKey, tlsauth.Identity{Cluster: "elect", Role: tlsauth.Member, Names: []string{"n1"}}, life)
			require.NoError(t, err)
			return tlsauth.Certificate{Cert: write("crt", cert), Key: write("key", key), CA: write("ca", ca)}
		}
		var log testkit.Log
		n := &Node{log: log.Logger()}
		n.config.TLS = issue(15 * time.Hour) // Issue adds an hour before now
		n.endpoint, err = tlsauth.New(tlsauth.Config{Cluster: "elect", Member: "n1", TLS: n.config.TLS})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go n.watchCertificate(ctx)
		lines := func() (warn, ended int) {
			synctest.Wait()
			return len(log.Lines("own certificate ends soon")), len(log.Lines("own certificate has ended"))
		}
		check := func(wantWarn, wantEnded int) {
			t.Helper()
			warn, ended := lines()
			require.Equal(t, []int{wantWarn, wantEnded}, []int{warn, ended}, log.Lines())
		}
		end := time.Now().Add(15 * time.Hour)
		for _, step := range []struct {
			left        time.Duration
			warn, ended int
		}{{4*time.Hour + time.Minute, 0, 0}, {4*time.Hour - time.Minute, 1, 0}, {119 * time.Minute, 2, 0}, {59 * time.Minute, 3, 0}, {time.Minute, 3, 0}, {-2 * time.Minute, 3, 1}} {
			testkit.Advance(time.Until(end.Add(-step.left)))
			check(step.warn, step.ended)
			require.True(t, end.Equal(n.certificateEnd()))
		}
		require.NotEmpty(t, log.Lines(`file=`+n.config.TLS.Cert+` ends=2000-01-01T15:00:00Z left=1h0m0s`))
		issue(15 * time.Hour)
		renewed := time.Now().Add(15 * time.Hour)
		testkit.Advance(10 * time.Hour)
		check(3, 1)
		require.True(t, renewed.Equal(n.certificateEnd()))
		testkit.Advance(2 * time.Hour)
		check(4, 1)
		stop()
	})
}

// An admin request that waits for the loop is rejected if the client's certificate ends meanwhile.
func TestAdminRequestAfterCertificateEndIsRejected(t *testing.T) {
	n := &Node{}
	operator := tlsauth.Identity{Role: tlsauth.Operator, Until: time.Now().Add(time.Hour)}
	by, err := n.authorizeAdmin(transport.Peer{Principal: operator})
	require.NoError(t, err)
	require.Equal(t, "operator", by)
	operator.Until = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, err = n.authorizeAdmin(transport.Peer{Principal: operator})
	require.EqualError(t, err, "cluster: the certificate of operator ended at 2026-01-02T03:04:05Z")
}
