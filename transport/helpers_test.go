package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(b byte) ID { return ID{15: b} }

// body returns a frame of the layer above that carries text.
func body(text string) []byte { return append([]byte{0x91}, text...) }

// hello returns a symmetric handshake: each side sends its ID, its incarnation, its running time and whether it is a
// client.
func hello(self ID, incarnation uint64, client bool) Handshake {
	began := time.Now()
	return func(p *Peer, theirs []byte) ([]byte, error) {
		if theirs != nil {
			if err := parseHello(p, theirs); err != nil {
				return nil, err
			}
		}
		return helloFrame(self, incarnation, client, time.Since(began)), nil
	}
}

func helloFrame(self ID, incarnation uint64, client bool, ran time.Duration) []byte {
	frame := append([]byte{0x93}, self[:]...)
	frame = binary.BigEndian.AppendUint64(frame, incarnation)
	frame = binary.BigEndian.AppendUint64(frame, uint64(ran))
	if client {
		return append(frame, 1)
	}
	return append(frame, 0)
}

func parseHello(p *Peer, frame []byte) error {
	if len(frame) != 34 || frame[0] != 0x93 {
		return fmt.Errorf("hello of %d bytes", len(frame))
	}
	p.ID, p.Client = ID(frame[1:17]), frame[33] == 1
	p.Incarnation = bits.RotateLeft64(binary.BigEndian.Uint64(frame[17:]), 32) // small test numbers become starts
	p.Started = time.Now().Add(-time.Duration(binary.BigEndian.Uint64(frame[25:])))
	return nil
}

// counted returns the counters with a prefix, by the rest of their names.
func (n *node) counted(prefix string) map[string]uint64 {
	counts := make(map[string]uint64)
	for name, count := range n.Counters() {
		if reason, ok := strings.CutPrefix(name, prefix); ok {
			counts[reason] = count
		}
	}
	return counts
}

// pending returns the number of connections without a session, not yet or no longer.
func (n *node) pending() int {
	n.Transport.mu.Lock() // the test then sees all earlier changes
	defer n.Transport.mu.Unlock()
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	return len(n.pool.pending[0].conns) + len(n.pool.pending[1].conns)
}

// open returns the number of open connections.
func (n *node) open() int {
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	return len(n.pool.all)
}

// recorder is a Handler that records its calls.
type recorder struct {
	mu      sync.Mutex
	lines   []string
	whys    []error
	seen    []Peer
	news    chan struct{}
	block   chan struct{} // when set, Frame waits for it
	refuse  error         // when set, Frame returns it
	onFrame func(Peer, []byte)

	up map[ID]bool // members that are connected, to check the contract of Handler
}

func newRecorder() *recorder { return &recorder{news: make(chan struct{}, 1), up: make(map[ID]bool)} }

// setUp records that a member is connected or disconnected. The two calls must alternate.
func (r *recorder) setUp(p Peer, up bool) {
	if !p.Client && r.up[p.ID] == up {
		panic(fmt.Sprintf("%x is reported twice as up=%v", p.ID, up))
	}
	r.up[p.ID] = up
}

func peerText(p Peer) string {
	if p.Client {
		return fmt.Sprintf("client/%d", p.starts())
	}
	return fmt.Sprintf("%d/%d", p.ID[15], p.starts())
}

func (r *recorder) add(line string) {
	r.mu.Lock()
	r.lines = append(r.lines, line)
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *recorder) Up(p Peer) {
	r.mu.Lock()
	r.seen = append(r.seen, p)
	r.setUp(p, true)
	r.mu.Unlock()
	r.add("up " + peerText(p))
}

func (r *recorder) Frame(p Peer, b []byte) error {
	if r.block != nil {
		<-r.block
	}
	if r.onFrame != nil {
		r.onFrame(p, b)
		return nil
	}
	r.add(fmt.Sprintf("frame %d %s", p.ID[15], b[1:]))
	return r.refuse
}

func (r *recorder) Down(p Peer, why error) {
	r.mu.Lock()
	r.setUp(p, false)
	r.whys = append(r.whys, why)
	r.mu.Unlock()
	r.add(fmt.Sprintf("down %s %v", peerText(p), Cause(why)))
}

func (r *recorder) DialFailed(target Target, why error) {
	r.mu.Lock()
	r.whys = append(r.whys, why)
	r.mu.Unlock()
	r.add(fmt.Sprintf("failed %d %v", target.ID[15], Cause(why)))
}

// all returns the lines so far.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// with returns the lines with a prefix.
func (r *recorder) with(prefix string) []string {
	return slices.DeleteFunc(r.all(), func(line string) bool { return !strings.HasPrefix(line, prefix) })
}

func (r *recorder) lastWhy() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.whys) == 0 {
		return nil
	}
	return r.whys[len(r.whys)-1]
}

func (r *recorder) lastPeer() Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[len(r.seen)-1]
}

// until waits for the lines to satisfy ok, on a real network.
func (r *recorder) until(t testing.TB, ok func(lines []string) bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		lines := r.all()
		if ok(lines) {
			return
		}
		select {
		case <-r.news:
		case <-limit:
			t.Fatalf("not seen in time; lines are %q", lines)
		}
	}
}

func (r *recorder) untilLine(t testing.TB, line string) {
	t.Helper()
	r.until(t, func(lines []string) bool { return slices.Contains(lines, line) })
}

// node is a transport with its recorded calls.
type node struct {
	*Transport
	*recorder
	id   ID
	addr string
	log  *testkit.Log // warnings and errors
}

// memory is a network of pipes, with names as addresses. Its connections have no CloseWrite.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
	conns     map[string][]net.Conn // both ends, by the name of each end
}

func newMemory() *memory {
	return &memory{listeners: make(map[string]*memoryListener), conns: make(map[string][]net.Conn)}
}

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

type memoryConn struct {
	net.Conn
	remote string
}

func (c memoryConn) RemoteAddr() net.Addr { return memoryAddr(c.remote) }

type memoryListener struct {
	addr   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.addr) }

func (m *memory) listen(addr string) *memoryListener {
	l := &memoryListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners[addr] = l
	return l
}

func (m *memory) dial(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		refused := &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		m.mu.Lock()
		l := m.listeners[to]
		m.mu.Unlock()
		if l == nil {
			return nil, refused
		}
		near, far := net.Pipe()
		select {
		case l.conns <- memoryConn{far, from}:
		case <-l.closed:
			return nil, refused
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.conns[from] = append(m.conns[from], near)
		m.conns[to] = append(m.conns[to], far)
		return memoryConn{near, to}, nil
	}
}

// kill closes the listener and all connections at addr, as the kernel does for a killed process.
func (m *memory) kill(addr string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.listeners[addr]; l != nil {
		l.Close()
		delete(m.listeners, addr)
	}
	for _, c := range m.conns[addr] {
		c.Close()
	}
	delete(m.conns, addr)
}

// start starts node b at the address "n<b>", and closes its transport at the end of the test.
func (m *memory) start(t testing.TB, b byte, incarnation uint64, change ...func(*Options)) *node {
	addr := fmt.Sprintf("n%d", b)
	return startNode(t, b, incarnation, m.listen(addr), addr, append([]func(*Options){func(o *Options) { o.Dial = m.dial(addr) }}, change...)...)
}

func startNode(t testing.TB, b byte, incarnation uint64, l net.Listener, addr string, change ...func(*Options)) *node {
	n := &node{recorder: newRecorder(), id: id(b), addr: addr, log: new(testkit.Log)}
	o := Options{
		Self: n.id, Listener: l, Handler: n.recorder, Handshake: hello(n.id, incarnation, false),
		Log: slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelWarn})), limits: defaultLimits,
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	n.Transport, err = New(o)
	require.NoError(t, err)
	t.Cleanup(func() { n.Close(context.Background()) })
	return n
}

// raw is a connection on which the test plays the peer.
type raw struct {
	t testing.TB
	net.Conn
}

func (m *memory) raw(t testing.TB, from, to string) raw {
	c, err := m.dial(from)(t.Context(), to)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return raw{t, c}
}

// claim sends a hello, and does not wait for the hello of the node.
func (r raw) claim(self ID, incarnation uint64, ran time.Duration) {
	r.t.Helper()
	_, err := r.Write(appendFrame(nil, helloFrame(self, incarnation, false, ran)))
	require.NoError(r.t, err)
}

// greet sends a hello, and reads the hello of the node.
func (r raw) greet(self ID, incarnation uint64, client bool) {
	r.t.Helper()
	sent := make(chan error, 1) // a pipe has no buffer, and both sides may send first
	go func() {
		_, err := r.Write(appendFrame(nil, helloFrame(self, incarnation, client, 0)))
		sent <- err
	}()
	require.NoError(r.t, parseHello(new(Peer), r.next()))
	require.NoError(r.t, <-sent)
}

// next reads one frame.
func (r raw) next() []byte {
	r.t.Helper()
	frame, err := r.tryNext()
	require.NoError(r.t, err)
	return frame
}

func (r raw) tryNext() ([]byte, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(header[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// ends reads until the stream ends, and returns the last frame.
func (r raw) ends() []byte {
	r.t.Helper()
	var last []byte
	for {
		frame, err := r.tryNext()
		if err != nil {
			require.True(r.t, errors.Is(err, io.EOF) || Cause(err) == Reset, "%v", err)
			return last
		}
		last = frame
	}
}

func (r raw) say(payload ...byte) {
	r.t.Helper()
	_, err := r.Write(appendFrame(nil, payload))
	require.NoError(r.t, err)
}

// answer answers pings in the background, as a live peer does.
func (r raw) answer() {
	go func() {
		for {
			frame, err := r.tryNext()
			if err != nil {
				return
			}
			if frame[0] == controlPing {
				r.Write(appendFrame(nil, []byte{controlPong}))
			}
		}
	}()
}

// drain reads in the background, and sends nothing.
func (r raw) drain() { go io.Copy(io.Discard, r) }
