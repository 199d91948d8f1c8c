package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/testkit"
)

// startOn starts node b on a host of a network that may be split.
func startOn(t *testing.T, lab *netlab.Lab, host int, b byte, change ...func(*Options)) *node {
	t.Helper()
	var l net.Listener
	require.NoError(t, lab.Do(host, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(lab.Addr(host), "0"))
		return err
	}))
	dial := func(o *Options) {
		o.Dial = func(ctx context.Context, addr string) (nc net.Conn, err error) {
			err = lab.Do(host, func() (err error) {
				nc, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
				return err
			})
			return nc, err
		}
	}
	return startNode(t, b, 1, l, l.Addr().String(), append(change, dial)...)
}

// TCP retransmits at growing intervals, so after a network failure a connection may stay silent for as long as the
// failure lasted. The transport closes a connection without acknowledgements.
func TestUnacknowledgedConnectionIsClosed(t *testing.T) {
	testkit.OnlyLong(t)
	const within = 500 * time.Millisecond
	lab, err := netlab.New(2)
	if errors.Is(err, netlab.ErrUnavailable) {
		testkit.Need(t, false, err.Error())
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, lab.Close()) }()
	shorten := func(o *Options) { o.writeTimeout = within }
	a, b := startOn(t, lab, 0, 1, shorten), startOn(t, lab, 1, 2, shorten)
	a.SetAddr(b.id, b.addr)
	b.SetAddr(a.id, a.addr)
	// A dial makes one attempt, which may time out on a busy machine.
	connect := func(ups int) {
		a.until(t, func(lines []string) bool {
			up := count(lines, "up") == ups
			if !up {
				a.Dial(Target{ID: b.id}) // does nothing while a dial is under way
			}
			return up
		})
	}
	connect(1)
	b.untilLine(t, "up 1/1")

	require.NoError(t, lab.Split())
	begin := time.Now()
	require.True(t, a.Send(b.id, body("lost")))
	require.True(t, b.Send(a.id, body("lost"))) // the side that accepted must close, too
	for n, line := range map[*node]string{a: "down 2/1 timeout", b: "down 1/1 timeout"} {
		n.untilLine(t, line)
		require.ErrorIs(t, n.lastWhy(), syscall.ETIMEDOUT)
		require.ErrorContains(t, n.lastWhy(), "transport: connection lost")
	}
	require.GreaterOrEqual(t, time.Since(begin), within)

	require.NoError(t, lab.Heal())
	connect(2)
	require.True(t, a.Send(b.id, body("again")))
	b.untilLine(t, "frame 1 again")
	require.NotContains(t, b.all(), "frame 1 lost")
}
