package client_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/transport"
)

func TestErrors(t *testing.T) {
	listen := func(t *testing.T, serve func(net.Conn)) (addr string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serve(c)
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
		return l.Addr().String()
	}
	t.Run("no address", func(t *testing.T) {
		_, err := client.Client{}.Status(t.Context(), "nonsense")
		require.EqualError(t, err, `client: "nonsense" is not host:port: address nonsense: missing port in address`)
	})
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l.Close()
		_, err = client.Client{}.Status(t.Context(), l.Addr().String())
		require.Equal(t, transport.ConnRefused, transport.Cause(err))
		require.ErrorContains(t, err, l.Addr().String())
	})
	t.Run("not a node", func(t *testing.T) {
		for _, banner := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "", "\x00\x00\x00\x02\x91\xc0"} {
			addr := listen(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 1024))
				_, _ = c.Write([]byte(banner))
			})
			_, err := client.Client{}.Status(t.Context(), addr)
			require.ErrorIs(t, err, client.ErrNotNode, "%q", banner)
			require.ErrorContains(t, err, addr)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		release := make(chan struct{})
		addr := listen(t, func(net.Conn) { <-release })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := client.Client{}.Status(ctx, addr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
	})
}

// A dial to a member that does not answer ends shortly before the caller's deadline, and after 1 s without one.
func TestDialTakesAsLongAsCallerWaits(t *testing.T) {
	leave := func(ctx context.Context, c client.Client) error { return c.Leave(ctx, "10.0.0.1:7400") }
	status := func(ctx context.Context, c client.Client) error {
		_, err := c.Status(ctx, "10.0.0.1:7400")
		return err
	}
	for _, test := range []struct {
		name    string
		timeout time.Duration
		request func(context.Context, client.Client) error
		want    time.Duration
	}{
		{"admin request", 10 * time.Second, leave, 9800 * time.Millisecond},
		{"status", 2 * time.Second, status, 1800 * time.Millisecond},
		{"without a deadline", 0, leave, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.timeout > 0 {
					limited, cancel := context.WithTimeout(ctx, test.timeout)
					defer cancel()
					ctx = limited
				}
				start := time.Now()
				err := test.request(ctx, client.Client{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}})
				require.ErrorContains(t, err, "dial not done within "+test.want.String())
				require.Equal(t, transport.Timeout, transport.Cause(err))
				require.Equal(t, test.want, time.Since(start))
			})
		})
	}
}
