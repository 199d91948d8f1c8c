package clustertest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
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
func Test_serviceThroughAFailover(t *testing.T) {
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
func Test_serviceThroughAPauseAndAPartition(t *testing.T) {
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
		if next := c.Await(); next.Name != "n3" {
			t.Errorf("%s leads in the end, want n3", next.Name)
		}
		c.Stop("n3")
		c.Await()
	})
}

// A bad link is not the end of a leader's work: the others hear it.
func Test_serviceBesideABadLink(t *testing.T) {
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
