package bench

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/wire"
)

// taps look on at sockets: what a process reads from them, as frames of an algorithm.
type taps struct {
	codec *wire.Codec
	kinds map[string]bool // of the algorithm

	mu    sync.Mutex
	conns []*tapped
}

func newTaps(spec algo.Spec) (*taps, error) {
	codec, err := election.Frames(spec)
	return &taps{codec: codec, kinds: election.Kinds(spec)}, err
}

// take counts the messages of elections that were read since the last call, repeats left out.
func (t *taps) take() tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(tally)
	for _, c := range t.conns {
		for len(c.read) >= election.FrameHead {
			end := election.FrameHead + int(binary.BigEndian.Uint32(c.read))
			if len(c.read) < end {
				break // the rest is yet to come
			}
			m, err := t.codec.Decode(c.read[election.FrameHead:end])
			if err == nil && election.Counts(m, t.kinds) { // else a hello, the transport's own, or a repeat
				all[m.Kind()]++
			}
			c.read = c.read[end:]
		}
	}
	return all
}

// listener has what it accepts tapped.
func (t *taps) listener(inner net.Listener) net.Listener { return tappedListener{inner, t} }

// dial connects as a node does by itself.
func (t *taps) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	return t.conn(c), err
}

func (t *taps) conn(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	made := &tapped{TCPConn: tcp, taps: t}
	t.conns = append(t.conns, made)
	return made
}

type tappedListener struct {
	net.Listener
	taps *taps
}

func (l tappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return l.taps.conn(c), err
}

// tapped is a connection whose reader is looked at. It is still a socket to write to.
type tapped struct {
	*net.TCPConn
	taps *taps
	read []byte // and not counted yet; guarded by taps.mu
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.taps.mu.Lock()
	defer c.taps.mu.Unlock()
	c.read = append(c.read, b[:n]...)
	return n, err
}
