package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func TestFramesGoBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 7), m.start(t, 2, 8)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 2/8"}, a.all())
		require.True(t, a.lastPeer().Dialed)
		require.Equal(t, "n2", a.lastPeer().Addr)
		require.False(t, b.lastPeer().Dialed)

		require.True(t, a.Send(b.id, body("x")))
		require.True(t, b.Send(a.id, body("y")), "a connection carries frames both ways, whichever side dialed")
		synctest.Wait()
		require.Equal(t, []string{"up 2/8", "frame 2 y"}, a.all())
		require.Equal(t, []string{"up 1/7", "frame 1 x"}, b.all())

		s := a.Counters()
		require.Equal(t, []uint64{1, 1}, []uint64{s["frames.in"], s["frames.out"]})
		require.EqualValues(t, 1, s["connections"])
		require.Equal(t, b.Counters()["bytes.out"], s["bytes.in"])
	})
}

func TestSendDialsOnceAndQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.SetAddrs(map[ID]string{b.id: b.addr, id(9): "n9"})
		for i := range 3 {
			require.True(t, a.Send(b.id, body(fmt.Sprint(i))))
		}
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 0", "frame 1 1", "frame 1 2"}, b.all())
		require.EqualValues(t, 1, a.Counters()["dials"])

		require.True(t, a.Send(id(9), body("x")), "no node is there, but that is not known yet")
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "failed 9 connection refused"}, a.all())
		require.False(t, a.Send(id(8), body("x")))
		require.Equal(t, map[string]uint64{"dial failed": 1, "no address": 1}, a.counted("dropped."))
	})
}

func TestSetAddrsReplacesBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newMemory().start(t, 1, 1)
		a.SetAddr(id(2), "n2")
		a.SetAddrs(map[ID]string{id(3): "n3"})
		require.False(t, a.Send(id(2), body("x")))
		require.True(t, a.Send(id(3), body("x")))
		synctest.Wait()
		a.SetAddr(id(3), "")
		require.Empty(t, a.peers, "of a node without address and connection nothing is kept")
	})
}

func TestSendPanicsOnFrameWithoutArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newMemory().start(t, 1, 1)
		for _, frame := range [][]byte{nil, {}, {controlClose}, {0xc0}} {
			require.Panics(t, func() { a.Send(id(2), frame) })
		}
		require.False(t, a.Send(id(2), append(body(""), make([]byte, 64<<10)...)))
		require.EqualValues(t, 1, a.Counters()["dropped.too large"])
	})
}

func TestDialFailures(t *testing.T) {
	for _, test := range []struct {
		name   string
		target Target
		peer   func(raw) // the peer at n5; nil if no process listens there
		want   Kind
		text   string
	}{
		{name: "no process listens", target: Target{ID: id(9), Addr: "n9"}, want: ConnRefused, text: "n9"},
		{name: "no address", target: Target{ID: id(9)}, want: Other, text: "no address"},
		{name: "itself, by id", target: Target{ID: id(1), Addr: "n2"}, want: Self},
		{name: "itself, by address", target: Target{Addr: "n1"}, want: Self},
		{name: "another id", target: Target{ID: id(9), Addr: "n2"}, want: Rejected,
			text: "dialled 00000000-0000-0000-0000-000000000009, found 00000000-0000-0000-0000-000000000002"},
		{name: "closed before hello", target: Target{Addr: "n5"}, peer: func(r raw) { r.Close() }, want: ClosedBeforeHello},
		{name: "polite before hello", target: Target{Addr: "n5"}, peer: func(r raw) { r.say(controlClose) }, want: ClosedBeforeHello},
		{name: "rejected by the peer", target: Target{Addr: "n5"}, peer: func(r raw) { r.next(); r.say(controlClose, 'n', 'o') }, want: Rejected, text: "rejected by the peer: no"},
		{name: "refused here", target: Target{Addr: "n5"}, peer: func(r raw) { r.next(); r.say(0x91); r.ends() }, want: Rejected, text: "hello of 1 bytes"},
		{name: "silence", target: Target{Addr: "n5"}, peer: func(r raw) { r.ends() }, want: Timeout, text: "hello not done within 5s"},
		{name: "nonsense", target: Target{Addr: "n5"}, peer: func(r raw) { r.next(); r.say(0xc0); r.ends() }, want: Protocol},
		{name: "zero id", target: Target{Addr: "n5"}, peer: func(r raw) { r.greet(ID{}, 1, false); r.ends() }, want: Rejected, text: "zero"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1)
				m.start(t, 2, 1)
				if test.peer != nil {
					l := m.listen("n5")
					go func() {
						c, _ := l.Accept()
						test.peer(raw{t, c})
						c.Close()
					}()
				}
				a.Dial(test.target)
				testkit.Advance(handshakeTimeout + time.Second)
				require.Equal(t, []string{fmt.Sprintf("failed %d %v", test.target.ID[15], test.want)}, a.all())
				require.ErrorContains(t, a.lastWhy(), test.text)
				require.Zero(t, a.pending()+a.sessions)
				require.Empty(t, a.dialing)
				require.Empty(t, a.peers)
			})
		})
	}
}

func TestDialTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.listen("n5") // no node accepts
		a := m.start(t, 1, 1)
		a.Dial(Target{Addr: "n5"})
		a.Dial(Target{Addr: "n5"})
		testkit.Advance(a.o.DialTimeout)
		synctest.Wait()
		require.Equal(t, []string{"failed 0 timeout"}, a.all(), "the second was a no-op: the first was under way")
	})
}

// A refused dial is not reported if its target has connected meanwhile.
func TestDialFailureIsNotReportedWhileConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		release := make(chan struct{})
		a := m.start(t, 1, 1, func(o *Options) {
			o.Dial = func(context.Context, string) (net.Conn, error) { <-release; return nil, syscall.ECONNREFUSED }
		})
		b := m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		b.Dial(Target{ID: a.id, Addr: a.addr})
		synctest.Wait()
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
		a.Send(b.id, body("x"))
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 x"}, b.all())
	})
}

func TestHandshakeErrorReachesPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		b := m.start(t, 2, 1, func(o *Options) {
			o.Handshake = func(*Peer, []byte) ([]byte, error) { return nil, errors.New(`cluster is "blue", want "green"`) }
		})
		a.Dial(Target{ID: b.id, Addr: b.addr})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"failed 2 rejected"}, a.all())
		require.ErrorContains(t, a.lastWhy(), `rejected by the peer: cluster is "blue", want "green"`)
		require.Empty(t, b.all())
		require.Len(t, a.log.Lines(), 1)
		require.Len(t, b.log.Lines(), 1, "both sides say it")
		require.Equal(t, map[string]uint64{"handshake": 1}, b.counted("closed."))
	})
}

func TestKillIsEOFThenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		began := time.Now()
		m.kill(b.addr)
		synctest.Wait()
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 EOF", "failed 2 connection refused"}, a.all())
		require.Zero(t, time.Since(began), "no timer is on this path")
	})
}

func TestDisconnectSendsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		a.Disconnect(b.id, errors.New("removed from the cluster"))
		a.Disconnect(id(9), errors.New("unknown"))
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 rejected"}, a.all())
		require.Equal(t, []string{"up 1/1", "down 1/1 refused"}, b.all())
		require.EqualError(t, b.lastWhy(), "transport: rejected by the peer: removed from the cluster")
	})
}

func TestHandlerErrorSendsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		b.refuse = errors.New("no such message")
		a.SetAddr(b.id, b.addr)
		a.Send(b.id, body("x"))
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 x", "down 1/1 rejected"}, b.all())
		require.EqualError(t, a.lastWhy(), "transport: rejected by the peer: no such message")
		require.EqualValues(t, 1, b.Counters()["closed.handler"])
	})
}

func TestCloseIsGracefulAndLosesNoFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		for range 1000 {
			require.True(t, a.Send(b.id, body("x")))
			require.True(t, b.Send(a.id, body("y")))
		}
		require.NoError(t, a.Close(t.Context()))
		synctest.Wait()
		require.Equal(t, 1000, len(b.with("frame")))
		require.Equal(t, 1000, len(a.with("frame")), "what the other side had queued still comes")
		require.Equal(t, []string{"down 1/1 polite"}, b.with("down"))
		require.ErrorIs(t, b.lastWhy(), errClosedByPeer)
		require.ErrorIs(t, a.lastWhy(), errClosed)
		require.False(t, a.Send(b.id, body("late")))
		a.Dial(Target{Addr: b.addr})
		require.NoError(t, a.Close(t.Context()), "closing twice is allowed")
		require.Len(t, a.with("up"), 1)
	})
}

func TestCloseEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		r := m.raw(t, "x", a.addr)
		r.greet(id(2), 1, false) // the peer never answers the close frame
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, a.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 10*time.Millisecond, time.Since(began))
		require.Equal(t, []string{"up 2/1", "down 2/1 polite"}, a.all())
	})
}

func TestIdleConnectionIsClosedGracefully(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		b := m.start(t, 2, 1, func(o *Options) { o.idleTimeout = 24 * time.Hour })
		a.Dial(Target{ID: b.id, Addr: b.addr})
		testkit.Advance(50 * time.Second)
		b.Send(a.id, body("x"))
		testkit.Advance(50 * time.Second)
		a.Send(b.id, body("y"))
		synctest.Wait()
		testkit.Advance(59 * time.Second)
		require.Empty(t, a.with("down"), "a frame either way counts")
		testkit.Advance(time.Second)
		synctest.Wait()
		require.ErrorIs(t, a.lastWhy(), errIdle)
		require.ErrorIs(t, b.lastWhy(), errClosedByPeer)

		a.SetAddr(b.id, b.addr)
		a.Send(b.id, body("again"))
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 y", "down 1/1 polite", "up 1/1", "frame 1 again"}, b.all())
	})
}

func TestNextConnectionCarriesFramesLeftByGracefulClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		a.SetAddr(id(2), "n2")
		r := m.raw(t, "x", a.addr)
		r.greet(id(2), 1, false)
		synctest.Wait()
		a.Send(id(2), body("taken")) // fills the pipe: the peer does not read
		synctest.Wait()
		a.Send(id(2), body("left"))
		b := m.start(t, 2, 1)
		r.say(controlClose) // the peer should still read, and does not
		testkit.Advance(pingTimeout)
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 left"}, b.all())
		require.Equal(t, []string{"up 2/1", "down 2/1 polite", "up 2/1"}, a.all())
	})
}

func TestQueueIsWrittenToClosingPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		r := m.raw(t, "x", a.addr)
		r.greet(id(2), 1, false)
		synctest.Wait()
		a.Send(id(2), body("x"))
		synctest.Wait()
		a.Send(id(2), body("y"))
		r.say(controlClose)
		synctest.Wait()
		require.Equal(t, body("x"), r.next())
		require.Equal(t, body("y"), r.next())
		require.Equal(t, []byte{controlClose}, r.next())
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 polite"}, a.all())
		require.Empty(t, a.counted("dropped."))
	})
}

func TestQueueIsBoundedAndCounts(t *testing.T) {
	for _, test := range []struct {
		name          string
		frames, bytes int
		want          int
	}{
		{"by frames", 10, 1 << 20, 10},
		{"by bytes", 1000, 16 * 6, 16},
		{"by bytes, with room for half a frame", 1000, 16*6 + 5, 16},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1, func(o *Options) { o.queueFrames, o.queueBytes, o.maxFrame = test.frames, test.bytes, 32 })
				r := m.raw(t, "x", a.addr)
				r.greet(id(2), 1, false)
				synctest.Wait()
				a.Send(id(2), body("y")) // the write loop takes it, and waits for the pipe
				synctest.Wait()
				sent := 0
				for range 100 {
					if a.Send(id(2), body("z")) {
						sent++
					}
				}
				require.Equal(t, test.want, sent)
				require.EqualValues(t, 100-test.want, a.Counters()["dropped.queue full"])
				testkit.Advance(a.o.writeTimeout)
				synctest.Wait()
				require.Equal(t, []string{"up 2/1", "down 2/1 timeout"}, a.all(), "a peer that never reads is closed")
				require.EqualValues(t, 1, a.Counters()["closed.slow write"])
				require.EqualValues(t, test.want+1, a.Counters()["dropped.connection lost"])
			})
		})
	}
}

func TestSlowHandlerHoldsUpItsPeerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		c := m.start(t, 3, 1)
		held := make(chan struct{})
		c.onFrame = func(p Peer, _ []byte) {
			if p.ID == a.id {
				<-held
			}
			c.add(fmt.Sprintf("frame %d", p.ID[15]))
		}
		for _, n := range []*node{a, b} {
			n.SetAddr(c.id, c.addr)
			n.Send(c.id, body("x"))
			synctest.Wait()
		}
		require.Equal(t, []string{"frame 2"}, c.with("frame"))
		close(held)
		synctest.Wait()
		require.Equal(t, []string{"frame 2", "frame 1"}, c.with("frame"))
	})
}

func TestConnectedClientIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		a.onFrame = func(p Peer, b []byte) { a.Send(p.ID, body(fmt.Sprint("client ", p.starts()))) }
		first, second := m.raw(t, "x", a.addr), m.raw(t, "y", a.addr)
		first.greet(ID{}, 1, true)
		synctest.Wait()             // so that lastPeer returns the second client
		second.greet(ID{}, 2, true) // clients replace neither each other nor a node with the ID that they send
		first.say(0x90)
		require.Equal(t, body("client 1"), first.next())
		second.say(0x90)
		require.Equal(t, body("client 2"), second.next())
		require.Len(t, a.peers, 2)
		gone := a.lastPeer()
		second.Close()
		synctest.Wait()
		require.False(t, a.Send(gone.ID, body("x")))
		require.Equal(t, []string{"down client/2 EOF"}, a.with("down"))
		require.Len(t, a.peers, 1)
	})
}

// The sessions of one identity, or of one of its hosts, keep out no other peer, neither as nodes nor as clients.
func TestIdlestSessionIsEvicted(t *testing.T) {
	for _, client := range []bool{false, true} {
		t.Run(fmt.Sprintf("client=%v", client), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit = 4
				m := newMemory()
				a := m.start(t, 1, 1, func(o *Options) {
					o.MaxPeers, o.maxClients = limit, limit
					said := o.Handshake
					o.Handshake = func(p *Peer, theirs []byte) ([]byte, error) {
						p.Identity, _, _ = strings.Cut(p.Addr, ".") // the host up to its first dot
						return said(p, theirs)
					}
				})
				a.SetAddrs(map[ID]string{id(2): "member:1"})
				n := byte(10)
				connect := func(host string, self ID) raw {
					if client {
						self = ID{}
					}
					r := m.raw(t, host+":1", a.addr)
					r.greet(self, 1, client)
					r.drain()
					synctest.Wait()
					testkit.Advance(time.Millisecond)
					n++
					return r
				}
				hosts := func() (all []string) {
					a.Transport.mu.Lock()
					defer a.Transport.mu.Unlock()
					for _, p := range a.peers {
						if p.session != nil {
							all = append(all, strings.TrimSuffix(p.session.active.addr, ":1"))
						}
					}
					slices.Sort(all)
					return all
				}
				first := connect("a.1", id(n))
				connect("a.1", id(n))
				connect("a.1", id(n))
				connect("a.2", id(n))
				first.say(body("x")...) // now the second one is idle for longest
				synctest.Wait()
				connect("b.1", id(n))
				require.Equal(t, []string{"a.1", "a.1", "a.2", "b.1"}, hosts())
				connect("c.1", id(n))
				require.Equal(t, []string{"a.1", "a.2", "b.1", "c.1"}, hosts())
				first.say(body("x")...)
				synctest.Wait()
				require.Len(t, a.with("frame"), 2, "it was not idle for longest")
				label := map[bool]string{false: "too many peers", true: "too many clients"}[client]
				require.Equal(t, map[string]uint64{label: 2}, a.counted("closed."))
				if client {
					return
				}
				member := connect("a.1", id(2))
				require.Equal(t, []string{"a.1", "a.1", "a.2", "b.1", "c.1"}, hosts(), "the place of a member is its own")
				for range 10 {
					connect("d.1", id(n))
				}
				member.say(body("x")...)
				synctest.Wait()
				require.Len(t, a.with("frame 2"), 1)
			})
		})
	}
}

// MaxPeers connections may wait for their hellos at once, each for seconds, as at the first start of a large cluster on
// a busy machine.
func TestSimultaneousHellos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const peers = 200
		m := newMemory()
		a := m.start(t, 1, 1, func(o *Options) { o.MaxPeers = peers })
		var all []raw
		for range peers {
			all = append(all, m.raw(t, "x", a.addr))
		}
		testkit.Advance(4 * time.Second)
		for i, r := range all {
			r.greet(id(byte(2+i)), 1, false)
		}
		synctest.Wait()
		require.Len(t, a.with("up"), peers)
		require.Empty(t, a.counted("closed."))
	})
}

// failingListener fails a few times, as if the process had no file descriptor left.
type failingListener struct {
	net.Listener
	failures atomic.Int32
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

func TestAcceptBacksOffAndContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, func(o *Options) {
			l := &failingListener{Listener: o.Listener}
			l.failures.Store(10)
			o.Listener = l
		})
		b := m.start(t, 2, 1)
		synctest.Wait()
		require.EqualValues(t, 1, a.Counters()["accepted.failed"], "it waits before it tries again")
		testkit.Advance(5 * time.Second) // 5 + 10 + … + 640 + 1000 + 1000 ms
		require.EqualValues(t, 10, a.Counters()["accepted.failed"])
		b.Dial(Target{ID: a.id, Addr: a.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 1/1"}, b.all())
	})
}

// A Handler may call the Transport from each of its methods.
func TestHandlerMayCallTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		h := &caller{recorder: newRecorder()}
		a := m.start(t, 1, 1, func(o *Options) { o.Handler = h })
		h.t = a.Transport
		b := m.start(t, 2, 1)
		a.SetAddr(b.id, b.addr)
		a.Dial(Target{ID: b.id})
		synctest.Wait()
		b.Send(a.id, body("x"))
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 up", "frame 1 frame"}, b.all())
		m.kill(b.addr)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "frame 2 x", "down 2/1 EOF", "failed 2 connection refused", "failed 2 connection refused"}, h.all())
	})
}

type caller struct {
	*recorder
	t    *Transport
	once sync.Once
}

func (c *caller) Up(p Peer) { c.recorder.Up(p); c.t.Send(p.ID, body("up")) }
func (c *caller) Frame(p Peer, b []byte) error {
	c.t.Send(p.ID, body("frame"))
	return c.recorder.Frame(p, b)
}
func (c *caller) Down(p Peer, why error) { c.recorder.Down(p, why); c.t.Dial(Target{ID: p.ID}) }
func (c *caller) DialFailed(target Target, why error) {
	c.recorder.DialFailed(target, why)
	c.once.Do(func() { c.t.Dial(target) })
}
