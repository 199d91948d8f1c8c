package cli

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// httpConns are the HTTP connections. At a connection above the limit, the server closes the connection that was idle
// for longest. If no connection is idle, it closes the one with the oldest request. So idle connections do not keep a
// load balancer out.
type httpConns struct {
	limit int

	mu   sync.Mutex
	idle []net.Conn // longest first; a new connection is idle until its request begins
	busy []net.Conn // oldest request first
}

func newHTTPConns(limit int) *httpConns { return &httpConns{limit: limit} }

// setState is the ConnState of an http.Server.
func (o *httpConns) setState(c net.Conn, state http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	isC := func(other net.Conn) bool { return other == c }
	o.idle, o.busy = slices.DeleteFunc(o.idle, isC), slices.DeleteFunc(o.busy, isC)
	switch state {
	case http.StateNew, http.StateIdle:
		o.idle = append(o.idle, c)
	case http.StateActive:
		o.busy = append(o.busy, c)
	}
	if len(o.idle)+len(o.busy) > o.limit {
		o.closeOldest(c)
	}
}

// closeOldest closes the oldest connection, but never the newest. The server reports its end later.
func (o *httpConns) closeOldest(newest net.Conn) {
	for _, from := range []*[]net.Conn{&o.idle, &o.busy} {
		if len(*from) > 0 && (*from)[0] != newest {
			_ = tcpOf((*from)[0]).Close()
			*from = (*from)[1:]
			return
		}
	}
}

// tcpOf returns the connection below TLS. To close that of TLS can take 5 s, in which it waits for the client.
func tcpOf(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
