package kubetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// Host runs an API server, which keeps its data over restarts.
type Host interface {
	// Config returns how to reach the server.
	Config() *rest.Config
	// Start starts the server, and returns when it is ready.
	Start()
	// Kill ends the server as SIGKILL does.
	Kill()
}

// Local is a Host in this process without a network. It also runs in a bubble of testing/synctest.
type Local struct {
	*Server
	tls    *tls.Config // nil for HTTP/1.1 without TLS
	mu     sync.Mutex
	server *http.Server
	listen *listener
}

// NewLocal returns a Host that runs until the end of the test.
func NewLocal(t *testing.T) *Local { return newLocal(t, nil) }

// NewLocalHTTP2 is NewLocal with TLS and HTTP/2, as an API server has them.
func NewLocalHTTP2(t *testing.T) *Local {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return newLocal(t, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
}

func newLocal(t *testing.T, c *tls.Config) *Local {
	l := &Local{Server: NewServer(), tls: c}
	l.Start()
	t.Cleanup(l.Kill)
	return l
}

// JSON is the only format of Server. The default of the client is protobuf.
var JSON = rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}

// Config returns how to reach the server.
func (l *Local) Config() *rest.Config {
	c := &rest.Config{Host: "http://local", ContentConfig: JSON, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		l.mu.Lock()
		listen := l.listen
		l.mu.Unlock()
		return listen.dial(ctx)
	}}
	if l.tls != nil {
		c.Host, c.Insecure = "https://local", true
	}
	return c
}

// Start starts the server. Its history of events begins empty, as the watch cache of an API server does.
func (l *Local) Start() {
	l.Compact()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen = &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.server = &http.Server{Handler: l.Server, TLSConfig: l.tls.Clone()}
	server, listen := l.server, l.listen
	go func() {
		if l.tls != nil {
			_ = server.ServeTLS(listen, "", "")
		} else {
			_ = server.Serve(listen)
		}
	}()
}

// Kill ends the server.
func (l *Local) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.listen.Close()
	_ = l.server.Close()
}

// listener accepts connections within the process.
type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "local", Net: "unix"} }

// Link is the network of one contender.
type Link struct {
	mu    sync.Mutex
	dead  bool
	whole chan struct{} // closed while the link is not cut
	conns map[*conn]struct{}

	intercept Intercept
}

// Intercept handles a request of a contender. It may let next handle it.
type Intercept func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// conn is a connection. Its bytes wait while its link is cut.
type conn struct {
	net.Conn
	link   *Link
	dead   atomic.Bool
	once   sync.Once
	closed chan struct{}
}

// NewLink returns a link that is whole.
func NewLink() *Link {
	l := &Link{whole: make(chan struct{}), conns: make(map[*conn]struct{})}
	close(l.whole)
	return l
}

// Wrap returns a configuration with the link between the contender and the server.
func (l *Link) Wrap(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return l.dial(ctx, func() (net.Conn, error) { return dial(ctx, network, address) })
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &interceptor{l, next} })
	return c
}

type interceptor struct {
	link *Link
	next http.RoundTripper
}

func (i *interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	i.link.mu.Lock()
	intercept := i.link.intercept
	i.link.mu.Unlock()
	if intercept == nil {
		return i.next.RoundTrip(r)
	}
	return intercept(r, i.next)
}

// WrappedRoundTripper is for CloseIdleConnectionsFor.
func (i *interceptor) WrappedRoundTripper() http.RoundTripper { return i.next }

// Intercept sets the function that handles each later request; nil for none.
func (l *Link) Intercept(f Intercept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.intercept = f
}

// Cut lets all bytes wait.
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
		c.dead.Store(true)
	}
}

// Kill closes all connections, and refuses new ones.
func (l *Link) Kill() {
	l.mu.Lock()
	l.dead = true
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
}

// pass waits until the link is not cut, or done is closed.
func (l *Link) pass(done <-chan struct{}) error {
	l.mu.Lock()
	whole, dead := l.whole, l.dead
	l.mu.Unlock()
	if dead {
		return errors.New("the contender was killed")
	}
	select {
	case <-whole:
		return nil
	case <-done:
		return net.ErrClosed
	}
}

func (l *Link) dial(ctx context.Context, dial func() (net.Conn, error)) (net.Conn, error) {
	if err := l.pass(ctx.Done()); err != nil {
		return nil, err
	}
	raw, err := dial()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, link: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	l.conns[c] = struct{}{}
	return c, nil
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.dead.Load() {
		<-c.closed
	}
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.dead.Load() {
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

// Conns returns the number of connections that are open.
func (l *Link) Conns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}
