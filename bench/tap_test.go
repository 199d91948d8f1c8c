package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/wire"
)

// taps copies the reads from sockets and counts the frames of an algorithm.
type taps struct {
	codec *wire.Codec
	kinds map[string]bool // kinds of the algorithm

	mu    sync.Mutex
	conns []*tapped
}

func newTaps(spec algo.Spec) (*taps, error) {
	codec, err := election.Frames(spec)
	return &taps{codec: codec, kinds: election.Kinds(spec)}, err
}

// take returns the number of election messages read since the last call, without repeats.
func (t *taps) take() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(counts)
	for _, c := range t.conns {
		for len(c.read) >= election.FrameHead {
			end := election.FrameHead + int(binary.BigEndian.Uint32(c.read))
			if len(c.read) < end {
				break // incomplete frame
			}
			m, err := t.codec.Decode(c.read[election.FrameHead:end])
			if err == nil && election.Counts(m, t.kinds) { // not a hello, a frame of the transport, or a repeat
				all[m.Kind()]++
			}
			c.read = c.read[end:]
		}
	}
	return all
}

// tappedWire is a live cluster with tapped sockets if it runs in this process.
type tappedWire struct {
	*wired
	taps *taps // nil if the nodes are processes
}

// startTapped starts n nodes in this process.
func (c wireCase) startTapped(ctx context.Context, registry algo.Registry, n int) (tappedWire, error) {
	spec, err := election.Spec(registry, c.Algorithm, algo.Presets()[c.Preset], c.Options)
	if err != nil {
		return tappedWire{}, err
	}
	t, err := newTaps(spec)
	if err != nil {
		return tappedWire{}, err
	}
	w, err := c.start(ctx, registry, n, func(_ *local, _ string, socket net.Listener, c *cluster.Config) {
		c.Network.Listen, c.Network.Dial = func(string) (net.Listener, error) { return t.listener(socket), nil }, t.dial
	})
	return tappedWire{w, t}, err
}

// round runs a round and checks that the received messages are those read from the sockets.
func (w tappedWire) round(ctx context.Context, random *rand.Rand) (wireRound, error) {
	if w.taps == nil {
		return w.wired.round(ctx, random)
	}
	w.taps.take() // drop earlier frames
	r, err := w.wired.round(ctx, random)
	if read := w.taps.take(); err == nil && !maps.Equal(read, r.Received) {
		err = fmt.Errorf("%w: %v were received, and %v read from the sockets", errWire, r.Received, read)
	}
	return r, err
}

// listener taps each accepted connection.
func (t *taps) listener(inner net.Listener) net.Listener { return tappedListener{inner, t} }

// dial connects as a node does by default.
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

// tapped is a connection with inspected reads. Writes go to the socket directly.
type tapped struct {
	*net.TCPConn
	taps *taps
	read []byte // bytes that are not counted yet; guarded by taps.mu
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.taps.mu.Lock()
	defer c.taps.mu.Unlock()
	c.read = append(c.read, b[:n]...)
	return n, err
}

// TestTapSeesEveryFrame reads the stream in pieces of several sizes. The tap counts the messages of
// the algorithm, without repeats, heartbeats and other frames.
func TestTapSeesEveryFrame(t *testing.T) {
	spec, err := election.Spec(builtin.Registry(), "bully", algo.Timing{RoundTrip: 2, Heartbeat: 1}, nil)
	require.NoError(t, err)
	codec, err := election.Frames(spec)
	require.NoError(t, err)
	var stream []byte
	add := func(payload []byte) {
		stream = binary.BigEndian.AppendUint32(stream, uint32(len(payload)))
		stream = append(stream, payload...)
	}
	for _, m := range []algo.Message{
		bully.Election{Epoch: 1}, fd.Heartbeat{Digest: 7}, bully.Answer{Epoch: 1}, algo.Periodic{Message: bully.Coordinator{Epoch: 2}},
		bully.Coordinator{Epoch: 2}, bully.Election{Epoch: 300},
	} {
		payload, err := codec.Append(nil, m)
		require.NoError(t, err)
		add(payload)
	}
	add([]byte{0x01})             // a ping of the transport
	add([]byte{0x91, 0xa1, 0x7a}) // a message of an unknown kind
	want := counts{"election": 2, "answer": 1, "coordinator": 1}

	for _, piece := range []int{1, 3, 7, len(stream)} {
		taps, err := newTaps(spec)
		require.NoError(t, err)
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listener := taps.listener(inner)
		go func() {
			c, err := net.Dial("tcp", inner.Addr().String())
			if err == nil {
				_, _ = c.Write(stream)
				_ = c.Close()
			}
		}()
		c, err := listener.Accept()
		require.NoError(t, err)
		got := make([]byte, 0, len(stream))
		for buf := make([]byte, piece); ; {
			n, err := c.Read(buf)
			got = append(got, buf[:n]...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, stream, got, "the reader gets the sent bytes")
		require.Equal(t, want, taps.take(), "in pieces of %d", piece)
		require.Empty(t, taps.take())
		require.NoError(t, c.Close())
		require.NoError(t, listener.Close())
	}
}
