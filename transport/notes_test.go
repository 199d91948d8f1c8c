package transport

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// The implementation notes of the bully readme that are about the transport, by number.

// typed is a listener that reports the connections that it accepts.
type typed struct {
	net.Listener
	conns chan net.Conn
}

func (l typed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.conns <- c
	}
	return c, err
}

// Note 6: "TCP is used as the transport." A transport without configuration dials TCP.
func TestNote6TransportIsTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	conns := make(chan net.Conn, 1)
	a, b := startNode(t, 1, 1, typed{l, conns}, l.Addr().String()), startTCP(t, 2, 1)
	b.Dial(Target{ID: a.id, Addr: a.addr})
	a.untilLine(t, "up 2/1")
	b.untilLine(t, "up 1/1")
	require.IsType(t, &net.TCPConn{}, <-conns)
}

// Note 10: "Blocking I/O is used in conjunction with TCP as the transport", for "message
// delivery between processes is reliable". Frames that the receiver does not read wait: none is lost,
// duplicated or reordered.
func TestNote10UnreadFramesWait(t *testing.T) {
	const frames = 500
	a := startTCP(t, 1, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := startNode(t, 2, 1, l, l.Addr().String(), func(o *Options) { o.Handler.(*recorder).block = make(chan struct{}) })
	a.Dial(Target{ID: b.id, Addr: b.addr})
	a.untilLine(t, "up 2/1")
	b.untilLine(t, "up 1/1")
	for i := range frames {
		require.True(t, a.Send(b.id, body(fmt.Sprint(i))))
	}
	require.Empty(t, b.with("frame"), "its handler blocks")
	close(b.block)
	b.untilLine(t, fmt.Sprintf("frame 1 %d", frames-1))
	for i, line := range b.with("frame") {
		require.Equal(t, fmt.Sprintf("frame 1 %d", i), line)
	}
	require.Len(t, b.with("frame"), frames)
}
