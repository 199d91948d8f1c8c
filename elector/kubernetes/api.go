package kubernetes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// api is a client of the API server with connections of its own.
type api struct {
	coordination.LeaseInterface
	transport http.RoundTripper

	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	api *api
}

func (c *conn) Close() error {
	c.api.mu.Lock()
	delete(c.api.conns, c)
	c.api.mu.Unlock()
	return c.Conn.Close()
}

// connect returns a client. It does not connect yet.
func connect(c Config) (*api, error) {
	a := &api{conns: make(map[*conn]struct{})}
	config := rest.CopyConfig(c.REST)
	config.Timeout = 0                       // each request has a context with a timeout
	config.QPS, config.RateLimiter = -1, nil // a renewal must not wait
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if config.Proxy == nil {
		config.Proxy = http.ProxyFromEnvironment // with a proxy function client-go shares no connections between clients
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return a.track(raw)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a.transport = client.Transport
	leases, err := coordination.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	a.LeaseInterface = leases.Leases(c.Namespace)
	return a, nil
}

// track keeps a connection for hangUp.
func (a *api) track(raw net.Conn) (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		raw.Close()
		return nil, errors.New("the contender has stopped")
	}
	c := &conn{raw, a}
	a.conns[c] = struct{}{}
	return c, nil
}

// hangUp closes all connections. HTTP/2 uses one connection for all requests, and finds out only after 45 s that its
// other end is gone.
func (a *api) hangUp() {
	a.mu.Lock()
	conns := a.conns
	a.conns = make(map[*conn]struct{})
	a.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// close closes the client for good.
func (a *api) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.hangUp()
	utilnet.CloseIdleConnectionsFor(a.transport)
}
