package etcd_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
)

// slowRenewals delays each answer to a renewal, and records when the last answered renewal was sent.
type slowRenewals struct {
	delay time.Duration

	mu       sync.Mutex
	sent     time.Time
	answered int
}

func (s *slowRenewals) intercept(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := next(ctx, d, c, method, o...)
	if err == nil && strings.HasSuffix(method, "/LeaseKeepAlive") {
		stream = &slowStream{ClientStream: stream, slow: s}
	}
	return stream, err
}

type slowStream struct {
	grpc.ClientStream
	slow *slowRenewals
	sent time.Time
}

func (s *slowStream) SendMsg(m any) error {
	s.sent = time.Now()
	return s.ClientStream.SendMsg(m)
}

func (s *slowStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	time.Sleep(s.slow.delay) // on the way back
	s.slow.mu.Lock()
	defer s.slow.mu.Unlock()
	if s.slow.answered++; s.sent.After(s.slow.sent) {
		s.slow.sent = s.sent
	}
	return nil
}

// The servers count the TTL from the arrival of a renewal. Its answer may be late, so the contender must count from the
// moment when it sent the renewal.
func TestDeadlineCountsFromSendingOfRenewal(t *testing.T) {
	slow := &slowRenewals{delay: 300 * time.Millisecond}
	g := newGroup(t, startServers(t), 0)
	c := g.config("n1", newLink())
	c.DialOptions = append(c.DialOptions, grpc.WithStreamInterceptor(slow.intercept))
	e, err := etcd.New(c)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = elector.Run(ctx, e, func(ctx context.Context, l elector.Leadership) error {
		for ctx.Err() == nil {
			end, bounded := l.Deadline()
			require.True(t, bounded)
			slow.mu.Lock()
			sent, answered := slow.sent, slow.answered
			slow.mu.Unlock()
			if answered > 0 {
				latest := sent.Add(ttl * time.Second * 9 / 10)
				require.LessOrEqual(t, end.Sub(latest), 10*time.Millisecond, "the deadline is later than nine tenths of the TTL after the sending")
			}
			if answered >= 4 {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		return context.Cause(ctx)
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "too few renewals were answered")
}
