package cluster_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/tlsauth"
)

// The loop creates one status for all concurrent requests.
func TestStatusRequestsShareOneReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		m := f.grow(1)[0]
		release := m.Hold()
		answers := make([]cluster.Status, 60)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				if i%2 == 0 {
					s, err := f.operator().Status(t.Context(), addrOf(1))
					require.NoError(t, err)
					answers[i] = s
				} else {
					s, err := m.RecentStatus(t.Context())
					require.NoError(t, err)
					answers[i] = *s
				}
			})
		}
		synctest.Wait()
		require.Equal(t, 1, m.Waiting())
		release()
		wg.Wait()
		for _, s := range answers {
			require.Equal(t, answers[0].Counters, s.Counters)
		}
		require.NoError(t, f.operator().SetPriority(t.Context(), addrOf(1), 7))
		s, err := f.operator().Status(t.Context(), addrOf(1))
		require.NoError(t, err)
		require.Equal(t, 7, s.Members[0].Priority, "the next status does not show the change")
	})
}

// A node rejects an unauthorized admin request even while its loop hangs.
func TestUnauthorizedRequestDoesNotReachLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newAuthority(t)
		f.config = func(c *cluster.Config) { c.TLS = a.certificate(tlsauth.Member, c.Name) }
		m := f.grow(1)[0]
		release := m.Hold()
		defer release()
		observer := f.client(tlsauth.Config{TLS: a.certificate(tlsauth.Observer)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var refused *client.RejectedError
		require.ErrorAs(t, observer.SetPriority(ctx, addrOf(1), 7), &refused)
		require.Zero(t, m.Waiting())
		_, err := observer.Status(ctx, addrOf(1))
		require.ErrorContains(t, err, "the loop of the node has not answered within 5s")
	})
}

// The error of an unanswered admin request says whether the node may have received it.
func TestUnansweredRequestReportsWhetherSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		m := f.grow(1)[0]
		release := m.Hold()
		outcome := make(chan error)
		go func() { outcome <- f.operator().SetPriority(t.Context(), addrOf(1), 7) }()
		synctest.Wait()
		m.process.Kill()
		err := <-outcome
		unanswered, ok := errors.AsType[*client.NoReplyError](err)
		require.True(t, ok, "%v", err)
		require.True(t, unanswered.Sent)
		require.ErrorContains(t, err, "the request may have been carried out; look with elect status")
		release()

		err = f.operator().SetPriority(t.Context(), addrOf(1), 7)
		unanswered, ok = errors.AsType[*client.NoReplyError](err)
		require.True(t, ok, "%v", err)
		require.False(t, unanswered.Sent)
		require.ErrorContains(t, err, "the request was not sent")
	})
}
