package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test in a bubble with a cluster of the default algorithm and lease, and of each algorithm without a
// lease.
func each(t *testing.T, nodes int, test func(t *testing.T, c *clustertest.Cluster)) {
	for _, variant := range []string{"bully" + lease.Suffix, "bully", "ring", "vote"} {
		t.Run(variant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, clustertest.New(t, clustertest.Config{Nodes: nodes, Configure: func(c *cluster.Config) {
					word, isLeased := strings.CutSuffix(variant, lease.Suffix)
					if c.Algorithm = builtin.Lookup(word); !isLeased {
						c.Lease = lease.Off
					}
				}}))
			})
		})
	}
}

func TestKilledLeaderIsReplaced(t *testing.T) {
	each(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		old := c.WaitLeader()
		id, epoch := old.ID, old.Epoch
		before := time.Now()
		c.Kill(old.Name)
		next := c.WaitLeader()
		if next.Name == old.Name || next.Epoch <= epoch {
			t.Errorf("%+v leads after %+v", next, old)
		}
		most := 50*time.Millisecond + c.Node(next.Name).Config().Lease.Duration
		if took := time.Since(before); took > most {
			t.Errorf("the replacement took %v, want at most %v after the closed connections", took, most)
		}
		c.Start(old.Name)
		c.WaitLeader()
		for _, m := range c.Node(old.Name).Members() {
			if m.Name == old.Name && m.ID != id {
				t.Errorf("%s came back as %s, want %s", m.Name, m.ID, id)
			}
		}
	})
}

func TestPausedLeaderIsReplaced(t *testing.T) {
	each(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		old := c.WaitLeader()
		c.Pause(old.Name)
		next := c.WaitLeader()
		if next.Name == old.Name {
			t.Fatalf("%s is paused and leads", old.Name)
		}
		// The lease of a paused node expires. Without a lease its state does not change.
		if l, known := c.Node(old.Name).Leader(); known != c.Node(old.Name).Config().Lease.IsOff() || known && l.Name != old.Name {
			t.Errorf("a paused node follows %+v", l)
		}
		c.Resume(old.Name)
		if last := c.WaitLeader(); last.Epoch < next.Epoch {
			t.Errorf("%+v leads after %+v", last, next)
		}
	})
}

func TestPartitionAndHeal(t *testing.T) {
	each(t, 5, func(t *testing.T, c *clustertest.Cluster) {
		c.Partition([]string{"n1", "n2"}, []string{"n3", "n4", "n5"})
		if l := c.WaitLeader("n3", "n4", "n5"); l.Name < "n3" {
			t.Errorf("%s leads on the other side", l.Name)
		}
		c.Heal()
		c.WaitLeader()
	})
}

func TestCutIsOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		one, other := network.Process("one"), network.Process("other")
		l, err := one.Listen("one:1")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		conns := make(map[string]net.Conn)
		if conns["other"], err = other.Dial(t.Context(), "one:1"); err != nil {
			t.Fatal(err)
		}
		if conns["one"], err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		// arrives reports whether a byte that from sends arrives at to within a second.
		arrives := func(from, to string) bool {
			if _, err := conns[from].Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			_ = conns[to].SetReadDeadline(time.Now().Add(time.Second))
			_, err := conns[to].Read(make([]byte, 1))
			return err == nil
		}
		network.Cut("one", "other")
		if arrives("one", "other") || !arrives("other", "one") {
			t.Error("want a cut from one to other only")
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := other.Dial(soon, "one:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial over a link that is cut in one direction: %v", err)
		}
		network.Heal()
		if !arrives("one", "other") {
			t.Error("the link is cut after Heal")
		}
	})
}

// A follower without a link to the leader does not depose it. In a ring the link may be part of the ring, so the
// leader may be elected again.
func TestLeaderSurvivesOneBadLink(t *testing.T) {
	each(t, 5, func(t *testing.T, c *clustertest.Cluster) {
		leader := c.WaitLeader()
		follower := "n1"
		if leader.Name == follower {
			follower = "n2"
		}
		others := slices.DeleteFunc([]string{"n1", "n2", "n3", "n4", "n5"}, func(name string) bool { return name == follower })
		for _, cut := range []func(){
			func() { c.Cut(leader.Name, follower) },
			func() { c.Cut(follower, leader.Name) }, // now both directions are cut
		} {
			cut()
			c.Advance(3 * time.Second)
			l := c.WaitLeader(others...)
			if strings.HasSuffix(t.Name(), "/ring") {
				l.Epoch, l.Token = leader.Epoch, leader.Token
			}
			if l != leader {
				t.Errorf("%+v leads after %+v", l, leader)
			}
		}
		c.Heal()
		c.WaitLeader()
	})
}

func TestStopAndJoin(t *testing.T) {
	each(t, 3, func(t *testing.T, c *clustertest.Cluster) {
		c.Stop("n1")
		c.WaitLeader()
		c.Start("n1")
		c.Start("n4")
		c.WaitLeader()
		for _, node := range c.Nodes() {
			if all := node.Members(); len(all) != 4 {
				t.Errorf("%s knows %d members, want 4", node.Config().Name, len(all))
			}
		}
	})
}

// A service may create its node itself, in a process on a network in memory.
func TestServiceCreatesItsOwnNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		p := network.Process("alone")
		node, err := cluster.New(cluster.Config{Name: "alone", Listen: "alone:7400", Members: []string{"alone:7400"}, Lease: lease.Off, Network: p.Cluster()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- node.Run(ctx) }()
		led := errors.New("it led")
		if err := node.Lead(ctx, func(context.Context, cluster.Leadership) error { return led }); !errors.Is(err, led) {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestMisuseFailsTest(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(c *clustertest.Cluster)
		want string
	}{
		"an unknown node": {func(c *clustertest.Cluster) { c.Kill("n9") }, `no node of the name "n9" runs`},
		"a dead node":     {func(c *clustertest.Cluster) { c.Kill("n1"); c.Pause("n1") }, `no node of the name "n1" runs`},
		"started twice":   {func(c *clustertest.Cluster) { c.Start("n1") }, "n1 runs already"},
		"a wrong node":    {func(c *clustertest.Cluster) { c.Start("host with spaces") }, "host with spaces"},
		"a partition": {func(c *clustertest.Cluster) {
			c.Partition([]string{"n1"})
			testkit.Advance(time.Second) // until the nodes suspect each other
			c.WaitLeader()
		}, "no agreement among n1, n2 after"},
		"no running node": {func(c *clustertest.Cluster) { c.Kill("n1"); c.Kill("n2"); c.WaitLeader() }, "no agreement"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails(t, c.want, func(t testing.TB) { c.do(clustertest.New(t, clustertest.Config{Nodes: 2})) })
			})
		})
	}
	fails(t, "a cluster of 0 nodes", func(t testing.TB) { clustertest.New(t, clustertest.Config{}) })
}

// failing is a test that is expected to fail. It records the message of Fatalf.
type failing struct {
	testing.TB
	message  string
	cleanups []func()
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *failing) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }

func fails(t *testing.T, want string, test func(testing.TB)) {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	for _, do := range f.cleanups {
		do()
	}
	if !strings.Contains(f.message, want) {
		t.Errorf("the test failed with %q, want %q", f.message, want)
	}
}
