package enginetest

import (
	"bufio"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// startEcho starts a server that sends back what it receives.
func startEcho(t *testing.T) (address string) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listen.Close() })
	go func() {
		for {
			c, err := listen.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return listen.Addr().String()
}

// client is a connection to an echo server.
type client struct {
	net.Conn
	lines chan string // closed when the connection ends
}

func connectTo(t *testing.T, address string) *client {
	raw, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { raw.Close() })
	c := &client{raw, make(chan string, 9)}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(c); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	return c
}

func (c *client) send(t *testing.T, line string) {
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
}

func TestLink(t *testing.T) {
	server := startEcho(t)
	l := NewLink()
	address := l.Proxy(t, server)
	whole := connectTo(t, NewLink().Proxy(t, server)) // its echo shows that the bytes of the others had time to pass
	old := connectTo(t, address)
	old.send(t, "a")
	require.Equal(t, "a", <-old.lines)

	l.Cut()
	old.send(t, "b")
	late := connectTo(t, address)
	late.send(t, "c")
	whole.send(t, "d")
	require.Equal(t, "d", <-whole.lines)
	require.Empty(t, old.lines)
	require.Empty(t, late.lines)
	l.Heal()
	require.Equal(t, "b", <-old.lines)
	require.Equal(t, "c", <-late.lines)
	require.Equal(t, 2, l.Conns())

	l.Freeze()
	old.send(t, "e")
	fresh := connectTo(t, address)
	fresh.send(t, "f")
	require.Equal(t, "f", <-fresh.lines)
	require.Empty(t, old.lines, "a frozen connection loses its bytes")

	l.Cut()
	fresh.send(t, "g")
	l.Kill()
	for _, c := range []*client{old, late, fresh} {
		_, isOpen := <-c.lines
		require.False(t, isOpen, "Kill closes all connections")
	}
	_, err := net.Dial("tcp", address)
	require.Error(t, err)
	require.Zero(t, l.Conns())
}
