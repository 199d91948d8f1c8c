package transport

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// halfBroken is a connection on which each write fails once broken is set. Reads still succeed.
type halfBroken struct {
	net.Conn
	broken *atomic.Bool
}

func (c halfBroken) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// After a failed write, the transport reads for a moment, because earlier frames may explain the failure. A peer that
// sends nothing meanwhile must not keep the connection open or the processor busy.
func TestConnectionEndsAfterFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, broken := newMemory(), new(atomic.Bool)
		n := m.start(t, 1, 1, func(o *Options) {
			o.Security = func(nc net.Conn, _ bool) (net.Conn, any, error) { return halfBroken{nc, broken}, nil, nil }
		})
		r := m.raw(t, "n2", "n1")
		r.greet(id(2), 1, false)
		n.untilLine(t, "up 2/1")
		broken.Store(true)
		n.Send(id(2), body("lost"))
		testkit.Advance(2 * rejectLinger)
		require.Zero(t, n.open())
		require.ErrorIs(t, n.lastWhy(), syscall.EPIPE)
	})
}

// A session begins while the write loop collects a batch. Its frames are written before the close frame.
func TestCloseFrameFollowsQueuedFrames(t *testing.T) {
	s := &session{peer: newPeer(id(2))}
	c := &conn{t: new(Transport), session: s}
	hadSession := c.hasSession.Load()
	s.peer.session, s.active = s, c
	c.hasSession.Store(true)
	require.True(t, s.peer.queue.push(body("x"), &defaultLimits))
	c.finishing = true

	batch, _, last := c.collectBatch(hadSession)
	require.Empty(t, batch)
	require.False(t, last)
	batch, frames, last := c.collect()
	require.Equal(t, appendControl(appendFrame(nil, body("x")), controlClose, ""), batch)
	require.Equal(t, 1, frames)
	require.True(t, last)
}
