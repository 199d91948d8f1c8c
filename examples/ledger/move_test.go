package main

import (
	"context"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// startEtcd starts a server in this process, and returns its address.
func startEtcd(t *testing.T) string {
	t.Helper()
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	var chosen []net.Listener // closed when both are chosen: they must differ
	for _, urls := range []*[]url.URL{&c.ListenPeerUrls, &c.ListenClientUrls} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		chosen = append(chosen, free)
		*urls = []url.URL{{Scheme: "http", Host: free.Addr().String()}}
	}
	for _, free := range chosen {
		require.NoError(t, free.Close())
	}
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = true // no test crashes the machine
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return c.ListenClientUrls[0].Host
}

// With the order of docs/outgrowing.md, two processes never work at once, even while two versions run together and when
// a leader is killed. The processes write all the time.
func TestMoveToEtcdAndBack(t *testing.T) {
	found, err := drive(context.Background(), settings{db: sqliteFile(t), algorithm: "bully", etcd: startEtcd(t)}, t.TempDir(), (*driver).move)
	require.NoError(t, err)
	t.Log(found)
	require.Empty(t, found.late, "two at work")
	require.Empty(t, found.shared)
	require.GreaterOrEqual(t, found.leaders, 9, "each version begins and is killed once")
}

// Without the middle version, two processes work at once, and the ledger shows it.
func TestMoveWithoutMiddleVersion(t *testing.T) {
	found, err := drive(context.Background(), settings{db: sqliteFile(t), algorithm: "bully", etcd: startEtcd(t)}, t.TempDir(), func(d *driver) error {
		leader, err := d.awaitLeader()
		if err != nil {
			return err
		}
		for _, p := range d.all {
			if p != leader.member {
				if err := d.replace(p, external); err != nil {
					return err
				}
				break
			}
		}
		writers := make(map[*process]int)
		_, err = d.await("two write at once", func(e event) bool {
			if e.what == "wrote" {
				writers[e.member]++
			}
			enough := 0
			for _, entries := range writers {
				if entries >= inARow {
					enough++
				}
			}
			return enough >= 2
		})
		return err
	})
	require.NoError(t, err)
	t.Log(found)
	require.NotEmpty(t, found.late)
}
