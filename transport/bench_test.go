package transport

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkRoundTrip measures the round trip of a small frame over loopback TCP, between two transports in one process.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := startTCP(b, 1, 1), startTCP(b, 2, 1)
	back := make(chan struct{}, 1)
	answer := append(body(""), make([]byte, 40)...)
	y.onFrame = func(p Peer, _ []byte) { y.Send(p.ID, answer) }
	x.onFrame = func(Peer, []byte) { back <- struct{}{} }
	x.Dial(Target{ID: y.id, Addr: y.addr})
	x.untilLine(b, "up 2/1")
	b.ReportAllocs()
	for b.Loop() {
		x.Send(y.id, answer)
		<-back
	}
}

// BenchmarkSend measures the sender's cost of a frame that the peer reads.
func BenchmarkSend(b *testing.B) {
	x, y := startTCP(b, 1, 1), startTCP(b, 2, 1)
	y.onFrame = func(Peer, []byte) {}
	x.Dial(Target{ID: y.id, Addr: y.addr})
	x.untilLine(b, "up 2/1")
	frame := append(body(""), make([]byte, 40)...)
	b.ReportAllocs()
	for b.Loop() {
		for !x.Send(y.id, frame) {
			runtime.Gosched() // the queue is full
		}
	}
}

// evidence is a Handler that dials a peer when its connection has ended, as an engine does.
type evidence struct {
	*recorder
	t      *Transport
	up     chan struct{}
	failed chan time.Time
}

func (e *evidence) Up(Peer)                  { e.up <- struct{}{} }
func (e *evidence) Down(p Peer, _ error)     { e.t.Dial(Target{ID: p.ID}) }
func (e *evidence) DialFailed(Target, error) { e.failed <- time.Now() }

// BenchmarkKillToRefused measures the time from the close of a peer's sockets to DialFailed: end of stream, Down, Dial,
// refused connection. It uses loopback TCP in one process.
func BenchmarkKillToRefused(b *testing.B) {
	e := &evidence{recorder: newRecorder(), up: make(chan struct{}), failed: make(chan time.Time, 1)}
	x := startTCP(b, 1, 1, func(o *Options) { o.Handler = e })
	e.t = x.Transport
	var total time.Duration
	for b.Loop() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		x.SetAddr(id(2), l.Addr().String())
		x.Dial(Target{ID: id(2)})
		c, err := l.Accept()
		require.NoError(b, err)
		raw{b, c}.greet(id(2), 1, false)
		<-e.up
		l.Close()
		began := time.Now()
		c.Close()
		total += (<-e.failed).Sub(began)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/kill")
}

// BenchmarkReadFrames measures the receiver's cost of finding the ends of small frames, such as heartbeats.
func BenchmarkReadFrames(b *testing.B) {
	const batch = 1000
	var stream []byte
	for range batch {
		stream = appendFrame(stream, append(body(""), make([]byte, 14)...))
	}
	in := bytes.NewReader(stream)
	f := &frameReader{src: in, limit: 64 << 10}
	f.reserve(readBuffer)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(stream)
		for frames := 0; frames < batch; {
			_, ok, err := f.next()
			switch {
			case err != nil:
				b.Fatal(err)
			case ok:
				frames++
			default:
				require.NoError(b, f.fill())
			}
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkStartStop measures New and Close.
func BenchmarkStartStop(b *testing.B) {
	for b.Loop() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		t, err := New(Options{Self: id(1), Listener: l, Handler: newRecorder(), Handshake: hello(id(1), 1, false)})
		require.NoError(b, err)
		t.Close(context.Background())
	}
}
