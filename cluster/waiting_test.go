package cluster_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/faultytest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// A waiting node logs every 5 s the addresses for which it waits, and the answer of each.
func TestWaitingNodeLogsPendingContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host == "nowhere" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []string{host}, nil
		}
		start := func(name string, c cluster.Config) *member {
			c.Name, c.Listen, c.Lease = name, name+":7400", lease.Options{}
			options := []option{inProcess(network.Process(name)), withStore(store.NewMemory()), withLookup(lookup)}
			return run(t, c, options...)
		}
		one := start("n1", cluster.Config{Join: []string{"n2:7400", "n3:7400", "nowhere:7400"}, Lease: lease.Off})
		two := start("n2", cluster.Config{Join: []string{"n1:7400"}, Lease: lease.Off})
		testkit.Advance(21 * time.Second)
		const answers = "n2:7400: n2 answers, and is in no cluster either; n3:7400: connection refused; nowhere:7400: no such host"
		require.Len(t, one.log.Lines("level=WARN", `msg="waiting for members"`, `why="no member has added it"`, `answers="`+answers+`"`), 4)
		require.Len(t, two.log.Lines(`msg="waiting for members"`), 4)
		status, err := one.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, []cluster.PendingContact{
			{Addr: "n2:7400", Answer: "n2 answers, and is in no cluster either"},
			{Addr: "n3:7400", Answer: "connection refused"}, {Addr: "nowhere:7400", Answer: "no such host"},
		}, status.PendingContacts)

		start("n3", cluster.Config{Bootstrap: true, Lease: lease.Off}).follows(t, "n3", bound)
		testkit.Advance(20 * time.Second)
		require.Len(t, one.log.Lines(`msg="waiting for members"`), 4, "n1 has joined")
		require.Len(t, two.log.Lines(`msg="waiting for members"`), 4)
		status, err = one.Status(t.Context())
		require.NoError(t, err)
		require.Empty(t, status.PendingContacts)
	})
}

// The status shows the listed addresses that have not answered.
func TestStatusShowsPendingContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = func(c *cluster.Config) {
			c.Algorithm, c.Members = builtin.Lookup("vote"), listOf(3)
		}
		one := f.start(1)
		testkit.Advance(6 * time.Second)
		require.Len(t, one.log.Lines(`msg="waiting for members"`, `why="the cluster bootstraps when all members of the list have answered, and 1 of 3 have: start the others, or replace them in all lists"`), 1)
		refused := func(addr string) cluster.PendingContact {
			return cluster.PendingContact{Addr: addr, Answer: "connection refused"}
		}
		awaited := func() []cluster.PendingContact {
			s, err := f.operator().Status(t.Context(), "n1:7400")
			require.NoError(t, err)
			return s.PendingContacts
		}
		require.Equal(t, []cluster.PendingContact{refused("n2:7400"), refused("n3:7400")}, awaited())
		f.start(2)
		testkit.Advance(3 * bound)
		require.Equal(t, []cluster.PendingContact{refused("n3:7400")}, awaited(), "n2 has answered")
		f.start(3)
		f.leader(3 * bound)
		testkit.Advance(bound)
		require.Empty(t, awaited())
		f.kill(f.live["n3"])
		f.leader(3 * bound)
		require.Empty(t, awaited(), "n3 is a member")
	})
}

// A status reply has at most 512 pending contacts.
func TestStatusReplyLimitsPendingContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var many []string
		for i := range 600 {
			many = append(many, fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250))
		}
		s.dns.set("many", many...)
		s.start(1, cluster.Config{Algorithm: builtin.Lookup("vote"), Join: []string{"many:7400"}, Lease: lease.Off})
		testkit.Advance(time.Second)
		status, err := client.Client{Dial: s.net.Process("operator").Dial}.Status(t.Context(), machine(1)+":7400")
		require.NoError(t, err)
		require.Len(t, status.PendingContacts, 512)
	})
}

// neverLeads replaces the algorithm by a variant in which the member takes part in elections and never leads.
func neverLeads() option {
	return func(c *cluster.Config) {
		original := c.Algorithm
		if original == nil {
			original = bully.Factory
		}
		c.Algorithm = func(t algo.Timing, decode func(any) error) (algo.Spec, error) {
			spec, err := original(t, decode)
			return faultytest.NeverLeads(spec), err
		}
	}
}

// Log and status name a member that answers elections and never leads. Without a quorum the operator drops it from the
// lists. With vote another member is elected.
func TestMemberThatNeverLeadsIsNamed(t *testing.T) {
	for algorithm, misses := range map[string]string{
		"bully": "misses n5, which answered but did not become leader", "ring": "misses n5, which sent its token around but did not become leader",
		"vote": "misses n5, which got the vote of this node but did not become leader",
	} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) {
					c.Algorithm, c.Members = builtin.Lookup(algorithm), listOf(5)
				}
				f.start(5, neverLeads())
				testkit.Advance(time.Millisecond) // n5 listens before the others start
				correct := []*member{f.start(1), f.start(2), f.start(3), f.start(4)}
				testkit.Advance(time.Minute)
				faulty, err := f.operator().Status(t.Context(), "n5:7400")
				require.NoError(t, err)
				delete(f.live, "n5") // it follows itself
				for _, m := range correct {
					named := len(m.log.Lines("level=WARN", `msg="waiting for members"`, `why="no leader for`, "n5:7400: "+misses+" (elections: "))
					if algorithm != "vote" { // vote elects another member in the next round
						require.GreaterOrEqual(t, named, 1, "%s: %s", m.name, strings.Join(m.log.Lines(""), "\n"))
					}
					require.LessOrEqual(t, named, 13, m.name)
					if algorithm == "bully" { // three failed elections take less than RecoveryBound
						require.Len(t, m.log.Lines(`msg="waiting for members"`, `why="no leader for 1s`, "(elections: 3)"), 1, m.name)
					}
					require.Empty(t, m.log.Lines(`msg="waiting for members"`, "no leader for 0s", "(elections: 1)"), "one election proves nothing")
				}
				status, err := f.operator().Status(t.Context(), "n1:7400")
				require.NoError(t, err)
				if algorithm == "vote" {
					require.NotNil(t, status.Leader)
					require.NotEqual(t, faulty.Node, *status.Leader)
					require.Empty(t, status.PendingContacts)
					passesOver(t, f)
					return
				}
				require.Nil(t, status.Leader)
				require.Contains(t, fmt.Sprint(status.PendingContacts), "{n5:7400 "+misses+" (elections: ")
				for _, m := range correct {
					require.NoError(t, m.SetMembers(t.Context(), listOf(4)))
				}
				f.agree("n4", bound)
				before := correct[0].log.Lines(`msg="waiting for members"`)
				testkit.Advance(20 * time.Second)
				require.Equal(t, before, correct[0].log.Lines(`msg="waiting for members"`), "the node logs although it has a leader")
			})
		})
	}
}

// passesOver kills the leader several times, and fails the test unless the members follow another node than n5 each
// time.
func passesOver(t *testing.T, f *fleet) {
	t.Helper()
	for range 3 {
		one := f.live["n1"]
		if one == nil {
			one = f.live["n2"]
		}
		leader, _ := one.Leader()
		f.kill(f.live[leader.Name])
		testkit.Advance(3 * bound)
		for name, m := range f.live {
			next, known := m.Leader()
			require.True(t, known, name)
			require.NotEqual(t, "n5", next.Name, name)
		}
		f.start(int(leader.Name[1] - '0'))
		testkit.Advance(bound)
	}
}
