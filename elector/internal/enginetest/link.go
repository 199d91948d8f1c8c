// Package enginetest has helpers for the tests of outside engines: a network of a contender that a test can cut, a
// contender in a process of its own, and the tests of a command elect-ENGINE.
//
//	link := enginetest.NewLink() // the contender first dials through link.Dial
//	running := enginetest.Run(first)
//	leader := enginetest.Await(t, second, elector.State.HasLeader).Leader
//	link.Cut()
//	enginetest.Await(t, second, enginetest.IsAfter(leader)) // the next leader
package enginetest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Link is the network between one contender and the servers. It also works in a bubble of testing/synctest.
type Link struct {
	dead    chan struct{} // closed by Kill
	proxies sync.WaitGroup

	mu       sync.Mutex
	whole    chan struct{} // closed while the link is not cut
	conns    map[*conn]struct{}
	isKilled bool
}

// DialFunc connects to an address.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// conn is a connection. Its bytes wait while its link is cut.
type conn struct {
	net.Conn
	link     *Link
	isFrozen atomic.Bool
	once     sync.Once
	closed   chan struct{}
}

var errDead = errors.New("enginetest: the link was killed")

// NewLink returns a link that is whole.
func NewLink() *Link {
	l := &Link{dead: make(chan struct{}), whole: make(chan struct{}), conns: make(map[*conn]struct{})}
	close(l.whole)
	return l
}

// Cut holds back all bytes in both directions, and all new connections.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

// Heal ends Cut.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

// Freeze loses all bytes of the connections that are open, as when their other end has lost its power. New connections
// work.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.isFrozen.Store(true)
	}
}

// Kill closes all connections, and rejects new ones. It returns when nothing of the proxies is left.
func (l *Link) Kill() {
	l.mu.Lock()
	if !l.isKilled {
		l.isKilled = true
		close(l.dead)
	}
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
	l.proxies.Wait()
}

// Conns returns the number of connections that are open.
func (l *Link) Conns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Dial returns a function that connects over the link.
func (l *Link) Dial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := l.pass(ctx.Done()); err != nil {
			return nil, err
		}
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, link: l, closed: make(chan struct{})}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.isKilled {
			_ = raw.Close()
			return nil, errDead
		}
		l.conns[c] = struct{}{}
		return c, nil
	}
}

// pass waits until the link is not cut, or done is closed.
func (l *Link) pass(done <-chan struct{}) error {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-l.dead: // first: a killed link may be whole
		return errDead
	default:
	}
	select {
	case <-whole:
		return nil
	case <-l.dead:
		return errDead
	case <-done:
		return net.ErrClosed
	}
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.isFrozen.Load() {
		select {
		case <-c.closed:
		case <-c.link.dead:
		}
	}
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.isFrozen.Load() {
		return len(b), nil
	}
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}

// Proxy returns the address of a TCP proxy for a server, for a contender in another process. It ends with Kill, at the
// latest at the end of the test.
func (l *Link) Proxy(t testing.TB, server string) (address string) {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Kill)
	l.proxies.Go(func() {
		<-l.dead
		_ = listen.Close()
	})
	l.proxies.Go(func() {
		for {
			client, err := listen.Accept()
			if err != nil {
				return // Kill has closed it
			}
			l.proxies.Go(func() { l.forward(client, server) })
		}
	})
	return listen.Addr().String()
}

// forward connects a client to a server until one of them closes the connection.
func (l *Link) forward(client net.Conn, server string) {
	defer client.Close()
	to, err := l.Dial(new(net.Dialer).DialContext)(context.Background(), "tcp", server)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // the end of either connection ends both
		_ = to.Close()
		_ = from.Close()
	}
	both.Go(func() { pipe(to, client) })
	both.Go(func() { pipe(client, to) })
	both.Wait()
}
