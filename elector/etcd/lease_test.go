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
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

// renewals records when each renewal was sent. Before it sends the next one, it calls check with the time of the last
// renewal that was answered.
type renewals struct {
	mu    sync.Mutex
	sent  time.Time // of the last renewal that was answered; zero for none
	check func(sent time.Time)
}

func (r *renewals) intercept(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := next(ctx, d, c, method, o...)
	if err == nil && strings.HasSuffix(method, "/LeaseKeepAlive") {
		stream = &renewal{ClientStream: stream, renewals: r}
	}
	return stream, err
}

func (r *renewals) setCheck(check func(sent time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check = check
}

// renewal is the stream of one renewal.
type renewal struct {
	grpc.ClientStream
	renewals *renewals
	sent     time.Time
}

func (r *renewal) SendMsg(m any) error {
	r.renewals.mu.Lock()
	defer r.renewals.mu.Unlock()
	if r.renewals.check != nil && !r.renewals.sent.IsZero() {
		r.renewals.check(r.renewals.sent)
	}
	r.sent = time.Now()
	return r.ClientStream.SendMsg(m)
}

func (r *renewal) RecvMsg(m any) error {
	if err := r.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	r.renewals.mu.Lock()
	defer r.renewals.mu.Unlock()
	r.renewals.sent = r.sent
	return nil
}

// The servers count the TTL from the arrival of a renewal. Its answer may be late, so the contender must count from the
// moment when it sent the renewal. The contender reads its clock before this test does, so the test needs no tolerance.
func TestDeadlineCountsFromSendingOfRenewal(t *testing.T) {
	var sending renewals
	g := newGroup(t, etcdtest.Start(t), 0)
	c := g.config("n1", enginetest.NewLink())
	c.DialOptions = append(c.DialOptions, grpc.WithStreamInterceptor(sending.intercept))
	e, err := etcd.New(c)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const wanted = 4
	late := make(chan time.Duration, wanted)
	err = elector.Run(ctx, e, func(ctx context.Context, l elector.Leadership) error {
		defer sending.setCheck(nil)
		sending.setCheck(func(sent time.Time) {
			end, _ := l.Deadline()
			select {
			case late <- end.Sub(sent.Add(ttl * time.Second * 9 / 10)):
			default:
			}
		})
		for range wanted {
			select {
			case by := <-late:
				require.LessOrEqual(t, by, time.Duration(0), "the deadline is later than nine tenths of the TTL after the sending")
				require.Greater(t, by, -time.Second, "the deadline does not follow the renewals")
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "too few renewals were answered")
}
