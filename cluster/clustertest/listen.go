package clustertest

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/elect-go/elect/internal/simnet"
)

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

func failure(op string, addr string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: "memory", Addr: address(addr), Err: os.NewSyscallError(op, errno)}
}

// listener is a listener with a backlog of connections that were not accepted yet.
type listener struct {
	owner   *Process
	addr    string
	mu      *sync.Mutex // of the network
	backlog []*pipeEnd
	closed  bool
	news    chan struct{}
}

// Listen opens an address of the host, as net.Listen does.
func (p *Process) Listen(addr string) (net.Listener, error) {
	w := p.net
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners[addr] != nil {
		return nil, failure("listen", addr, syscall.EADDRINUSE)
	}
	l := &listener{owner: p, addr: addr, mu: &w.mu, news: make(chan struct{})}
	w.listeners[addr] = l
	return l, nil
}

func (l *listener) Addr() net.Addr { return address(l.addr) }

// WaitWhilePaused blocks the loop of the node while its process is paused.
func (l *listener) WaitWhilePaused(simnet.Turn) { l.owner.waitWhilePaused() }

func (l *listener) Accept() (net.Conn, error) {
	w := l.owner.net
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, net.ErrClosed
		}
		if len(l.backlog) > 0 && !w.frozen[l.owner.host] {
			h := l.backlog[0]
			l.backlog = l.backlog[1:]
			l.mu.Unlock()
			return h, nil
		}
		news, changed := l.news, w.changed
		l.mu.Unlock()
		select {
		case <-news:
		case <-changed:
		}
	}
}

func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.owner.net; w.listeners[l.addr] == l {
		delete(w.listeners, l.addr)
	}
	l.close()
	return nil
}

func (l *listener) close() {
	if l.closed {
		return
	}
	l.closed = true
	close(l.news)
	for _, h := range l.backlog {
		h.close() // the kernel has completed the connection, and the process never accepts it
	}
}

// Dial connects to an address, as net.Dialer.DialContext does.
func (p *Process) Dial(ctx context.Context, addr string) (net.Conn, error) {
	w := p.net
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	for {
		w.mu.Lock()
		if p.dead {
			w.mu.Unlock()
			return nil, failure("connect", addr, syscall.ENETDOWN)
		}
		if w.isLinked(p.host, host) && w.isLinked(host, p.host) && !w.frozen[p.host] {
			l := w.listeners[addr]
			if l == nil {
				w.mu.Unlock()
				return nil, failure("connect", addr, syscall.ECONNREFUSED)
			}
			near := &pipeEnd{owner: p, net: w, remote: addr, news: make(chan struct{})}
			far := &pipeEnd{owner: l.owner, net: w, remote: p.host + ":1", news: make(chan struct{})}
			near.peer, far.peer = far, near
			w.pipeEnds[near], w.pipeEnds[far] = struct{}{}, struct{}{}
			l.backlog = append(l.backlog, far)
			close(l.news)
			l.news = make(chan struct{})
			w.mu.Unlock()
			return near, nil
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
