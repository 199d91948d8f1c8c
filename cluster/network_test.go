package cluster_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/elect-go/elect/cluster"
)

// network is a network in memory, for tests in a bubble of testing/synctest. It
// behaves as TCP does among machines: who listens at an address is found there, a
// dial to an address where nobody does is refused; what is written arrives in order
// and without delay; what cannot arrive is kept, and arrives when it can again.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	halves    map[*half]struct{} // of connections that are open at either end
	side      map[string]int     // of each host in a partition
	frozen    map[string]bool    // hosts that do not run
	changed   chan struct{}      // closed and replaced when the state of a host changes
}

func newNetwork() *network {
	return &network{
		listeners: make(map[string]*listener), halves: make(map[*half]struct{}),
		side: make(map[string]int), frozen: make(map[string]bool), changed: make(chan struct{}),
	}
}

// process is one run of a program on a host, which is the host part of its addresses.
type process struct {
	net  *network
	host string
	dead bool
}

// process starts a process on a host. The option makes a node use the network.
func (w *network) process(host string) *process { return &process{net: w, host: host} }

func (p *process) option() cluster.Option { return cluster.WithNetwork(p.listen, p.dial) }

// Partition cuts the hosts into groups that cannot reach each other. Hosts that are in
// none form another.
func (w *network) Partition(groups ...[]string) {
	w.change(func() {
		clear(w.side)
		for i, group := range groups {
			for _, host := range group {
				w.side[host] = i + 1
			}
		}
	})
}

// Heal ends every partition.
func (w *network) Heal() { w.change(func() { clear(w.side) }) }

// Pause has nothing leave a host nor arrive at one, as if its processes were stopped.
// Their kernel still completes what others dial.
func (w *network) Pause(host string) { w.change(func() { w.frozen[host] = true }) }

// Resume ends a Pause.
func (w *network) Resume(host string) { w.change(func() { delete(w.frozen, host) }) }

// Kill ends a process as its kernel does: what it had open is closed without a word.
// Nothing that it still does has an effect.
func (p *process) Kill() {
	p.net.change(func() {
		p.dead = true
		for addr, l := range p.net.listeners {
			if l.owner == p {
				l.close()
				delete(p.net.listeners, addr)
			}
		}
		for h := range p.net.halves {
			if h.owner == p {
				h.close()
			}
		}
	})
}

func (w *network) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
	for h := range w.halves {
		h.wake()
	}
}

// cut reports whether nothing passes between two hosts.
func (w *network) cut(a, b string) bool {
	return w.side[a] != w.side[b] || w.frozen[a] || w.frozen[b]
}

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

func failure(op string, addr string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: "memory", Addr: address(addr), Err: os.NewSyscallError(op, errno)}
}

// listener is a backlog of connections.
type listener struct {
	owner   *process
	addr    string
	mu      *sync.Mutex // of the network
	backlog []*half
	closed  bool
	news    chan struct{}
}

func (p *process) listen(addr string) (net.Listener, error) {
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
		h.close() // accepted by the kernel, and never by the process
	}
}

func (p *process) dial(ctx context.Context, addr string) (net.Conn, error) {
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
		if w.side[p.host] == w.side[host] && !w.frozen[p.host] {
			l := w.listeners[addr]
			if l == nil {
				w.mu.Unlock()
				return nil, failure("connect", addr, syscall.ECONNREFUSED)
			}
			near := &half{owner: p, net: w, remote: addr, news: make(chan struct{})}
			far := &half{owner: l.owner, net: w, remote: p.host + ":1", news: make(chan struct{})}
			near.peer, far.peer = far, near
			w.halves[near], w.halves[far] = struct{}{}, struct{}{}
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

// half is one end of a connection. What was written to it waits in buf.
type half struct {
	net    *network
	owner  *process
	remote string
	peer   *half

	// Guarded by net.mu.
	buf      []byte
	closed   bool // by this end
	shut     bool // this end writes no more
	lost     bool // the other end was closed before it had read everything
	deadline time.Time
	news     chan struct{} // closed and replaced when there is something to look at
}

func (h *half) wake() {
	close(h.news)
	h.news = make(chan struct{})
}

func (h *half) Read(b []byte) (int, error) {
	for {
		h.net.mu.Lock()
		n, err := h.read(b)
		news, deadline := h.news, h.deadline
		h.net.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		var timeout <-chan time.Time
		if !deadline.IsZero() {
			timer := time.NewTimer(time.Until(deadline))
			timeout = timer.C
			defer timer.Stop()
		}
		select {
		case <-news:
		case <-timeout:
		}
	}
}

func (h *half) read(b []byte) (int, error) {
	switch {
	case h.closed:
		return 0, net.ErrClosed
	case !h.deadline.IsZero() && !h.deadline.After(time.Now()):
		return 0, os.ErrDeadlineExceeded
	case h.net.cut(h.owner.host, h.peer.owner.host):
		return 0, nil
	case h.lost:
		return 0, failure("read", h.remote, syscall.ECONNRESET)
	case len(h.buf) > 0:
		n := copy(b, h.buf)
		h.buf = h.buf[n:]
		return n, nil
	case h.peer.shut:
		return 0, io.EOF
	}
	return 0, nil
}

func (h *half) Write(b []byte) (int, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	switch {
	case h.closed, h.shut:
		return 0, net.ErrClosed
	case h.peer.closed && !h.net.cut(h.owner.host, h.peer.owner.host):
		return 0, failure("write", h.remote, syscall.EPIPE)
	}
	h.peer.buf = append(h.peer.buf, b...)
	h.peer.wake()
	return len(b), nil
}

func (h *half) CloseWrite() error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.shut = true
	h.peer.wake()
	return nil
}

func (h *half) Close() error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.close()
	return nil
}

func (h *half) close() {
	if h.closed {
		return
	}
	h.closed, h.shut = true, true
	h.peer.lost = h.peer.lost || len(h.buf) > 0
	h.wake()
	h.peer.wake()
	if h.peer.closed {
		delete(h.net.halves, h)
		delete(h.net.halves, h.peer)
	}
}

func (h *half) LocalAddr() net.Addr  { return address(h.owner.host + ":1") }
func (h *half) RemoteAddr() net.Addr { return address(h.remote) }

func (h *half) SetDeadline(t time.Time) error { return h.SetReadDeadline(t) }

func (h *half) SetReadDeadline(t time.Time) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.deadline = t
	h.wake()
	return nil
}

// SetWriteDeadline does nothing: a write never waits.
func (h *half) SetWriteDeadline(time.Time) error { return nil }
