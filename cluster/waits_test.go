package cluster_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/virtual"
)

// A node that waits says each 5 seconds for whom, and what each answered.
func TestAWaitingNodeSaysForWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host == "nowhere" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []string{host}, nil
		}
		start := func(name string, c cluster.Config) *member {
			c.Name, c.Listen = name, name+":7400"
			options := append(network.Process(name).Options(), cluster.WithStore(store.NewMemory()), cluster.WithLookup(lookup))
			return run(t, c, options...)
		}
		one := start("n1", cluster.Config{Join: []string{"n2:7400", "n3:7400", "nowhere:7400"}})
		two := start("n2", cluster.Config{Join: []string{"n1:7400"}})
		virtual.Pass(21 * time.Second)
		const answers = "n2:7400: n2 answers, and is in no cluster either; n3:7400: connection refused; nowhere:7400: no such host"
		require.Len(t, one.log.with("level=WARN", "msg=waiting", `why="no member has let it in"`, `answers="`+answers+`"`), 4)
		require.Len(t, two.log.with("msg=waiting"), 4)
		status, err := one.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, []cluster.Awaited{
			{Addr: "n2:7400", Answer: "n2 answers, and is in no cluster either"},
			{Addr: "n3:7400", Answer: "connection refused"}, {Addr: "nowhere:7400", Answer: "no such host"},
		}, status.Awaited)

		start("n3", cluster.Config{Bootstrap: true}).follows(t, "n3", bound)
		virtual.Pass(20 * time.Second)
		require.Len(t, one.log.with("msg=waiting"), 4, "it was let in")
		require.Len(t, two.log.with("msg=waiting"), 4)
		status, err = one.Status(t.Context())
		require.NoError(t, err)
		require.Empty(t, status.Awaited)
	})
}

// All members that a list names are in the status, met or not.
func TestStatusShowsWhoWasNotMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Algorithm, c.Join, c.Members = "vote", nil, []string{"n1:7400", "n2:7400", "n3:7400"}
		}
		one := f.start(1)
		virtual.Pass(6 * time.Second)
		require.Len(t, one.log.with("msg=waiting", `why="it has met 1 of 3 members"`), 1)
		refused := func(addr string) cluster.Awaited { return cluster.Awaited{Addr: addr, Answer: "connection refused"} }
		awaited := func() []cluster.Awaited {
			s, err := f.operator().Status(t.Context(), "n1:7400")
			require.NoError(t, err)
			return s.Awaited
		}
		require.Equal(t, []cluster.Awaited{refused("n2:7400"), refused("n3:7400")}, awaited())
		f.start(2)
		f.leader(3 * bound)
		require.Equal(t, []cluster.Awaited{refused("n3:7400")}, awaited(), "a leader there is, and one seat is empty")
		f.start(3)
		f.leader(3 * bound)
		virtual.Pass(bound)
		require.Empty(t, awaited())
		require.Len(t, one.log.with("msg=waiting"), 1)
	})
}
