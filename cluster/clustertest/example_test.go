package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/fence"
	"github.com/elect-go/elect/internal/testkit"
)

// The test of a service: the callback of Lead runs on one node, and on another one after the leader is killed.
func ExampleNew() {
	testFailover := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Config{Nodes: 3})
			started := make(chan string, 2)
			for _, node := range c.Nodes() {
				go func() {
					_ = node.Lead(t.Context(), func(ctx context.Context, l cluster.Leadership) error {
						started <- l.Name
						<-ctx.Done()
						return context.Cause(ctx)
					})
				}()
			}
			old := c.WaitLeader()
			c.Kill(old.Name)
			next := c.WaitLeader()
			for _, want := range []string{old.Name, next.Name} {
				if got := <-started; got != want {
					t.Errorf("the callback runs on %s, want %s", got, want)
				}
			}
		})
	}
	_ = testFailover // in a file of tests this is func TestFailover
}

// service ticks once a second, on the leader only, and records the name of the leader.
type service struct {
	mu    sync.Mutex
	ticks []string
}

func (s *service) work(ctx context.Context, l cluster.Leadership) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mu.Lock()
			s.ticks = append(s.ticks, l.Name)
			s.mu.Unlock()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *service) ticked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ticks...)
}

// The test of a failover takes milliseconds, because the time of the bubble is virtual.
func Test_serviceFailsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		var s service
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), s.work) }()
		}

		c.Advance(3500 * time.Millisecond)
		c.Kill("n3")
		if next := c.WaitLeader(); next.Name != "n2" {
			t.Errorf("%s leads, want n2", next.Name)
		}
		c.Advance(2500 * time.Millisecond)

		want := []string{"n3", "n3", "n3", "n2", "n2"}
		if got := s.ticked(); !slices.Equal(got, want) {
			t.Errorf("ticked: %v, want %v", got, want)
		}
	})
}

// A leader that was paused learns that another node has led, and leads again. So does a leader that was cut off.
func Test_serviceSurvivesPauseAndPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		c.Pause("n3")
		if next := c.WaitLeader("n1", "n2"); next.Name != "n2" {
			t.Errorf("%s leads while n3 is paused, want n2", next.Name)
		}
		c.Resume("n3")
		c.WaitLeader()
		c.Partition([]string{"n3"})
		c.WaitLeader("n1", "n2")
		c.Heal()
		c.Advance(time.Second)
		if next := c.WaitLeader(); next.Name != "n3" {
			t.Errorf("%s leads in the end, want n3", next.Name)
		}
		c.Stop("n3")
		c.WaitLeader()
	})
}

// A leader with one bad link continues to lead, because the other followers hear it.
func Test_serviceSurvivesBadLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		var s service
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), s.work) }()
		}
		c.Cut("n3", "n1") // one direction
		c.Advance(1500 * time.Millisecond)
		c.Network.Cut("n1", "n3") // and now both directions
		c.Advance(2 * time.Second)
		c.Heal()
		if got, want := s.ticked(), []string{"n3", "n3", "n3"}; !slices.Equal(got, want) {
			t.Errorf("ticked: %v, want %v", got, want)
		}
	})
}

// A service writes with a fencing token. A paused leader that does not know of its successor cannot overwrite newer
// data: the gate rejects its writes as soon as the successor has written. The followers know the address of the leader.
func Test_serviceWritesThroughGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) {
			c.Meta = map[string]string{"http": c.Name + ":8080"}
			c.Lease = lease.Off // with a lease the callback of n3 would end before n2 leads
		}})
		gate := fence.NewMemory()
		var mu sync.Mutex
		var lines, rejected []string
		work := func(ctx context.Context, l cluster.Leadership) error {
			token := fence.Token{Cluster: l.Cluster, Number: l.Token}
			for ctx.Err() == nil {
				err := gate.Write(context.WithoutCancel(ctx), token, func() error {
					mu.Lock()
					defer mu.Unlock()
					lines = append(lines, l.Name)
					return nil
				})
				if errors.Is(err, fence.ErrStale) {
					mu.Lock()
					rejected = append(rejected, l.Name)
					mu.Unlock()
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			return context.Cause(ctx)
		}
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), work) }()
		}
		c.Advance(2500 * time.Millisecond)
		c.Pause("n3") // its callback runs on
		if l := c.WaitLeader("n1", "n2"); l.Meta()["http"] != "n2:8080" {
			t.Errorf("requests go to %v, want n2:8080", l.Meta())
		}
		c.Advance(3 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		first := slices.Index(lines, "n2")
		if first < 0 || slices.Contains(lines[first:], "n3") || len(rejected) == 0 || slices.Contains(rejected, "n2") {
			t.Errorf("written: %v, rejected: %v, want no write of n3 after n2, and writes of n3 rejected", lines, rejected)
		}
	})
}

// One cluster elects one leader. For a leader per job, each host runs one node per job. The nodes of a job form a
// cluster at their own port. Priorities spread the leaders over the hosts.
func Test_leaderPerJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := clustertest.NewNetwork()
		hosts, jobs := []string{"a", "b", "c"}, []string{"billing", "cleanup", "reports"}
		processes := make(map[string]*clustertest.Process)
		nodes := make(map[string]map[string]*cluster.Node) // by job and host
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for j, job := range jobs {
			nodes[job] = make(map[string]*cluster.Node)
			var members []string
			for _, host := range hosts {
				members = append(members, fmt.Sprint(host, ":", 7400+j))
			}
			for h, host := range hosts {
				if processes[host] == nil {
					processes[host] = network.Process(host)
				}
				config := cluster.Config{Cluster: job, Name: host, Listen: members[h], Members: members, Lease: lease.Off, Network: processes[host].Cluster()}
				if h == j {
					config.Priority = 1
				}
				node, err := cluster.New(config)
				if err != nil {
					t.Fatal(err)
				}
				nodes[job][host] = node
				running.Go(func() { _ = node.Run(ctx) })
			}
		}
		leads := func(job, at string) string {
			l, _ := nodes[job][at].Leader()
			return l.Name
		}
		testkit.Advance(10 * time.Second)
		for j, job := range jobs {
			if got := leads(job, "c"); got != hosts[j] {
				t.Errorf("%s leads %s, want %s", got, job, hosts[j])
			}
		}
		processes["a"].Kill() // kill the whole host: another host takes its job, and the other leaders stay
		testkit.Advance(10 * time.Second)
		if got := leads("billing", "c"); got == "a" || got != leads("billing", "b") || leads("cleanup", "c") != "b" || leads("reports", "b") != "c" {
			t.Errorf("after host a was killed, %s leads billing, %s cleanup, %s reports", got, leads("cleanup", "c"), leads("reports", "b"))
		}
		stop()
		running.Wait()
	})
}
