package kubernetes_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

// shown is one result of an observer.
type shown struct {
	elector.Leadership
	err error
}

// observe starts an observer of the election of a group. The channel is closed when it has ended.
func observe(ctx context.Context, t *testing.T, g *kubetest.Group, l *kubetest.Link) <-chan shown {
	c := g.Config("observer")
	c.REST = l.Wrap(c.REST)
	e, err := inVirtualTime(c)
	require.NoError(t, err)
	all := make(chan shown, 100)
	go func() {
		defer close(all)
		kubernetes.ObserveWith(ctx, e, func(l elector.Leadership, err error) bool {
			all <- shown{l, err}
			return true
		})
	}()
	return all
}

func TestObserve(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		ctx, stop := context.WithCancel(t.Context())
		link := kubetest.NewLink()
		all := observe(ctx, t, g, link)
		require.Equal(t, shown{}, <-all, "there is no Lease")
		g.Start("n1")
		leader := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		require.Equal(t, shown{Leadership: leader}, <-all)
		require.NoError(t, s.Edit(keyOf(g), func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }))
		time.Sleep(4 * duration)
		require.Empty(t, all, "renewals are no change")

		began := time.Now()
		g.Member("n1").Link.Kill()
		_ = g.Member("n1").Stop()
		require.Equal(t, shown{}, <-all)
		require.LessOrEqual(t, time.Since(began), duration, "the Lease has expired")

		began = time.Now()
		s.Kill()
		lost := <-all
		require.ErrorContains(t, lost.err, "kubernetes: read Lease default/"+g.Lease+": ")
		require.Zero(t, lost.Token)
		require.GreaterOrEqual(t, time.Since(began), duration-duration/3, "an error that does not last is not shown")
		require.Less(t, time.Since(began), 2*duration)
		s.Start()
		require.Equal(t, shown{}, <-all)

		link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if isWatch(r) { // a watch would close its connection when its context ends
				return nil, errLost
			}
			return next.RoundTrip(r)
		})
		time.Sleep(duration)
		require.NotZero(t, link.Conns())
		stop()
		_, isOpen := <-all
		require.False(t, isOpen)
		require.Zero(t, link.Conns(), "no connection is left")
	})
}

// An error that an operator must fix ends an observer at its start.
func TestObserverIsForbidden(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		link := kubetest.NewLink()
		link.Intercept(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) { return reject(r, forbidden()) })
		all := observe(t.Context(), t, g, link)
		require.ErrorContains(t, (<-all).err, "no role allows it")
		_, isOpen := <-all
		require.False(t, isOpen)
	})
}

func TestGiveUp(t *testing.T) {
	virtually(t, 2, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		old := agree(t, g)
		c := g.Config("other")
		require.NoError(t, kubernetes.GiveUp(t.Context(), c, old.Token+1))
		keeps(t, g.Elector(old.Name), old.Token, 2*duration)
		g.Member(old.Name).Link.Kill()
		_ = g.Member(old.Name).Stop()
		other := map[string]string{"n1": "n2", "n2": "n1"}[old.Name]
		began := time.Now()
		require.NoError(t, kubernetes.GiveUp(t.Context(), c, old.Token))
		next := enginetest.WaitState(t, g.Elector(other), enginetest.IsLeader).Leader
		require.Less(t, time.Since(began), duration/10, "no contender waits for the Lease")
		require.Greater(t, next.Token, old.Token)
		require.NoError(t, kubernetes.GiveUp(t.Context(), c, old.Token), "it is over")
		keeps(t, g.Elector(other), next.Token, 2*duration)
		g.Stop(other)
		require.NoError(t, s.Delete(keyOf(g)))
		require.NoError(t, kubernetes.GiveUp(t.Context(), c, next.Token), "the Lease is no more")
		s.Kill()
		require.ErrorContains(t, kubernetes.GiveUp(t.Context(), c, next.Token), "kubernetes: read Lease default/"+g.Lease+": ")
	})
}

// A write between the read and the release causes a conflict. Then GiveUp reads the Lease again.
func TestGiveUpAfterConflict(t *testing.T) {
	virtually(t, 1, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		old := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader).Leader
		g.Member("n1").Link.Kill()
		_ = g.Member("n1").Stop()
		link := kubetest.NewLink()
		var once sync.Once
		link.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if isWrite(r) {
				once.Do(func() {
					_ = s.Edit(keyOf(g), func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} })
				})
			}
			return next.RoundTrip(r)
		})
		c := g.Config("other")
		c.REST = link.Wrap(c.REST)
		require.NoError(t, kubernetes.GiveUp(t.Context(), c, old.Token))
		l, err := s.Get(keyOf(g))
		require.NoError(t, err)
		require.Empty(t, *l.Spec.HolderIdentity)
		require.NotEmpty(t, l.Labels)
	})
}

// RenewDeadline and RetryPeriod have the same meaning as in client-go.
func TestRenewDeadlineAndRetryPeriod(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		c := g.Config("n1")
		c.RenewDeadline, c.RetryPeriod = 2*time.Second, 500*time.Millisecond
		var mu sync.Mutex
		var writes []time.Time
		m := g.StartWith(c, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if isWrite(r) {
				mu.Lock()
				defer mu.Unlock()
				writes = append(writes, time.Now())
			}
			return next.RoundTrip(r)
		})
		leader := enginetest.WaitState(t, m, enginetest.IsLeader).Leader
		keeps(t, m, leader.Token, 10*time.Second)
		m.Link.Intercept(func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, errLost })
		enginetest.WaitState(t, m, func(s elector.State) bool { return !s.IsLeader })
		require.InDelta(t, 10*time.Second/c.RetryPeriod, len(writes), 2)
		require.Equal(t, c.RenewDeadline, time.Since(writes[len(writes)-1]))
	})
}
