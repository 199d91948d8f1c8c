package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
)

// withMeta starts nodes each of which has the address of its service as metadata.
func withMeta(t *testing.T, algorithm string, nodes int) *clustertest.Cluster {
	return clustertest.New(t, clustertest.Config{Nodes: nodes, Configure: func(c *cluster.Config) {
		c.Algorithm, c.Meta = builtin.Lookup(algorithm), map[string]string{"http": c.Name + ":8080"}
	}})
}

// requireLeaderMeta fails the test unless all running nodes know the metadata of the leader.
func requireLeaderMeta(t *testing.T, c *clustertest.Cluster, http string) {
	t.Helper()
	synctest.Wait()
	for _, n := range c.Nodes() {
		l, _ := n.Leader()
		require.Equal(t, map[string]string{"http": http}, l.Meta(), "%s of %s", n.Config().Name, l.Name)
	}
}

// Followers know the leader's metadata, also after a change, an election and a restart.
func TestFollowerKnowsMetadataOfLeader(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := withMeta(t, algorithm, 5)
				first := c.WaitLeader()
				requireLeaderMeta(t, c, first.Name+":8080")

				leader := c.Node(first.Name)
				changed := map[string]string{"http": "10.0.0.9:80"}
				require.NoError(t, leader.SetMeta(t.Context(), changed))
				changed["http"] = "changed later"
				requireLeaderMeta(t, c, "10.0.0.9:80")

				c.Kill(first.Name)
				second := c.WaitLeader()
				requireLeaderMeta(t, c, second.Name+":8080")
				c.Start(first.Name)
				c.WaitLeader()
				c.Advance(c.Node(first.Name).Config().Timing.RecoveryBound())
				requireLeaderMeta(t, c, c.WaitLeader().Name+":8080")
			})
		})
	}
}

// In a ring a member connects only to its neighbors, so it may have no connection to the next leader.
func TestFollowerKnowsMetadataOfUnconnectedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lowest := []string{"n6", "n7", "n8"}
		c := clustertest.New(t, clustertest.Config{Nodes: 5, Configure: func(c *cluster.Config) {
			c.Algorithm, c.Meta = builtin.Lookup("ring"), map[string]string{"http": c.Name + ":8080"}
			if slices.Contains(lowest, c.Name) {
				c.Priority = -1
			}
		}})
		for _, name := range lowest {
			c.Start(name)
			c.WaitLeader()
		}
		for _, next := range []string{"n4", "n3"} {
			c.Advance(2 * time.Minute) // idle connections are closed
			c.Kill(c.WaitLeader().Name)
			require.Equal(t, next, c.WaitLeader().Name)
			requireLeaderMeta(t, c, next+":8080")
		}
		for _, name := range lowest {
			c.Kill(name)
			c.Start(name)
		}
		require.Equal(t, "n3", c.WaitLeader().Name)
		requireLeaderMeta(t, c, "n3:8080")
	})
}

// After a change of the leader's metadata, Watch yields a new state of the same leadership. The Lead callback runs on.
func TestMetadataChangeWakesWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withMeta(t, "bully", 3)
		leader := c.Node(c.WaitLeader().Name)
		ended := false
		go func() {
			_ = leader.Lead(t.Context(), func(ctx context.Context, _ cluster.Leadership) error {
				<-ctx.Done()
				ended = true
				return nil
			})
		}()
		var seen []string
		go func() {
			for s := range c.Node("n1").Watch(t.Context()) {
				seen = append(seen, fmt.Sprint(s.Leader.Name, s.Leader.Epoch, s.Leader.Meta()["http"]))
			}
		}()
		synctest.Wait()
		for _, http := range []string{"a", "a", "b"} {
			require.NoError(t, leader.SetMeta(t.Context(), map[string]string{"http": http}))
			synctest.Wait()
		}
		require.NoError(t, c.Node("n2").SetMeta(t.Context(), nil), "metadata of a follower")
		synctest.Wait()
		l := c.WaitLeader()
		at := fmt.Sprint(l.Name, l.Epoch)
		require.Equal(t, []string{at + "n3:8080", at + "a", at + "b"}, seen)
		require.False(t, ended)

		status, err := client.Client{Dial: c.Network.Process("operator").Dial}.Status(t.Context(), "n1:7400")
		require.NoError(t, err)
		require.Equal(t, []map[string]string{{"http": "n1:8080"}, nil, {"http": "b"}}, metas(status.Members))
		require.Equal(t, metas(c.Node("n1").Members()), metas(status.Members))
		require.Zero(t, status.MetaOmitted)
	})
}

// metas returns the metadata of n1, n2 and so on.
func metas(members []cluster.Member) (all []map[string]string) {
	by := make(map[string]map[string]string)
	for _, m := range members {
		if by[m.Name] = m.Meta; len(m.Meta) == 0 {
			by[m.Name] = nil
		}
	}
	for i := range len(members) {
		all = append(all, by[fmt.Sprintf("n%d", i+1)])
	}
	return all
}

func TestInvalidMetadataIsRejected(t *testing.T) {
	full := map[string]string{"a": strings.Repeat("x", 255), "b": strings.Repeat("x", 255), "c": strings.Repeat("x", 255), "d": strings.Repeat("x", 248)}
	config := good()
	config.Meta = full
	n, err := cluster.New(config)
	require.NoError(t, err, "1,024 bytes")
	over := maps.Clone(full)
	over["d"] += "x"
	for want, meta := range map[string]map[string]string{
		`meta is "=x", want key=value, a name and 1 to 255 bytes that can be printed`: {"": "x"},
		`meta is "a b=x", want`:     {"a b": "x"},
		`meta is "a=", want`:        {"a": ""},
		`meta is "a=\x1b[2J", want`: {"a": "\x1b[2J"},
		`meta is "a=b\nc=d", want`:  {"a": "b\nc=d"},
		`meta is "a=\xff", want`:    {"a": "\xff"},
		`xxx", want`:                {"a": strings.Repeat("x", 256)},
		`meta is 1025 bytes, want at most 1024, with an = and the end of a line for each`: over,
	} {
		config.Meta = meta
		_, err := cluster.New(config)
		require.ErrorContains(t, err, want)
		require.Equal(t, "meta", problems(err)[0].Field)
		require.ErrorContains(t, n.SetMeta(t.Context(), meta), want)
	}
}

// The status shows the lease on its holder, on followers, and on a nominee that reaches no quorum.
func TestStatusShowsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 5, Configure: func(c *cluster.Config) { c.Lease = lease.Options{} }})
		leader := c.WaitLeader()
		leaseOf := func(name string) cluster.Lease {
			s, err := c.Node(name).Status(t.Context())
			require.NoError(t, err)
			return *s.Lease
		}
		var others []string
		for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
			if name != leader.Name {
				others = append(others, name)
				require.Equal(t, cluster.Lease{Token: leader.Token}, leaseOf(name))
			}
		}
		config := c.Node(leader.Name).Config().Lease
		holder := leaseOf(leader.Name)
		require.Equal(t, leader.Token, holder.Token)
		require.Greater(t, holder.Remaining, config.Duration/2)
		require.Less(t, holder.Remaining, config.Duration)

		few, many := []string{leader.Name, others[3]}, others[:3]
		c.Partition(few)
		nominated := 0
		for range 40 { // each of the two is nominated while the other has withdrawn
			c.Advance(config.Duration / 4)
			for _, name := range few {
				if l := leaseOf(name); l.Nominated {
					nominated++
					require.Subset(t, l.PendingGrants, many)
				}
			}
		}
		require.NotZero(t, nominated)
		require.Equal(t, cluster.Lease{Token: c.WaitLeader(many...).Token}, leaseOf(slices.DeleteFunc(many, func(name string) bool { return name == c.WaitLeader(many...).Name })[0]))
	})
}
