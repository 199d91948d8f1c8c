package clustertest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
)

// service is what the test is about: it works while its node leads.
type service struct{ working atomic.Int32 }

func (s *service) work(ctx context.Context, _ cluster.Leadership) error {
	s.working.Add(1)
	defer s.working.Add(-1)
	<-ctx.Done()
	return nil
}

// testFailover is the body of a test: another node works after the leader was killed. It takes a few milliseconds,
// because time is virtual.
func testFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s service
		c := clustertest.New(t, clustertest.Config{Nodes: 3, Configure: func(config *cluster.Config) {
			config.Meta = map[string]string{"http": config.Name + ":8080"}
		}})
		for _, node := range c.Nodes() {
			go func() { _ = node.Lead(t.Context(), s.work) }()
		}
		old := c.Await() // all nodes follow one leader
		c.Kill(old.Name)
		if next := c.Await(); next.Name == old.Name || next.Epoch <= old.Epoch {
			t.Errorf("%v leads after %v", next, old)
		}
		synctest.Wait()
		if n := s.working.Load(); n != 1 {
			t.Errorf("%d nodes work, want 1", n)
		}
	})
}

// A test of a failover. Call it as func TestFailover(t *testing.T) of your package.
func Example() {
	_ = testFailover
}
