package transport

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func TestSimultaneousDialsKeepOneConnection(t *testing.T) {
	for _, byID := range []bool{true, false} {
		t.Run(fmt.Sprintf("by id %v", byID), func(t *testing.T) {
			for range 200 {
				synctest.Test(t, func(t *testing.T) { dialAtOnce(t, byID) })
			}
		})
	}
}

func dialAtOnce(t *testing.T, byID bool) {
	m := newMemory()
	a, b := m.start(t, 1, 1), m.start(t, 2, 1)
	target := func(n *node) Target {
		if byID {
			return Target{ID: n.id, Addr: n.addr}
		}
		return Target{Addr: n.addr}
	}
	a.SetAddr(b.id, b.addr)
	b.SetAddr(a.id, a.addr)
	go a.Dial(target(b))
	go b.Dial(target(a))
	for i := range 20 {
		go a.Send(b.id, body(fmt.Sprint(i)))
		go b.Send(a.id, body(fmt.Sprint(i)))
	}
	synctest.Wait()
	for _, n := range []*node{a, b} {
		require.Len(t, n.with("up"), 1)
		require.Empty(t, n.with("down"))
		require.Empty(t, n.with("failed"))
		require.Len(t, n.with("frame"), 20)
		require.Equal(t, 1, n.open())
		require.Empty(t, n.dialing)
	}
	require.NotEqual(t, dialed(a), dialed(b), "the two ends keep different connections")
}

// dialed reports whether a node dialled its only connection.
func dialed(n *node) bool {
	for c := range n.pool.all {
		return c.dialed
	}
	return false
}

// A session has two connections, and the peer closes the active one. The session continues on the other.
func TestGracefulCloseKeepsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		first, second := m.raw(t, "x", a.addr), m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		second.greet(id(2), 1, false)
		synctest.Wait()
		require.True(t, a.Send(id(2), body("x")))
		require.Equal(t, body("x"), second.next())
		second.say(controlClose)
		require.Equal(t, []byte{controlClose}, second.ends())
		require.True(t, a.Send(id(2), body("y")))
		require.Equal(t, body("y"), first.next())
		first.say(controlClose)
		require.Equal(t, []byte{controlClose}, first.ends())
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 polite"}, a.all())
	})
}

// The peer closes gracefully, and does not read an earlier frame. Its session ends after a timeout, or when another
// incarnation connects.
func TestGracefulCloseWaitsForWrites(t *testing.T) {
	for _, test := range []struct {
		name        string
		incarnation uint64 // of the second connection; 0: it sends no hello
		want        []string
	}{
		{"silence", 0, []string{"up 2/1", "down 2/1 polite"}},
		{"another incarnation", 2, []string{"up 2/1", "down 2/1 polite", "up 2/2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1)
				first, second := m.raw(t, "x", a.addr), m.raw(t, "x", a.addr)
				first.greet(id(2), 1, false)
				synctest.Wait()
				require.True(t, a.Send(id(2), body("x")))
				first.say(controlClose)
				synctest.Wait()
				require.Equal(t, []string{"up 2/1"}, a.all())
				if test.incarnation != 0 {
					second.greet(id(2), test.incarnation, false)
				} else {
					testkit.Advance(pingTimeout)
				}
				synctest.Wait()
				require.Equal(t, test.want, a.all())
			})
		})
	}
}

// While a dial waits, its target connects and closes gracefully. The later failure of the dial is reported.
func TestGracefulCloseThenRefusedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l := m.listen("n2")
		a := m.start(t, 1, 1)
		a.Dial(Target{ID: id(2), Addr: "n2"})
		synctest.Wait() // the dial waits: no node accepts
		r := m.raw(t, "x", a.addr)
		r.greet(id(2), 1, false)
		synctest.Wait()
		r.say(controlClose)
		r.drain()
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 polite"}, a.all())
		l.Close()
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 polite", "failed 2 connection refused"}, a.all())
	})
}

// forget is called for an old entry of a node that has connected again since. It must not remove the new entry: frames
// to the connected node would be lost.
func TestLateForgetRemovesNoOtherPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		a.SetAddr(id(2), "n2")
		before := a.peers[id(2)]
		a.SetAddrs(nil)
		require.NotContains(t, a.peers, id(2))
		r := m.raw(t, "x", a.addr)
		r.greet(id(2), 1, false)
		synctest.Wait()
		a.Transport.mu.Lock()
		a.forget(before)
		a.Transport.mu.Unlock()
		require.True(t, a.Send(id(2), body("x")), "it is connected")
		require.Equal(t, body("x"), r.next())
	})
}

// The newest connection is the active one; of two simultaneous dials, that of the lower ID. The side that dialed it
// closes the other one, and no frame in transit there is lost.
func TestActiveConnectionIsSelected(t *testing.T) {
	for _, test := range []struct {
		name       string
		self, peer byte
		opposite   bool // the first was dialled by this side
		age        time.Duration
		stays      int // index of the connection that stays
	}{
		{"dialled again by the peer", 1, 2, false, time.Minute - 1, 1},
		{"dialled twice by the peer", 1, 2, false, 0, 1},
		{"opposite sides", 1, 2, true, simultaneousOpen, 1},
		{"at once, and this side is lower", 1, 2, true, simultaneousOpen - 1, 0},
		{"at once, and the peer is lower", 2, 1, true, simultaneousOpen - 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, test.self, 1)
				var conns [2]raw
				if test.opposite {
					l := m.listen("x")
					a.Dial(Target{ID: id(test.peer), Addr: "x"})
					c, err := l.Accept()
					require.NoError(t, err)
					conns[0] = raw{t, c}
				} else {
					conns[0] = m.raw(t, "x", a.addr)
				}
				conns[0].greet(id(test.peer), 1, false)
				testkit.Advance(test.age)
				conns[1] = m.raw(t, "x", a.addr)
				conns[1].greet(id(test.peer), 1, false)
				stays, goes := conns[test.stays], conns[1-test.stays]
				if test.stays == 0 {
					require.Equal(t, []byte{controlClose}, goes.next(), "politely")
				}
				a.Send(id(test.peer), body("x"))
				require.Equal(t, body("x"), stays.next())
				goes.say(body("late")...)
				goes.say(controlClose)
				if last := goes.ends(); test.stays == 1 {
					require.Equal(t, []byte{controlClose}, last, "it was left to the peer, which knows both")
				}
				a.Send(id(test.peer), body("y"))
				require.Equal(t, body("y"), stays.next())
				synctest.Wait()
				require.Equal(t, []string{fmt.Sprintf("up %d/1", test.peer), fmt.Sprintf("frame %d late", test.peer)}, a.all(), "one Up")
				require.Equal(t, 1, a.open())
			})
		})
	}
}

func TestNewIncarnationReplacesUnresponsiveSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		synctest.Wait()
		first.drain()
		second := m.raw(t, "x", a.addr)
		second.claim(id(2), 2, 0)
		second.drain()
		testkit.Advance(pingTimeout - 1)
		require.Equal(t, []string{"up 2/1"}, a.all())
		testkit.Advance(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 superseded", "up 2/2"}, a.all())
		require.EqualValues(t, 1, a.Counters()["connections"])
	})
}

// Right after a kill and a quick restart the hello of the new incarnation can overtake the end of the old connection.
func TestOldConnectionMayEndLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		synctest.Wait()
		began := time.Now()
		second := m.raw(t, "x", a.addr)
		second.claim(id(2), 2, 0)
		second.drain()
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
		first.Close()
		synctest.Wait()
		got := a.all()
		require.Len(t, got, 3)
		require.Contains(t, []string{"down 2/1 EOF", "down 2/1 superseded"}, got[1], "both notice at one moment that the old connection has ended")
		require.Equal(t, "up 2/2", got[2])
		require.Zero(t, time.Since(began))
	})
}

func TestResponsiveSessionRejectsNewIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		testkit.Advance(time.Second)
		double := startNode(t, 2, 2, nil, "", func(o *Options) { o.Dial = m.dial("double") })
		double.Dial(Target{ID: a.id, Addr: a.addr})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"up 2/1"}, a.all())
		require.Equal(t, []string{"failed 1 duplicate id"}, double.all(), "it received no hello")
		require.ErrorContains(t, double.lastWhy(),
			"node id 00000000-0000-0000-0000-000000000002 is in use by another process, at n2; this process is at double")
		require.Len(t, a.log.Lines(), 1)
		require.Contains(t, a.log.Lines()[0], "level=ERROR")
		require.Len(t, double.log.Lines(), 1, "both sides say it")
		require.EqualValues(t, 1, a.Counters()["closed.duplicate id"])
		double.Dial(Target{ID: a.id, Addr: a.addr})
		testkit.Advance(time.Second)
		require.EqualValues(t, 2, a.Counters()["closed.duplicate id"])
		require.Len(t, a.log.Lines(), 1, "once")
		b.Send(a.id, body("x"))
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "frame 2 x"}, a.all(), "the first is not disturbed")
	})
}

// A dial fails if it reaches a process with the ID of a node that is connected and alive.
func TestDialThatFindsDuplicateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		double := startNode(t, 2, 2, m.listen("double"), "double")
		a.Dial(Target{Addr: "double"})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"up 2/1", "failed 0 rejected"}, a.all())
		require.Equal(t, []string{"up 1/1", "down 1/1 duplicate id"}, double.all())
	})
}

// A process dials after a younger process has taken its slot. The peer rejects the older process with the reason
// "replaced", because the peer cannot tell which process is the copy.
func TestOlderIncarnationIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.SetAddr(b.id, b.addr)
		testkit.Advance(time.Second)
		next := m.raw(t, "next", a.addr)
		next.greet(id(2), 2, false)
		next.answer()
		b.Dial(Target{ID: a.id, Addr: a.addr})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"failed 1 replaced"}, b.all())
		require.Equal(t, []string{"up 2/2"}, a.all())
		next.Close()
		synctest.Wait()
		b.Dial(Target{ID: a.id, Addr: a.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 2/2", "down 2/2 EOF", "up 2/1"}, a.all(), "it ran before start 2 and has lost no state")
	})
}

// A process that was started after the latest known incarnation of its node must have counted more starts. The
// transport keeps no incarnation of a non-member.
func TestOlderStateIsRejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		start  uint64
		ran    time.Duration
		member bool // its address is known
		want   string
	}{
		{"later", 4, 0, true, "up 2/4"},
		{"as many starts, another process", 1<<32 | 3, 0, true, "duplicate id"},
		{"fewer", 2, 0, true, "duplicate id"},
		{"fewer, started since", 2, time.Minute - 1, true, "duplicate id"},
		{"fewer, started before", 2, time.Minute + 1, true, "up 2/2"},
		{"of one that is no member", 2, 0, false, "up 2/2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1)
				if test.member {
					a.SetAddr(id(2), "n2")
				}
				first := m.raw(t, "x", a.addr)
				first.greet(id(2), 3, false)
				first.Close()
				testkit.Advance(time.Minute)
				second := m.raw(t, "y", a.addr)
				second.claim(id(2), test.start, test.ran)
				said := second.next()
				if test.want != "duplicate id" {
					require.EqualValues(t, 0x93, said[0], "a hello")
					synctest.Wait()
					require.Equal(t, test.want, a.all()[len(a.all())-1])
					return
				}
				require.Regexp(t, "^\\x00duplicate id: node id 0.*2 was started later, at x; this process is at y", string(said))
				require.EqualValues(t, 1, a.Counters()["closed.duplicate id"])
				require.Equal(t, []string{"up 2/3", "down 2/3 EOF"}, a.all())
				require.Len(t, a.log.Lines(), 1)
			})
		})
	}
}

// A dial reaches another process with this node's ID, which runs on a copy of its data.
func TestDuplicateOfOwnIDIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		as := func(incarnation uint64) func(*Options) {
			return func(o *Options) { o.Incarnation = incarnation << 32 }
		}
		a := m.start(t, 1, 1, as(1))
		testkit.Advance(time.Second)
		double := startNode(t, 1, 2, m.listen("double"), "double", as(2))
		a.Dial(Target{Addr: "double"})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"failed 0 replaced"}, a.all())
		require.Empty(t, double.all())
		for _, n := range []*node{a, double} {
			require.Len(t, n.log.Lines(), 1, "both sides say it")
		}
		require.Contains(t, a.log.Lines()[0]+double.log.Lines()[0], "level=ERROR")
		require.EqualValues(t, 1, double.Counters()["closed.replaced"], "it is the younger one that was dialled")

		a.Dial(Target{Addr: a.addr})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"failed 0 replaced", "failed 0 self"}, a.all())
		require.Len(t, a.log.Lines(), 1)
	})
}

func TestSecondDialIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		a.Dial(Target{ID: b.id, Addr: b.addr})
		a.Dial(Target{Addr: b.addr}) // any node there: in fact the same
		synctest.Wait()
		for _, n := range []*node{a, b} {
			require.Len(t, n.all(), 1)
			require.Equal(t, 1, n.open())
		}
		testkit.Advance(10 * time.Second)
		a.Dial(Target{Addr: b.addr})
		synctest.Wait()
		for _, n := range []*node{a, b} {
			require.Len(t, n.all(), 1, "also when the first is old")
			require.Equal(t, 1, n.open())
		}
	})
}

// An inactive connection of a session is read too. After the end of the session, its frames are dropped.
func TestNoFrameAfterDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		first.drain()
		synctest.Wait()
		second := m.raw(t, "x", a.addr)
		second.greet(id(2), 1, false)
		synctest.Wait()
		first.say(body("before")...)
		synctest.Wait()
		second.Close()
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "frame 2 before", "down 2/1 EOF"}, a.all(), "the second carries the session")
		first.say(body("after")...)
		synctest.Wait()
		require.Len(t, a.all(), 3)
	})
}

// Frames for one incarnation of a peer are not sent to the next one.
func TestFramesForOldIncarnationAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false) // it never reads
		synctest.Wait()
		for _, text := range []string{"taken", "waits", "waits"} {
			require.True(t, a.Send(id(2), body(text)))
			synctest.Wait()
		}
		second := m.raw(t, "x", a.addr)
		second.greet(id(2), 2, false)
		testkit.Advance(pingTimeout)
		synctest.Wait()
		require.True(t, a.Send(id(2), body("new")))
		require.Equal(t, body("new"), second.next())
		synctest.Wait()
		require.EqualValues(t, 3, a.Counters()["dropped.connection lost"])
	})
}

// Frames for one incarnation are not sent to the next one, even if the first one has closed gracefully.
func TestGracefulCloseDropsFramesForNewIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1)
		m.listen("n2") // no node accepts
		a.SetAddr(id(2), "n2")
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false) // it never reads
		synctest.Wait()
		for _, text := range []string{"taken", "waits"} {
			require.True(t, a.Send(id(2), body(text)))
			synctest.Wait()
		}
		first.say(controlClose)
		synctest.Wait()
		second := m.raw(t, "x", a.addr)
		second.greet(id(2), 2, false)
		synctest.Wait()
		require.True(t, a.Send(id(2), body("new")))
		require.Equal(t, body("new"), second.next())
		require.Equal(t, []string{"up 2/1", "down 2/1 polite", "up 2/2"}, a.all())
	})
}

// Up of a new incarnation waits until Down of the previous one has returned.
func TestUpWaitsForDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		h := &slow{recorder: newRecorder(), release: make(chan struct{})}
		a := m.start(t, 1, 1, func(o *Options) { o.Handler = h })
		first, second := m.raw(t, "x", a.addr), m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		synctest.Wait()
		first.Close()
		synctest.Wait()
		second.greet(id(2), 2, false)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, h.all())
		close(h.release)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1", "down 2/1 EOF", "up 2/2"}, h.all())
	})
}

// slow is a Handler with a Down that waits for release.
type slow struct {
	*recorder
	release chan struct{}
}

func (s *slow) Down(p Peer, why error) {
	<-s.release
	s.recorder.Down(p, why)
}

// A dial to a peer with a session does nothing.
func TestConnectedPeerIsNotDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1), m.start(t, 2, 1)
		for range 3 {
			a.Dial(Target{ID: b.id, Addr: b.addr})
			synctest.Wait()
		}
		require.EqualValues(t, 1, a.Counters()["dials"])
		require.EqualValues(t, 1, b.Counters()["accepted"])
	})
}

// A flood of connections that claim one ID occupies at most MaxPeers slots, and none after the ping is answered.
func TestConnectionsAwaitingPingAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, func(o *Options) { o.MaxPeers = 2 })
		first := m.raw(t, "x", a.addr)
		first.greet(id(2), 1, false)
		synctest.Wait()
		for range 2 {
			var newcomers []raw
			for i := range 3 {
				r := m.raw(t, "x", a.addr)
				r.claim(id(2), uint64(2+i), 0)
				newcomers = append(newcomers, r)
				synctest.Wait()
			}
			newcomers[0].ends() // the oldest was evicted
			require.Equal(t, []byte{controlPing}, first.next())
			first.say(controlPong)
			for _, r := range newcomers[1:] {
				require.Contains(t, string(r.next()), "is in use by another process")
			}
			testkit.Advance(2 * rejectLinger) // until all are closed
		}
	})
}
