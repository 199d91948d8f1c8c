package transport

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/loglimit"
	"github.com/elect-go/elect/internal/testkit"
)

// A node closes a connection with silent, slow or invalid input, and continues to serve a good peer.
func TestInvalidInputClosesConnection(t *testing.T) {
	greeted := func(r raw) { r.greet(id(6), 1, false); r.drain() }
	for _, test := range []struct {
		name   string
		play   func(r raw)
		reason string        // in the counters and in the log
		within time.Duration // limit for the close
		up     bool          // the bad peer had sent a hello
	}{
		{name: "silence", play: func(r raw) { r.drain() }, reason: "slow hello", within: handshakeTimeout},
		{name: "a byte a second", play: func(r raw) {
			r.drain()
			for _, b := range appendFrame(nil, helloFrame(id(6), 1, false, 0)) {
				if _, err := r.Write([]byte{b}); err != nil {
					return
				}
				testkit.Advance(time.Second)
			}
		}, reason: "slow hello", within: handshakeTimeout},
		{name: "a byte a second after the hello", play: func(r raw) {
			greeted(r)
			for _, b := range appendFrame(nil, make([]byte, 100)) {
				if _, err := r.Write([]byte{b}); err != nil {
					return
				}
				testkit.Advance(time.Second)
			}
		}, reason: "slow frame", within: 2 * time.Second, up: true},
		{name: "dripping frame after frame", play: func(r raw) {
			// Each piece ends one frame and begins the next, which is never whole.
			greeted(r)
			r.Write([]byte{0, 0, 0, 2, 0x91})
			for range 3 {
				testkit.Advance(time.Second)
				r.Write([]byte{1, 0, 0, 0, 2, 0x91})
			}
		}, reason: "slow frame", within: 5 * time.Second, up: true},
		{name: "length ffffffff", play: func(r raw) { r.drain(); r.Write([]byte{255, 255, 255, 255}) }, reason: "protocol"},
		{name: "length ffffffff after the hello", play: func(r raw) { greeted(r); r.Write([]byte{255, 255, 255, 255}) }, reason: "protocol", up: true},
		{name: "length 0", play: func(r raw) { r.drain(); r.Write([]byte{0, 0, 0, 0}) }, reason: "protocol"},
		{name: "a frame above 1 KiB before the hello", play: func(r raw) { r.drain(); r.Write([]byte{0, 0, 4, 1}) }, reason: "protocol"},
		{name: "five bytes of a huge array", play: func(r raw) { r.drain(); r.Write([]byte{0xdd, 255, 255, 255, 255}) }, reason: "protocol"},
		{name: "no hello but a probe", play: func(r raw) { r.drain(); r.say(controlPing) }, reason: "protocol"},
		{name: "a hello that is none", play: func(r raw) { r.drain(); r.say(0x91) }, reason: "handshake"},
		{name: "unknown control frame", play: func(r raw) { greeted(r); r.say(0x03) }, reason: "protocol", up: true},
		{name: "probe with a payload", play: func(r raw) { greeted(r); r.say(controlPing, 1) }, reason: "protocol", up: true},
		{name: "close reason too long", play: func(r raw) { greeted(r); r.say(make([]byte, 514)...) }, reason: "protocol", up: true},
		{name: "close reason that is no text", play: func(r raw) { greeted(r); r.say(0, 0xff) }, reason: "protocol", up: true},
		{name: "truncated frame", play: func(r raw) { greeted(r); r.Write([]byte{0, 0, 0, 9, 0x91}); r.Close() }, reason: "truncated frame", up: true},
		{name: "truncated hello", play: func(r raw) { r.drain(); r.Write([]byte{0, 0, 0, 9, 0x91}); r.Close() }, reason: "truncated frame"},
		{name: "this node's id", play: func(r raw) { r.greet(id(1), 9, false); r.drain() }, reason: "self"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a, good := m.start(t, 1, 1), m.start(t, 2, 1)
				good.SetAddr(a.id, a.addr)
				good.Send(a.id, body("before"))
				synctest.Wait()

				r := m.raw(t, "bad", a.addr)
				go test.play(r)
				testkit.Advance(test.within + rejectLinger)
				synctest.Wait()
				require.Equal(t, map[string]uint64{test.reason: 1}, a.counted("closed."))
				require.Equal(t, 1, a.open(), "the good one")
				require.Zero(t, a.pending())
				if test.reason != "self" {
					require.Len(t, a.log.Lines(), 1)
					require.Contains(t, a.log.Lines()[0], "addr=bad")
					require.Contains(t, a.log.Lines()[0], test.reason)
				}

				good.Send(a.id, body("after"))
				synctest.Wait()
				require.Equal(t, []string{"frame 2 before", "frame 2 after"}, a.with("frame 2"))
				if test.up {
					require.Len(t, a.with("up 6"), 1)
					require.Len(t, a.with("down 6"), 1)
				} else {
					require.Empty(t, a.with("up 6"))
				}
				r.Close()
				testkit.Advance(10 * time.Second) // until the bad peer has read the end of the stream
			})
		})
	}
}

func TestRandomBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, good := m.start(t, 1, 1), m.start(t, 2, 1)
		good.SetAddr(a.id, a.addr)
		for i := range 500 {
			r := m.raw(t, "bad", a.addr)
			r.drain()
			if i%2 == 0 {
				go func() { r.Write(appendFrame(nil, helloFrame(id(6), uint64(i), false, 0))) }()
			}
			noise := make([]byte, 1+random.IntN(2000))
			for j := range noise {
				noise[j] = byte(random.Uint32())
			}
			r.Write(noise)
			r.Close()
			synctest.Wait()
		}
		good.Send(a.id, body("x"))
		synctest.Wait()
		require.Equal(t, []string{"frame 2 x"}, a.with("frame 2"))
		require.Equal(t, 1, a.open())
		require.Len(t, a.peers, 1, "nothing is kept of unauthenticated peers")
	})
}

// A node evicts the oldest connection without a hello, so that a good peer connects.
func TestFloodOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		for range 5000 {
			m.raw(t, "bad", a.addr)
		}
		synctest.Wait()
		require.EqualValues(t, a.o.MaxPeers, a.pending())
		require.Equal(t, a.o.MaxPeers, a.open())
		require.EqualValues(t, 5000-a.o.MaxPeers, a.Counters()["closed.too many pending"])
		require.Len(t, a.log.Lines(), loglimit.Burst, "rate limited")

		good := m.start(t, 2, 1)
		good.Dial(Target{ID: a.id, Addr: a.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
		testkit.Advance(handshakeTimeout + rejectLinger)
		synctest.Wait()
		require.Zero(t, a.pending())
		a.Close(t.Context())
		lines := a.log.Lines()
		require.Contains(t, lines[len(lines)-1], "suppressed=")
	})
}

// Before the hello is done, a node reads a bounded number of bytes.
func TestFloodInHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		r := m.raw(t, "bad", a.addr)
		r.drain()
		taken := 0
		for {
			n, err := r.Write(appendFrame(nil, append(body(""), make([]byte, 1000)...)))
			taken += n
			if err != nil {
				break
			}
		}
		require.LessOrEqual(t, taken, 2*1005+rejectLingerBytes)
		synctest.Wait()
		require.Equal(t, map[string]uint64{"handshake": 1}, a.counted("closed."))
	})
}

// A flood of pings costs one pong at a time, because one pong may answer several pings.
func TestFloodOfProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		r := m.raw(t, "bad", a.addr)
		r.greet(id(6), 1, false)
		for range 10000 {
			r.say(controlPing) // and no pong is read
		}
		require.Equal(t, []byte{controlPong}, r.next())
		r.drain()
		r.say(0x91)
		synctest.Wait()
		require.Equal(t, []string{"up 6/1", "frame 6 "}, a.all())
		for c := range a.pool.all {
			require.LessOrEqual(t, len(c.reader.buf), readBuffer)
		}
	})
}

// The transport rejects an invalid hello of its own Handshake.
func TestInvalidHandshakeIsRejected(t *testing.T) {
	for _, frame := range [][]byte{nil, {controlClose}, append(body(""), make([]byte, 1024)...)} {
		t.Run(fmt.Sprintf("%d bytes", len(frame)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1, func(o *Options) {
					o.Handshake = func(*Peer, []byte) ([]byte, error) { return frame, nil }
				})
				m.start(t, 2, 1)
				a.Dial(Target{Addr: "n2"})
				testkit.Advance(time.Second)
				require.Equal(t, []string{"failed 0 rejected"}, a.all())
			})
		})
	}
}
