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

// A service that ticks once a second, on the leader only, and notes who ticked.
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

// A service is tested through a failover: minutes of its time, milliseconds of ours.
func Test_serviceFailsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		var s service
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), s.work) }()
		}

		c.Pass(3500 * time.Millisecond)
		c.Kill("n3")
		if next := c.Await(); next.Name != "n2" {
			t.Errorf("%s leads, want n2", next.Name)
		}
		c.Pass(2500 * time.Millisecond)

		want := []string{"n3", "n3", "n3", "n2", "n2"}
		if got := s.ticked(); !slices.Equal(got, want) {
			t.Errorf("ticked: %v, want %v", got, want)
		}
	})
}

// A leader that stops for a while goes on with its old ideas, and is told; so is one that
// was cut off.
func Test_serviceSurvivesPauseAndPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		c.Pause("n3")
		if next := c.Await("n1", "n2"); next.Name != "n2" {
			t.Errorf("%s leads while n3 is paused, want n2", next.Name)
		}
		c.Resume("n3")
		c.Await()
		c.Partition([]string{"n3"})
		c.Await("n1", "n2")
		c.Heal()
		c.Pass(time.Second)
		if next := c.Await(); next.Name != "n3" {
			t.Errorf("%s leads in the end, want n3", next.Name)
		}
		c.Stop("n3")
		c.Await()
	})
}

// A bad link is not the end of a leader's work: the others hear it.
func Test_serviceSurvivesBadLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3})
		var s service
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), s.work) }()
		}
		c.Cut("n3", "n1") // what n3 sends
		c.Pass(1500 * time.Millisecond)
		c.Network.Cut("n1", "n3") // and now the whole link
		c.Pass(2 * time.Second)
		c.Heal()
		if got, want := s.ticked(), []string{"n3", "n3", "n3"}; !slices.Equal(got, want) {
			t.Errorf("ticked: %v, want %v", got, want)
		}
	})
}

// A service that writes through a gate loses nothing to a leader that was paused and does not know that it was
// replaced: what that writes is refused, as soon as the next one has written. And a follower finds the leader's address.
func Test_serviceWritesThroughGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) {
			c.Meta = map[string]string{"http": c.Name + ":8080"}
			c.Lease = lease.Off // a lease would end the work of n3 before n2 leads
		}})
		gate := fence.NewMemory()
		var mu sync.Mutex
		var lines, refused []string
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
					refused = append(refused, l.Name)
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
		c.Pass(2500 * time.Millisecond)
		c.Pause("n3") // and what it does goes on
		if l := c.Await("n1", "n2"); l.Meta()["http"] != "n2:8080" {
			t.Errorf("requests go to %v, want n2:8080", l.Meta())
		}
		c.Pass(3 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		first := slices.Index(lines, "n2")
		if first < 0 || slices.Contains(lines[first:], "n3") || len(refused) == 0 || slices.Contains(refused, "n2") {
			t.Errorf("written: %v, refused: %v, want nothing of n3 after n2, and n3 refused", lines, refused)
		}
	})
}

// One cluster elects one leader. For a leader per job each host runs a node of one cluster per job, at a port of its
// own; priorities spread the leaders over the hosts.
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
		testkit.Pass(10 * time.Second)
		for j, job := range jobs {
			if got := leads(job, "c"); got != hosts[j] {
				t.Errorf("%s leads %s, want %s", got, job, hosts[j])
			}
		}
		processes["a"].Kill() // the whole host: another does its job, and the rest stays
		testkit.Pass(10 * time.Second)
		if got := leads("billing", "c"); got == "a" || got != leads("billing", "b") || leads("cleanup", "c") != "b" || leads("reports", "b") != "c" {
			t.Errorf("after the end of a %s leads billing, %s cleanup, %s reports", got, leads("cleanup", "c"), leads("reports", "b"))
		}
		stop()
		running.Wait()
	})
}
