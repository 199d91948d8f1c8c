package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// dns is a resolver for tests. Names without an entry do not exist.
type dns struct {
	mu    sync.Mutex
	names map[string][]string
}

func newDNS() *dns { return &dns{names: make(map[string][]string)} }

func (d *dns) set(name string, addrs ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[name] = addrs
}

func (d *dns) lookup(_ context.Context, host string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if addrs := d.names[host]; len(addrs) > 0 {
		return slices.Clone(addrs), nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// site is a set of machines in virtual time, 10.0.0.1 and so on, with their resolver.
type site struct {
	t    *testing.T
	net  *clustertest.Network
	dns  *dns
	kept map[int]cluster.Store
}

func newSite(t *testing.T) *site {
	return &site{t: t, net: clustertest.NewNetwork(), dns: newDNS(), kept: make(map[int]cluster.Store)}
}

func machine(i int) string { return fmt.Sprintf("10.0.0.%d", i) }

func (s *site) start(i int, c cluster.Config) *member {
	c.Name, c.Listen = nameOf(i), machine(i)+":7400"
	if s.kept[i] == nil {
		s.kept[i] = store.NewMemory()
	}
	p := s.net.Process(machine(i))
	m := run(s.t, c, inProcess(p), withStore(s.kept[i]), withLookup(s.dns.lookup))
	m.process = p
	return m
}

// clusters returns the number of different leaders that the members follow, and the number of members that follow one.
func clusters(members ...*member) (leaders, following int) {
	seen := make(map[cluster.Leadership]bool)
	for _, m := range members {
		if l, known := m.Leader(); known {
			seen[l] = true
			following++
		}
	}
	return len(seen), following
}

// All nodes have one DNS name of all addresses as their seed. Either all of them or one may bootstrap. They form one
// cluster in whatever order they start.
func TestOneClusterIsBootstrapped(t *testing.T) {
	for name, may := range map[string]func(i int) bool{
		"one may":  func(i int) bool { return i == 2 },
		"all may":  func(int) bool { return true },
		"none may": func(int) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 0))
					s := newSite(t)
					all := []string{machine(1), machine(2), machine(3)}
					s.dns.set("elect", all...)
					var members []*member
					for _, i := range random.Perm(3) {
						members = append(members, s.start(i+1, cluster.Config{Bootstrap: may(i + 1), Join: []string{"elect:7400"}}))
						if random.IntN(2) > 0 {
							testkit.Advance(time.Duration(random.IntN(20)) * time.Millisecond)
						}
					}
					testkit.Advance(10 * time.Second)
					leaders, following := clusters(members...)
					if name == "none may" {
						require.Zero(t, leaders)
						return
					}
					require.Equal(t, [2]int{1, 3}, [2]int{leaders, following}, "seed %d", seed)
					for _, m := range members {
						require.Len(t, m.Members(), 3, "seed %d", seed)
					}
				})
			}
		})
	}
}

// A node with the setting bootstrap loses its volume. It joins its former cluster again. While another node is silent
// it waits, and logs the reason.
func TestBootstrapNodeWithLostVolumeRejoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		join := []string{machine(1) + ":7400", machine(2) + ":7400", machine(3) + ":7400"}
		start := func(i int) *member {
			return s.start(i, cluster.Config{Bootstrap: i == 1, Join: join})
		}
		one, two, three := start(1), start(2), start(3)
		testkit.Advance(5 * time.Second)
		leaders, following := clusters(one, two, three)
		require.Equal(t, [2]int{1, 3}, [2]int{leaders, following})

		one.process.Kill()
		_ = one.halt()
		two.process.Pause()
		three.process.Pause()
		s.kept[1] = nil
		one = start(1)
		testkit.Advance(30 * time.Second)
		leaders, _ = clusters(one)
		require.Zero(t, leaders, "the node created a second cluster")
		require.NotEmpty(t, one.log.Lines(`msg="waiting for members"`, "it bootstraps a cluster only when no address is silent"))
		two.process.Resume()
		three.process.Resume()
		testkit.Advance(30 * time.Second)
		leaders, following = clusters(one, two, three)
		require.Equal(t, [2]int{1, 3}, [2]int{leaders, following})
		require.Len(t, two.Members(), 3)
	})
}

// A node without seeds, members or bootstrap stops. The error names the missing settings.
func TestNodeWithoutPeersInSettingsStops(t *testing.T) {
	for want, c := range map[string]cluster.Config{
		"set bootstrap, join or members":            {},
		"join names only this node (":               {Join: []string{machine(1) + ":7400"}},
		"the settings name no members: set members": {Lease: lease.Off},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := newSite(t).start(1, c).ends(t, bound)
			require.ErrorIs(t, err, cluster.ErrJoinRejected)
			require.ErrorContains(t, err, want)
		})
	}
}

// In a StatefulSet the nodes have equal lists of names, which resolve one by one after the nodes have started. The
// nodes agree within a second after the last name resolves. Ring may need two seconds for its elections.
func TestMembersWithLateDNSAgree(t *testing.T) {
	list := []string{"n1.elect:7400", "n2.elect:7400", "n3.elect:7400"}
	for algorithm, bound := range map[string]time.Duration{"bully": time.Second, "ring": 2 * time.Second, "vote": time.Second} {
		t.Run(algorithm, func(t *testing.T) {
			for seed := range uint64(10) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 0))
					s := newSite(t)
					var members []*member
					for i := 1; i <= 3; i++ {
						members = append(members, s.start(i, cluster.Config{Algorithm: builtin.Lookup(algorithm), Members: list, Advertise: list[i-1], Lease: lease.Off}))
					}
					for _, i := range random.Perm(3) {
						testkit.Advance(time.Duration(random.IntN(60_000)) * time.Millisecond)
						s.dns.set(nameOf(i+1)+".elect", machine(i+1))
					}
					testkit.Advance(bound)
					leaders, following := clusters(members...)
					require.Equal(t, [2]int{1, 3}, [2]int{leaders, following}, "seed %d", seed)
					for _, m := range members {
						require.Len(t, m.Members(), 3, "seed %d", seed)
					}
				})
			}
		})
	}
}

// As TestMembersWithLateDNSAgree, but over TCP.
func TestMembersWithLateDNSAgreeOverTCP(t *testing.T) {
	names := newDNS()
	var sockets []net.Listener
	var list []string
	for i := 1; i <= 3; i++ {
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(socket.Addr().String())
		require.NoError(t, err)
		sockets, list = append(sockets, socket), append(list, net.JoinHostPort(nameOf(i)+".elect", port))
	}
	var members []*member
	for i := 1; i <= 3; i++ {
		c := cluster.Config{Name: nameOf(i), Listen: sockets[i-1].Addr().String(), Advertise: list[i-1], Members: list, Algorithm: builtin.Lookup("vote"), DataDir: t.TempDir(), Lease: lease.Off}
		members = append(members, run(t, c, withLookup(names.lookup),
			withNetwork(func(string) (net.Listener, error) { return sockets[i-1], nil }, nil)))
	}
	for i := 1; i <= 3; i++ {
		names.set(nameOf(i)+".elect", "127.0.0.1")
	}
	for _, m := range members {
		m.shows(t, "a leader", patience, cluster.State.HasLeader)
	}
}
