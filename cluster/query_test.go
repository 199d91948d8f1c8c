package cluster_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/transport"
)

func TestStatusOverTheWireIsTheNodesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		f.kill(members[2])
		f.agree("n2", bound)
		for _, m := range f.live {
			synctest.Wait()
			far, err := cluster.Query(t.Context(), m.name+":7400", f.net.Process("operator").Options()...)
			require.NoError(t, err)
			near, err := m.Status(t.Context())
			require.NoError(t, err)
			for _, s := range []*cluster.Status{&near, &far} { // what the query itself has moved
				for name := range s.Counters {
					switch name {
					case "frames.in", "frames.out", "bytes.in", "bytes.out":
						delete(s.Counters, name)
					}
				}
			}
			nearJSON, err := json.Marshal(near)
			require.NoError(t, err)
			farJSON, err := json.Marshal(far)
			require.NoError(t, err)
			require.JSONEq(t, string(nearJSON), string(farJSON))
			require.Len(t, far.Members, 3)
			require.Equal(t, "self", state(far, m.name))
			require.Equal(t, "bully", far.Algorithm)
			require.Equal(t, members[0].Members(), members[0].Members())
		}
		status, err := members[0].Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, "suspected", state(status, "n3"))
		require.Equal(t, "alive", state(status, "n2"))
	})
}

func state(s cluster.Status, name string) string {
	for _, m := range s.Members {
		if m.Name == name {
			return m.State
		}
	}
	return "not a member"
}

func TestQueryErrors(t *testing.T) {
	listen := func(t *testing.T, serve func(net.Conn)) (addr string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serve(c)
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
		return l.Addr().String()
	}
	t.Run("no address", func(t *testing.T) {
		_, err := cluster.Query(t.Context(), "nonsense")
		require.EqualError(t, err, `cluster: "nonsense" is not host:port: missing port in address`)
	})
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l.Close()
		_, err = cluster.Query(t.Context(), l.Addr().String())
		require.Equal(t, transport.ConnRefused, transport.Cause(err))
		require.ErrorContains(t, err, l.Addr().String())
	})
	t.Run("not a node", func(t *testing.T) {
		for _, banner := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "", "\x00\x00\x00\x02\x91\xc0"} {
			addr := listen(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 1024))
				_, _ = c.Write([]byte(banner))
			})
			_, err := cluster.Query(t.Context(), addr)
			require.ErrorIs(t, err, cluster.ErrNotNode, "%q", banner)
			require.ErrorContains(t, err, addr)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		release := make(chan struct{})
		addr := listen(t, func(net.Conn) { <-release })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := cluster.Query(ctx, addr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
	})
}
