package clustertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/fence"
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

// A service that writes through a gate loses nothing to a leader that was paused and does not know that it was
// replaced: what that writes is refused, as soon as the next one has written. And a follower finds the leader's address.
func Test_serviceThatWritesThroughAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(c *cluster.Config) {
			c.Meta = map[string]string{"http": c.Name + ":8080"}
		}})
		gate := fence.New()
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
				time.Sleep(time.Second)
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
