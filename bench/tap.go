package bench

import (
	"context"
	"encoding/binary"
	"maps"
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
	taken map[string]int // messages of elections by kind, repeats left out
}

func newTaps(spec algo.Spec) (*taps, error) {
	codec, err := election.Frames(spec)
	return &taps{codec: codec, kinds: election.Kinds(spec), taken: make(map[string]int)}, err
}

// clear sets the counts to zero.
func (t *taps) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = make(map[string]int)
}

// counts are those since clear.
func (t *taps) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.taken)
}

// frame takes one frame.
func (t *taps) frame(payload []byte) {
	m, err := t.codec.Decode(payload)
	if err != nil || !election.Counts(m, t.kinds) {
		return // a hello, the transport's own, or a repeat
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[m.Kind()]++
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
	if tcp, ok := c.(*net.TCPConn); ok {
		return &tapped{TCPConn: tcp, taps: t}
	}
	return c
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
	held []byte // of a frame that is not whole
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.held = append(c.held, b[:n]...)
	c.cut()
	return n, err
}

// cut takes the whole frames out of what was read: 4 bytes of length, and so many bytes.
func (c *tapped) cut() {
	for len(c.held) >= election.FrameHead {
		end := election.FrameHead + int(binary.BigEndian.Uint32(c.held))
		if len(c.held) < end {
			return
		}
		c.taps.frame(c.held[election.FrameHead:end])
		c.held = c.held[end:]
	}
	if len(c.held) == 0 {
		c.held = nil
	}
}
