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

	"github.com/elect-go/elect/elector/internal/enginetest"
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

// Config returns how to reach the server.
func (l *Local) Config() *rest.Config {
	c := &rest.Config{Host: "http://local", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
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

// Link is the network of one contender, which may also handle its requests.
type Link struct {
	*enginetest.Link
	intercept atomic.Pointer[Intercept]
}

// Intercept handles a request of a contender. It may let next handle it.
type Intercept func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// NewLink returns a link that is whole.
func NewLink() *Link { return &Link{Link: enginetest.NewLink()} }

// Wrap returns a configuration with the link between the contender and the server.
func (l *Link) Wrap(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c.Dial = l.Dial(dial)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &interceptor{l, next} })
	return c
}

type interceptor struct {
	link *Link
	next http.RoundTripper
}

func (i *interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	if intercept := i.link.intercept.Load(); intercept != nil && *intercept != nil {
		return (*intercept)(r, i.next)
	}
	return i.next.RoundTrip(r)
}

// WrappedRoundTripper is for CloseIdleConnectionsFor.
func (i *interceptor) WrappedRoundTripper() http.RoundTripper { return i.next }

// Intercept sets the function that handles each later request; nil for none.
func (l *Link) Intercept(f Intercept) { l.intercept.Store(&f) }
