package etcd_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/goleak"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

// TestElector also covers TLS: the servers demand a certificate.
func TestElector(t *testing.T) {
	s := etcdtest.StartTLS(t)
	electortest.Run(t, electortest.Engine{New: func(t *testing.T, contenders int) electortest.Group { return newGroup(t, s, contenders) }})
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// next waits for the next line.
func (l lines) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-l:
		return line
	case <-time.After(enginetest.EventTimeout):
		require.Fail(t, "no line in the log")
		return ""
	}
}

// awaitKey waits for a key of an election that was created after a revision, and returns its lease.
func awaitKey(t *testing.T, client *clientv3.Client, prefix string, after uint64) clientv3.LeaseID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), enginetest.EventTimeout)
	defer cancel()
	for resp := range client.Watch(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(int64(after)+1)) {
		for _, event := range resp.Events {
			if event.IsCreate() {
				return clientv3.LeaseID(event.Kv.Lease)
			}
		}
	}
	require.Fail(t, "no key was created")
	return clientv3.NoLease
}

// Contenders handle deleted keys, revoked leases, compactions, full disks, other clients and wrong passwords.
func TestElectorUnderOperations(t *testing.T) {
	s := etcdtest.Start(t)
	client := s.Client()
	ctx := t.Context()

	t.Run("the token is the create revision of the key", func(t *testing.T) {
		g := newGroup(t, s, 1)
		state := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		resp, err := client.Get(ctx, g.prefix+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		require.Len(t, resp.Kvs, 1)
		require.EqualValues(t, resp.Kvs[0].CreateRevision, state.Leader.Token)
		require.Equal(t, "n1", string(resp.Kvs[0].Value))
	})
	t.Run("a deleted key ends the work and begins a later leadership", func(t *testing.T) {
		g := newGroup(t, s, 1)
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		_, err := client.Delete(ctx, g.prefix+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		vacant := enginetest.WaitState(t, g.Elector("n1"), func(s elector.State) bool { return s.Leader.Token != old.Leader.Token })
		if !vacant.IsLeader { // a slow reader may skip the vacancy
			require.ErrorIs(t, vacant.Cause, elector.ErrLost)
		}
		require.Greater(t, enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader.Token, old.Leader.Token)
	})
	t.Run("a revoked lease ends the work and begins a later leadership", func(t *testing.T) {
		g := newGroup(t, s, 1)
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		resp, err := client.Get(ctx, g.prefix+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		_, err = client.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
		require.NoError(t, err)
		next := enginetest.WaitState(t, g.Elector("n1"), func(s elector.State) bool { return s.IsLeader && s.Leader.Token != old.Leader.Token })
		require.Greater(t, next.Leader.Token, old.Leader.Token)
	})
	t.Run("another process gives a leadership up", func(t *testing.T) {
		g := newGroup(t, s, 1)
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		c := g.config("other", enginetest.NewLink())
		require.NoError(t, etcd.GiveUp(ctx, c, old.Leader.Token+1))
		resp, err := client.Get(ctx, g.prefix+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		require.Len(t, resp.Kvs, 1, "the key of another leadership stays")
		require.NoError(t, etcd.GiveUp(ctx, c, old.Leader.Token))
		next := enginetest.WaitState(t, g.Elector("n1"), func(s elector.State) bool { return s.IsLeader && s.Leader.Token != old.Leader.Token })
		require.NoError(t, etcd.GiveUp(ctx, c, old.Leader.Token), "it is over")
		require.Equal(t, next, enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader))
	})
	t.Run("a lease that ends in the queue does not lead", func(t *testing.T) {
		g := newGroup(t, s, 1)
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		g.names = append(g.names, "n2")
		g.Start("n2")
		enginetest.WaitState(t, g.Elector("n2"), func(s elector.State) bool { return s.Leader.Token == old.Leader.Token })
		waiting := awaitKey(t, client, g.prefix, old.Leader.Token)
		_, err := client.Revoke(ctx, waiting)
		require.NoError(t, err)
		g.Stop("n1")
		next := enginetest.WaitState(t, g.Elector("n2"), enginetest.IsLeader)
		resp, err := client.Get(ctx, g.prefix+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		require.Len(t, resp.Kvs, 1)
		require.NotEqual(t, waiting, clientv3.LeaseID(resp.Kvs[0].Lease))
		require.EqualValues(t, resp.Kvs[0].CreateRevision, next.Leader.Token)
	})
	t.Run("a compaction does not end Watch", func(t *testing.T) {
		g := newGroup(t, s, 2)
		resp, err := client.Put(ctx, "/other", "x")
		require.NoError(t, err)
		_, err = client.Compact(ctx, resp.Header.Revision)
		require.NoError(t, err)
		first := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
		g.Stop(first.Name)
		other := map[string]string{"n1": "n2", "n2": "n1"}[first.Name]
		require.Greater(t, enginetest.WaitState(t, g.Elector(other), enginetest.IsLeader).Leader.Token, first.Token)
	})
	t.Run("a contender without space for its lease shows the leader", func(t *testing.T) {
		g := newGroup(t, s, 2)
		first := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader).Leader
		awaitKey(t, client, g.prefix, first.Token) // the key of the other contender
		free := s.Fill()
		c := g.config("n3", enginetest.NewLink())
		log := make(lines, 100)
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
		e, err := etcd.New(c)
		require.NoError(t, err)
		running := enginetest.Run(e)
		require.Contains(t, log.next(t), `msg="no lease was granted" error="etcdserver: mvcc: database space exceeded"`)
		require.Equal(t, first.Token, enginetest.WaitState(t, e, elector.State.HasLeader).Leader.Token)
		require.NoError(t, g.Elector(first.Name).Resign(ctx), "the other one has its key, and the first one reads it without a lease")
		second := enginetest.WaitState(t, e, enginetest.IsAfter(first)).Leader
		require.Greater(t, second.Token, first.Token)
		free()
		g.Stop(second.Name)
		enginetest.WaitState(t, e, func(s elector.State) bool { return s.Leader.Token > second.Token })
		require.NoError(t, running.Stop())
		require.Empty(t, log, "an error is logged once")
	})
	t.Run("contenders of concurrency.Election take part", func(t *testing.T) {
		g := newGroup(t, s, 0)
		session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
		require.NoError(t, err)
		defer session.Close()
		plain := concurrency.NewElection(session, g.prefix)
		require.NoError(t, plain.Campaign(ctx, "plain"))
		g.names = []string{"n1"}
		g.Start("n1")
		state := enginetest.WaitState(t, g.Elector("n1"), elector.State.HasLeader)
		require.Equal(t, "plain", state.Leader.Name)
		require.EqualValues(t, plain.Rev(), state.Leader.Token)
		require.NoError(t, plain.Resign(ctx))
		enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
	})
	t.Run("metadata reaches the others", func(t *testing.T) {
		g := newGroup(t, s, 0)
		c := g.config("n1", enginetest.NewLink())
		c.Meta = map[string]string{"http": "10.0.0.1:80"}
		e, err := etcd.New(c)
		require.NoError(t, err)
		running := enginetest.Run(e)
		enginetest.WaitState(t, e, enginetest.IsLeader)
		g.names = []string{"n2"}
		g.Start("n2")
		state := enginetest.WaitState(t, g.Elector("n2"), elector.State.HasLeader)
		require.Equal(t, "n1", state.Leader.Name)
		require.Equal(t, c.Meta, state.Leader.Meta)
		require.NoError(t, running.Stop())
	})
	t.Run("Run leaves nothing", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		g := newGroup(t, s, 1)
		enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		g.Stop("n1")
		goleak.VerifyNone(t, before, // the servers in this process connect to each other at any time
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	})
	t.Run("wrong password ends Run", func(t *testing.T) {
		for _, do := range []func() error{
			func() error { _, err := client.UserAdd(ctx, "root", "right"); return err },
			func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
			func() error { _, err := client.AuthEnable(ctx); return err },
		} {
			require.NoError(t, do())
		}
		g := newGroup(t, s, 0)
		c := g.config("n1", enginetest.NewLink())
		for password, want := range map[string]string{"wrong": "etcd: connect: etcdserver: authentication failed", "": "etcd: grant of a lease: etcdserver: user name is empty"} {
			if c.Username, c.Password = "root", password; password == "" {
				c.Username = ""
			}
			e, err := etcd.New(c)
			require.NoError(t, err)
			require.ErrorContains(t, e.Run(ctx), want)
		}
		c.Username, c.Password = "root", "right"
		e, err := etcd.New(c)
		require.NoError(t, err)
		require.ErrorIs(t, elector.Run(ctx, e, func(context.Context, elector.Leadership) error { return context.Canceled }), context.Canceled)
	})
}

func TestConfigMistakes(t *testing.T) {
	_, err := etcd.New(etcd.Config{Prefix: "/a/", TTL: -1, Name: "{}", Username: "root", DrainTimeout: -1})
	require.EqualError(t, err, `etcd: endpoints are empty, want addresses such as 10.0.0.1:2379
etcd: prefix is "/a/", want a prefix such as /service/leader
etcd: ttl is -1 s, want at least 1 s
etcd: drain timeout is -1ns, want a positive one
etcd: name is "{}", want one that does not begin with {
etcd: a user name or a password is missing, want both or none`)
}
