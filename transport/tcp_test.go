package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.uber.org/goleak"

	"github.com/elect-go/elect/internal/testkit"
)

// startTCP starts node b on a free port of the loopback.
func startTCP(t testing.TB, b byte, incarnation uint64, change ...func(*Options)) *node {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startNode(t, b, incarnation, l, l.Addr().String(), change...)
}

func rawTCP(t testing.TB, addr string) raw {
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return raw{t, c}
}

func count(lines []string, prefix string) int {
	n := 0
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func TestTCPSimultaneousDials(t *testing.T) {
	const frames = 10
	for range 200 {
		a, b := startTCP(t, 1, 1), startTCP(t, 2, 1)
		start := make(chan struct{})
		for _, pair := range [][2]*node{{a, b}, {b, a}} {
			from, to := pair[0], pair[1]
			from.SetAddr(to.id, to.addr)
			go func() {
				<-start
				from.Dial(Target{ID: to.id, Addr: to.addr})
				for i := range frames {
					from.Send(to.id, body(fmt.Sprint(i)))
				}
			}()
		}
		close(start)
		for _, n := range []*node{a, b} {
			n.until(t, func(lines []string) bool { return count(lines, "frame") == frames })
		}
		waitIdle(t, a, b)
		for _, n := range []*node{a, b} {
			require.Equal(t, 1, count(n.all(), "up"))
			require.Len(t, n.all(), 1+frames, "neither Down nor DialFailed")
			require.Empty(t, n.counted("dropped."))
			require.Empty(t, n.counted("closed."))
		}
		require.NoError(t, a.Close(t.Context()))
		b.untilLine(t, "down 1/1 polite")
		require.NoError(t, b.Close(t.Context()))
	}
}

// waitIdle waits until the nodes have no dial under way, and one connection for each session.
func waitIdle(t *testing.T, nodes ...*node) {
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool {
			n.Transport.mu.Lock()
			defer n.Transport.mu.Unlock()
			return len(n.dialing) > 0 || n.open() > n.sessions
		})
	}, 2*time.Minute, time.Millisecond)
}

func TestTCPDialsByAddressAtOnce(t *testing.T) {
	// As at a cold start, no node knows IDs, and each dials every address.
	const nodes = 5
	var all []*node
	for i := range nodes {
		all = append(all, startTCP(t, byte(i+1), 1))
	}
	for _, from := range all {
		go func() {
			for _, to := range all {
				from.Dial(Target{Addr: to.addr})
			}
		}()
	}
	for _, n := range all {
		n.until(t, func(lines []string) bool {
			return count(lines, "up") == nodes-1 && slices.Contains(lines, "failed 0 self")
		})
	}
	for i, from := range all {
		for j, to := range all {
			if i != j {
				require.True(t, from.Send(to.id, body("x")))
			}
		}
	}
	for _, n := range all {
		n.until(t, func(lines []string) bool { return count(lines, "frame") == nodes-1 })
	}
	waitIdle(t, all...)
	for _, n := range all {
		require.Empty(t, n.with("down"))
		require.Len(t, n.with("failed"), 1)
		require.Equal(t, nodes-1, count(n.all(), "up"))
		require.Empty(t, n.counted("dropped."))
	}
}

func TestTCPKill(t *testing.T) {
	for _, test := range []struct {
		name   string
		linger bool // SetLinger(0): the kernel resets
		want   string
	}{
		{"end of stream", false, "down 2/1 EOF"},
		{"reset", true, "down 2/1 reset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := startTCP(t, 1, 1)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addr := l.Addr().String()
			a.Dial(Target{ID: id(2), Addr: addr})
			c, err := l.Accept()
			require.NoError(t, err)
			raw{t, c}.greet(id(2), 1, false)
			a.untilLine(t, "up 2/1")
			l.Close()
			if test.linger {
				c.(*net.TCPConn).SetLinger(0)
			}
			c.Close()
			a.untilLine(t, test.want)
			a.Dial(Target{ID: id(2), Addr: addr})
			a.untilLine(t, "failed 2 connection refused")
		})
	}
}

// A connection in the backlog of a process that ends is reset, or closed before its hello.
func TestTCPListenerThatDies(t *testing.T) {
	a := startTCP(t, 1, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connected := make(chan struct{})
	a.o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		close(connected)
		return c, err
	}
	a.Dial(Target{ID: id(2), Addr: l.Addr().String()})
	<-connected
	l.Close() // before it has accepted
	a.until(t, func(lines []string) bool { return count(lines, "failed") == 1 })
	require.Contains(t, []Kind{Reset, ClosedBeforeHello}, Cause(a.lastWhy()), "%v", a.lastWhy())
}

func TestTCPUnreachableName(t *testing.T) {
	a := startTCP(t, 1, 1)
	a.Dial(Target{ID: id(2), Addr: "127.0.0.1:no-such-port"})
	a.until(t, func(lines []string) bool { return count(lines, "failed") == 1 })
	require.Equal(t, Unreachable, Cause(a.lastWhy()), "%v", a.lastWhy())
}

// The kernel closes the connections of a process that has ended, and a new incarnation connects.
func TestTCPRestart(t *testing.T) {
	a := startTCP(t, 1, 1)
	for round := range uint64(50) {
		incarnation := 2 * round
		r := rawTCP(t, a.addr)
		r.greet(id(2), incarnation, false)
		a.untilLine(t, fmt.Sprintf("up 2/%d", incarnation))
		next := rawTCP(t, a.addr)
		r.Close()
		next.greet(id(2), incarnation+1, false)
		a.untilLine(t, fmt.Sprintf("up 2/%d", incarnation+1))
		next.Close()
	}
	a.until(t, func(lines []string) bool { return count(lines, "down") == 100 })
	for i, line := range a.all() {
		require.True(t, strings.HasPrefix(line, []string{"up", "down"}[i%2]), "Up and Down alternate: %q", a.all())
	}
	require.Empty(t, a.counted("closed."))
}

func TestTCPDuplicateIsRejected(t *testing.T) {
	a, b := startTCP(t, 1, 1), startTCP(t, 2, 1)
	b.Dial(Target{ID: a.id, Addr: a.addr})
	a.untilLine(t, "up 2/1")
	double := startTCP(t, 2, 2)
	double.Dial(Target{ID: a.id, Addr: a.addr})
	double.untilLine(t, "failed 1 duplicate id")
	require.ErrorContains(t, double.lastWhy(), "is in use by another process")
	require.Empty(t, a.with("down"))
}

func TestTCPSlowReader(t *testing.T) {
	// The queue is short, so that it fills in time even on a busy machine.
	a := startTCP(t, 1, 1, func(o *Options) { o.writeTimeout, o.queueFrames = 200*time.Millisecond, 1 })
	r := rawTCP(t, a.addr)
	r.greet(id(2), 1, false)
	a.untilLine(t, "up 2/1")
	frame := append(body(""), make([]byte, 32<<10)...)
	for len(a.with("down")) == 0 { // fills the buffers of the kernel, and then the queue
		a.Send(id(2), frame)
		runtime.Gosched()
	}
	a.untilLine(t, "down 2/1 timeout")
	a.Close(t.Context())
	require.NotZero(t, a.Counters()["dropped.queue full"])
	require.EqualValues(t, 1, a.Counters()["closed.slow write"])
}

// Close loses no frame within its time limit. The limit is long here, because a busy machine may exceed the usual one.
func TestTCPGracefulCloseLosesNoFrame(t *testing.T) {
	patient := func(o *Options) {
		o.closeTimeout, o.drainTime, o.writeTimeout = 2*time.Minute, 2*time.Minute, 2*time.Minute
	}
	for range 20 {
		a, b := startTCP(t, 1, 1, patient), startTCP(t, 2, 1, patient)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		a.untilLine(t, "up 2/1")
		b.untilLine(t, "up 1/1")
		for range 500 {
			require.True(t, a.Send(b.id, body("x")))
			require.True(t, b.Send(a.id, body("y")))
		}
		require.NoError(t, a.Close(t.Context()))
		b.untilLine(t, "down 1/1 polite")
		require.Equal(t, 500, count(a.all(), "frame"))
		require.Equal(t, 500, count(b.all(), "frame"))
	}
}

// A rejected peer receives the reason although it has sent more data. The transport reads that data for a bounded time,
// which a busy machine exceeds.
func TestTCPReasonArrives(t *testing.T) {
	testkit.OnlyLong(t)
	for range 20 {
		a := startTCP(t, 1, 1)
		r := rawTCP(t, a.addr)
		_, err := r.Write(append(appendFrame(nil, body("no hello")), bytes.Repeat([]byte{1}, 10000)...))
		require.NoError(t, err)
		r.CloseWrite()
		rest, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Contains(t, string(rest), "hello of 9 bytes")
	}
}

func (r raw) CloseWrite() { r.Conn.(*net.TCPConn).CloseWrite() }

func TestTCPFloodLeavesMemoryFlat(t *testing.T) {
	a, good := startTCP(t, 1, 1), startTCP(t, 2, 1)
	good.Dial(Target{ID: a.id, Addr: a.addr})
	good.untilLine(t, "up 1/1")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const floods = 2000
	open := make([]net.Conn, 0, 200)
	for i := range floods {
		c, err := net.Dial("tcp", a.addr)
		require.NoError(t, err)
		c.Write([]byte{0, 0, 4, 0}) // the header of a frame of 1 KiB
		if len(open) == cap(open) {
			open[0].Close()
			open = open[:copy(open, open[1:])]
		}
		open = append(open, c)
		if i%500 == 0 {
			good.Send(a.id, body("x"))
		}
	}
	a.until(t, func(lines []string) bool { return count(lines, "frame") == 4 })
	grown := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)
	}
	// Some of the closed connections may not have ended yet.
	require.Eventually(t, func() bool { return grown() < 4<<20 }, 2*time.Minute, 10*time.Millisecond, "%d bytes more", grown())
	for _, c := range open {
		c.Close()
	}
	require.Empty(t, good.with("down"))
}

func TestThousandCyclesLeakNothing(t *testing.T) {
	m := newMemory()
	for i := range 1000 {
		a, b := newBare(t, m, 1, uint64(i)), newBare(t, m, 2, uint64(i))
		a.Dial(Target{Addr: "n2"}) // under way when Close is called
		b.Dial(Target{Addr: "n1"})
		if i%2 == 0 {
			a.untilLine(t, fmt.Sprintf("up 2/%d", i))
		}
		require.NoError(t, a.Close(t.Context()))
		require.NoError(t, b.Close(t.Context()))
	}
	goleak.VerifyNone(t)
}

// newBare starts a node that the caller must close.
func newBare(t *testing.T, m *memory, b byte, incarnation uint64) *node {
	n := &node{recorder: newRecorder(), id: id(b)}
	addr := fmt.Sprintf("n%d", b)
	var err error
	n.Transport, err = New(Options{Self: n.id, Listener: m.listen(addr), Dial: m.dial(addr), Handler: n.recorder, Handshake: hello(n.id, incarnation, false)})
	require.NoError(t, err)
	return n
}

// After Close has returned, the Handler is not called.
func TestNoCallAfterClose(t *testing.T) {
	for range 100 {
		a, b := startTCP(t, 1, 1), startTCP(t, 2, 1)
		var closed, late atomic.Bool
		a.onFrame = func(Peer, []byte) {
			if closed.Load() {
				late.Store(true)
			}
		}
		a.SetAddr(b.id, b.addr)
		b.SetAddr(a.id, a.addr)
		a.Send(b.id, body("x"))
		for range 100 {
			b.Send(a.id, body("y"))
		}
		a.untilLine(t, "up 2/1")
		a.Close(t.Context())
		closed.Store(true)
		lines := len(a.all())
		b.Close(t.Context())
		require.False(t, late.Load())
		require.Len(t, a.all(), lines)
		require.Equal(t, count(a.all(), "up"), count(a.all(), "down"), "each Up has its Down")
	}
}

// The rest of a partly written batch is written before the next batch.
func TestTCPPartlyWrittenBatchArrivesWhole(t *testing.T) {
	a := startTCP(t, 1, 1, func(o *Options) { o.queueFrames, o.queueBytes, o.writeTimeout = 1000, 64<<20, time.Minute })
	c, err := net.Dial("tcp", a.addr)
	require.NoError(t, err)
	defer c.Close()
	r := raw{t, c}
	r.greet(id(2), 1, false)
	a.untilLine(t, "up 2/1")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	const frames = 400 // 25 MB, more than the buffers of a socket hold
	for i := range frames {
		frame := body(strings.Repeat("x", 64<<10-100))
		frame[1], frame[2] = byte(i), byte(i>>8)
		require.True(t, a.Send(id(2), frame))
	}
	for i := range frames {
		frame := r.next()
		require.Len(t, frame, 64<<10-99)
		require.Equal(t, []byte{byte(i), byte(i >> 8)}, frame[1:3])
	}
}
