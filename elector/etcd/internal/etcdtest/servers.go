// Package etcdtest runs three members of an etcd for tests. A disk that is full is the quota of etcd, which raises its
// alarm NOSPACE. The servers have no slow disk, because etcd offers no place to delay a write: a test delays the
// answers.
package etcdtest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/elect-go/elect/elector/internal/enginetest"
)

// Servers are three members of an etcd in this process. They keep their data over restarts.
type Servers struct {
	// TLS names the files with which a client connects. It is empty without TLS.
	TLS transport.TLSInfo

	t       testing.TB
	configs []embed.Config
	running []*embed.Etcd
}

// Start starts servers that end with the test.
func Start(t testing.TB) *Servers { return start(t, "http", transport.TLSInfo{}) }

// StartTLS starts servers that demand TLS and a certificate of each client.
func StartTLS(t testing.TB) *Servers {
	t.Helper()
	own, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1, x509.ExtKeyUsageClientAuth)
	require.NoError(t, err)
	files := transport.TLSInfo{CertFile: own.CertFile, KeyFile: own.KeyFile, TrustedCAFile: own.CertFile}
	return start(t, "https", files)
}

// quota is the space of a server for its data. All tests together need less than a tenth of it.
const quota = 4 << 20

func start(t testing.TB, scheme string, files transport.TLSInfo) *Servers {
	t.Helper()
	s := &Servers{TLS: files, t: t, running: make([]*embed.Etcd, 3)}
	var initial []string
	for i := range s.running {
		c := embed.NewConfig()
		c.Name, c.Dir = fmt.Sprintf("m%d", i+1), t.TempDir()
		c.ListenPeerUrls, c.ListenClientUrls = freeURL(t, "http"), freeURL(t, scheme)
		c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
		c.ClientTLSInfo = files
		c.ClientTLSInfo.ClientCertAuth = scheme == "https"
		c.UnsafeNoFsync = true // no test ends the machine
		c.QuotaBackendBytes = quota
		c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		initial = append(initial, c.Name+"="+c.ListenPeerUrls[0].String())
		s.configs = append(s.configs, *c)
	}
	for i := range s.configs {
		s.configs[i].InitialCluster = strings.Join(initial, ",")
	}
	s.StartAll()
	t.Cleanup(s.StopAll)
	return s
}

// freeURL returns the URL of a port that was free just now.
func freeURL(t testing.TB, scheme string) []url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return []url.URL{{Scheme: scheme, Host: l.Addr().String()}}
}

// Endpoints returns the addresses of all servers.
func (s *Servers) Endpoints() (list []string) {
	for _, c := range s.configs {
		list = append(list, c.ListenClientUrls[0].Host)
	}
	return list
}

// Len returns the number of servers.
func (s *Servers) Len() int { return len(s.configs) }

// StartAll starts the servers that do not run, and waits until all are ready.
func (s *Servers) StartAll() {
	s.t.Helper()
	for i, server := range s.running {
		if server != nil {
			continue
		}
		c := s.configs[i]
		server, err := embed.StartEtcd(&c)
		require.NoError(s.t, err)
		s.running[i] = server
		s.configs[i].ClusterState = embed.ClusterStateFlagExisting
	}
	for _, server := range s.running {
		<-server.Server.ReadyNotify()
	}
}

// Client returns a client that is not a contender.
func (s *Servers) Client() *clientv3.Client {
	s.t.Helper()
	c := clientv3.Config{Endpoints: s.Endpoints(), Logger: zap.NewNop()}
	if !s.TLS.Empty() {
		var err error
		c.TLS, err = s.TLS.ClientConfig()
		require.NoError(s.t, err)
	}
	client, err := clientv3.New(c)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Fill uses up the space of the servers, until they reject each write and each new lease. The returned function frees
// it, as an operator does: see "Space quota" in the documentation of etcd.
func (s *Servers) Fill() (free func()) {
	s.t.Helper()
	client := s.Client()
	const key = "/fill"
	for alarmed := false; !alarmed; {
		_, err := client.Put(s.t.Context(), key, strings.Repeat("x", quota/16))
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			require.NoError(s.t, err)
			continue
		}
		alarms, err := client.AlarmList(s.t.Context())
		require.NoError(s.t, err)
		alarmed = len(alarms.Alarms) > 0
	}
	return func() {
		s.t.Helper()
		ctx := s.t.Context()
		deleted, err := client.Delete(ctx, key)
		require.NoError(s.t, err)
		_, err = client.Compact(ctx, deleted.Header.Revision, clientv3.WithCompactPhysical())
		require.NoError(s.t, err)
		for _, server := range client.Endpoints() {
			_, err = client.Defragment(ctx, server)
			require.NoError(s.t, err)
		}
		_, err = client.AlarmDisarm(ctx, &clientv3.AlarmMember{}) // of all servers
		require.NoError(s.t, err)
		require.NoError(s.t, client.Close())
	}
}

// Proxies returns the addresses of proxies for the servers, for a contender that reaches them over a link.
func (s *Servers) Proxies(l *enginetest.Link) (list []string) {
	s.t.Helper()
	for _, server := range s.Endpoints() {
		list = append(list, l.Proxy(s.t, server))
	}
	return list
}

// StopAll stops all servers as a kill does.
func (s *Servers) StopAll() {
	for i := range s.running {
		s.Stop(i)
	}
}

// Stop stops a server as a kill does: it hands nothing over.
func (s *Servers) Stop(i int) {
	if server := s.running[i]; server != nil {
		server.Server.HardStop()
		server.Close()
		s.running[i] = nil
	}
}

// Leader waits until a server leads the others, and returns its index.
func (s *Servers) Leader() int {
	s.t.Helper()
	for {
		var changed <-chan struct{}
		for i, server := range s.running {
			if server == nil {
				continue
			}
			if changed == nil {
				changed = server.Server.LeaderChangedNotify() // before the leader is read
			}
			if server.Server.Leader() == server.Server.MemberID() {
				return i
			}
		}
		require.NotNil(s.t, changed, "no server runs")
		<-changed
	}
}
