package etcdtest

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Link is the network between a client and the servers: a proxy for each server.
type Link struct {
	proxies []net.Listener
	ended   sync.WaitGroup

	mu    sync.Mutex
	dead  chan struct{} // closed by Kill
	whole chan struct{} // closed while the link is not cut
	conns map[net.Conn]struct{}
}

var errDead = errors.New("etcdtest: the link was killed")

// Connect returns a link for one client. It ends with the test.
func (s *Servers) Connect(t testing.TB) *Link {
	t.Helper()
	l := &Link{dead: make(chan struct{}), whole: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(l.whole)
	for _, server := range s.Endpoints() {
		proxy, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l.proxies = append(l.proxies, proxy)
		l.ended.Go(func() { l.serve(proxy, server) })
	}
	t.Cleanup(l.Kill)
	return l
}

// Endpoints returns the addresses of the proxies.
func (l *Link) Endpoints() (list []string) {
	for _, proxy := range l.proxies {
		list = append(list, proxy.Addr().String())
	}
	return list
}

// Cut holds back all bytes in both directions, also those of new connections.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

// Heal lets the bytes that were held back pass.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

// Kill closes all connections, and refuses new ones. It returns when nothing of the link is left.
func (l *Link) Kill() {
	l.mu.Lock()
	select {
	case <-l.dead:
	default:
		close(l.dead)
	}
	for c := range l.conns {
		c.Close()
	}
	l.mu.Unlock()
	for _, proxy := range l.proxies {
		proxy.Close()
	}
	l.ended.Wait()
}

func (l *Link) serve(proxy net.Listener, server string) {
	for {
		client, err := proxy.Accept()
		if err != nil {
			return // Kill has closed it
		}
		l.ended.Go(func() { l.forward(client, server) })
	}
}

// forward connects a client to a server until one of them closes the connection.
func (l *Link) forward(client net.Conn, server string) {
	defer client.Close()
	if !l.add(client) || l.pass() != nil {
		return
	}
	defer l.remove(client)
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	if !l.add(to) {
		return
	}
	defer l.remove(to)
	var both sync.WaitGroup
	both.Go(func() { l.copy(to, client) })
	both.Go(func() { l.copy(client, to) })
	both.Wait()
}

// copy copies bytes while the link is not cut, and closes both connections in the end.
func (l *Link) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if n > 0 {
			if l.pass() != nil {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the link is not cut.
func (l *Link) pass() error {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-l.dead:
		return errDead
	case <-whole:
		return nil
	}
}

// add adds a connection that Kill closes, and reports false after Kill.
func (l *Link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.dead:
		return false
	default:
		l.conns[c] = struct{}{}
		return true
	}
}

func (l *Link) remove(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
