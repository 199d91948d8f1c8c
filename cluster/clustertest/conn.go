package clustertest

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// pipeEnd is one end of a connection. Its buf holds the bytes that it has not read yet.
type pipeEnd struct {
	net    *Network
	owner  *Process
	remote string
	peer   *pipeEnd

	// Guarded by net.mu.
	buf      []byte
	closed   bool // this end is closed
	shut     bool // this end is closed for writing
	lost     bool // the other end was closed with unread bytes
	deadline time.Time
	news     chan struct{} // closed and replaced when the state of this end changes
}

func (h *pipeEnd) wake() {
	close(h.news)
	h.news = make(chan struct{})
}

func (h *pipeEnd) Read(b []byte) (int, error) {
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

func (h *pipeEnd) read(b []byte) (int, error) {
	switch {
	case h.closed:
		return 0, net.ErrClosed
	case !h.deadline.IsZero() && !h.deadline.After(time.Now()):
		return 0, os.ErrDeadlineExceeded
	case !h.net.passes(h.peer.owner.host, h.owner.host):
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

func (h *pipeEnd) Write(b []byte) (int, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	switch {
	case h.closed, h.shut:
		return 0, net.ErrClosed
	case h.peer.closed && h.net.passes(h.peer.owner.host, h.owner.host):
		return 0, failure("write", h.remote, syscall.EPIPE)
	}
	h.peer.buf = append(h.peer.buf, b...)
	h.peer.wake()
	return len(b), nil
}

func (h *pipeEnd) CloseWrite() error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.shut = true
	h.peer.wake()
	return nil
}

func (h *pipeEnd) Close() error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.close()
	return nil
}

func (h *pipeEnd) close() {
	if h.closed {
		return
	}
	h.closed, h.shut = true, true
	h.peer.lost = h.peer.lost || len(h.buf) > 0
	h.wake()
	h.peer.wake()
	if h.peer.closed {
		delete(h.net.pipeEnds, h)
		delete(h.net.pipeEnds, h.peer)
	}
}

func (h *pipeEnd) LocalAddr() net.Addr  { return address(h.owner.host + ":1") }
func (h *pipeEnd) RemoteAddr() net.Addr { return address(h.remote) }

func (h *pipeEnd) SetDeadline(t time.Time) error { return h.SetReadDeadline(t) }

func (h *pipeEnd) SetReadDeadline(t time.Time) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.deadline = t
	h.wake()
	return nil
}

// SetWriteDeadline does nothing: a write never waits.
func (h *pipeEnd) SetWriteDeadline(time.Time) error { return nil }
