package main

import (
	"context"
	"net"
	"sync"

	"github.com/elect-go/elect/cluster"
)

// network is TCP that can be cut: then all bytes are lost without an error.
type network struct {
	mu    sync.Mutex
	off   bool
	links map[*link]bool
}

type link struct {
	net.Conn
	of *network
}

func (n *network) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.off
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = true
}

// heal ends the partition and closes the connections that have lost bytes.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = false
	for l := range n.links {
		l.Conn.Close()
	}
	clear(n.links)
}

func (n *network) link(c net.Conn) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &link{c, n}
	n.links[l] = true
	return l
}

func (n *network) dial(ctx context.Context, addr string) (net.Conn, error) {
	if n.isCut() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return n.link(c), nil
}

func (n *network) listen(addr string) (net.Listener, error) {
	l, err := cluster.Listen(addr)
	return listener{l, n}, err
}

type listener struct {
	net.Listener
	of *network
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.of.link(c), nil
}

// NetConn lets the node request the credentials of the peer from the kernel.
func (l *link) NetConn() net.Conn { return l.Conn }

func (l *link) Write(b []byte) (int, error) {
	if l.of.isCut() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

func (l *link) Read(b []byte) (n int, err error) {
	for {
		if n, err = l.Conn.Read(b); err != nil || !l.of.isCut() {
			return n, err
		}
	}
}

func (l *link) Close() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	delete(l.of.links, l)
	return l.Conn.Close()
}
