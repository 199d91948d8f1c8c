package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

func TestOrigin(t *testing.T) {
	for addr, want := range map[string]origin{
		"192.0.2.77:1":             {"192.0.2.77", "192.0.2.0/24"},
		"[::ffff:192.0.2.77]:1":    {"::ffff:192.0.2.77", "192.0.2.0/24"},
		"[2001:db8:1:2:3:4:5:6]:1": {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"[fe80::1%eth0]:1":         {"fe80::/64", "fe80::/48"},
		"n1.example.com:1":         {"n1.example.com", "n1.example.com"},
		"pipe":                     {"pipe", "pipe"},
	} {
		require.Equal(t, want, originOf(addr), addr)
	}
}

// shelved puts connections from these hosts into p, and returns the hosts of those that p evicts.
func shelved(t *testing.T, p *pool, hosts ...string) (evicted []string) {
	for _, host := range hosts {
		addr := net.JoinHostPort(host, "1")
		c := &conn{addr: addr, origin: originOf(addr), ctx: t.Context(), nc: memoryConn{remote: addr}}
		c.nc, _ = net.Pipe()
		require.True(t, p.add(c))
		if out := p.addPending(c); out != nil {
			evicted = append(evicted, out.origin.host)
		}
	}
	return evicted
}

func TestPoolEvicts(t *testing.T) {
	many := func(format string, from, to int) (all []string) {
		for i := from; i < to; i++ {
			all = append(all, fmt.Sprintf(format, i))
		}
		return all
	}
	for _, test := range []struct {
		name  string
		hosts []string
		want  []string // evicted
	}{
		{"none while there are places", many("198.51.100.%d", 1, 9), nil},
		{"oldest of equals", append(many("198.51.%d.1", 1, 9), "203.0.113.1"), []string{"198.51.1.1"}},
		{"prefix with the most", append([]string{"192.0.2.1"}, many("198.51.100.%d", 1, 10)...), []string{"198.51.100.1", "198.51.100.2"}},
		{"host with the most within a prefix", slices.Concat([]string{"198.51.100.1"}, slices.Repeat([]string{"198.51.100.2"}, 8)), []string{"198.51.100.2"}},
		{"IPv6 network with the most", slices.Concat([]string{"2001:db8:1::1"}, many("2001:db8:2:%d::1", 1, 9)), []string{"2001:db8:2:1::/64"}},
		{"half of the places for members", append(slices.Repeat([]string{"10.0.0.1"}, 4), many("198.51.%d.1", 1, 6)...), []string{"198.51.1.1"}},
		{"more than half for members while there are places", slices.Repeat([]string{"10.0.0.1"}, 8), nil},
		{"members above half make room", append(slices.Repeat([]string{"10.0.0.1"}, 8), many("198.51.%d.1", 1, 5)...),
			slices.Repeat([]string{"10.0.0.1"}, 4)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPool(8)
			p.hosts.Store(&map[netip.Addr]bool{netip.MustParseAddr("10.0.0.1"): true})
			require.Equal(t, test.want, shelved(t, p, test.hosts...))
			for c := range p.all {
				p.remove(c)
			}
			for _, s := range p.pending {
				require.Zero(t, len(s.conns)+len(s.hosts)+len(s.prefixes), "nothing is left")
			}
		})
	}
}

// Hosts have their turns round robin, and every second turn is for a member's host.
func TestTurnsAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		require.True(t, turns.acquire(t.Context(), "first", false))
		var mu sync.Mutex
		var order []string
		for _, host := range []string{"a", "a", "a", "b", "b", "c", "member", "member"} {
			go func() {
				turns.acquire(t.Context(), host, host == "member")
				mu.Lock()
				order = append(order, host)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		for range 8 {
			turns.release()
			synctest.Wait()
		}
		require.Equal(t, []string{"a", "member", "b", "member", "c", "a", "b", "a"}, order)
		turns.release()
		require.Equal(t, 1, turns.free)
	})
}

// If a handshake ends when its turn comes, the turn goes to the next handshake.
func TestTurnIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		require.True(t, turns.acquire(t.Context(), "first", false))
		var cancels []context.CancelFunc
		taken := make(chan bool, 3)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			go func() { taken <- turns.acquire(ctx, "a", false) }()
			synctest.Wait()
		}
		cancels[1]()
		require.False(t, <-taken)
		turns.mu.Lock() // so that the handshake gets its turn and its end at once
		cancels[0]()
		next := turns.lines[1].pop()
		turns.mu.Unlock()
		close(next)
		if <-taken { // the first handshake has got the turn
			turns.release()
		}
		require.True(t, <-taken, "the turn goes to the last one")
		turns.release()
		require.Equal(t, 1, turns.free)
		require.Zero(t, len(turns.lines[1].hosts)+len(turns.lines[1].waiting))
		cancels[2]()
	})
}

// computing is a Security that computes until release, and counts the concurrent computations.
type computing struct {
	mu        sync.Mutex
	now, most int
	release   chan struct{}
}

func (s *computing) secure(nc net.Conn, dialed bool) (net.Conn, any, error) {
	if !dialed {
		if _, err := io.ReadFull(nc, make([]byte, 1)); err != nil {
			return nil, nil, err
		}
	}
	s.count(1)
	<-s.release
	s.count(-1)
	if dialed {
		_, err := nc.Write([]byte{1})
		return nc, "proved", err
	}
	return nc, "proved", nil
}

func (s *computing) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.most = max(s.most, s.now)
}

// A limited number of handshakes compute at the same time.
func TestFewHandshakesCompute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := &computing{release: make(chan struct{})}
		a := m.start(t, 1, 1, func(o *Options) { o.Security, o.handshakes = s.secure, 2 })
		for i := range 40 {
			_, err := m.raw(t, fmt.Sprintf("192.0.2.%d:1", i), a.addr).Write([]byte{1})
			require.NoError(t, err)
		}
		m.listen("n2")
		a.Dial(Target{ID: id(2), Addr: "n2"}) // own dials need a turn as well
		synctest.Wait()
		require.Equal(t, 2, s.now)
		close(s.release)
		testkit.Advance(handshakeTimeout + time.Second)
		synctest.Wait() // the handshakes have ended
		require.Equal(t, 2, s.most)
		require.Equal(t, 2, a.Transport.turns.free)
	})
}

// A handshake holds no turn while its peer does not write or does not read.
func TestSlowPeerHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, secured(password{word: "w"}), func(o *Options) { o.handshakes = 1 })
		for range 10 {
			_, err := m.raw(t, "192.0.2.1:1", a.addr).Write([]byte{saidFirst})
			require.NoError(t, err)
			_, err = m.raw(t, "192.0.2.1:1", a.addr).Write([]byte("\x16\x01\x00w")) // and the peer reads no answer
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Equal(t, 1, a.Transport.turns.free)
		b := m.start(t, 2, 1, secured(password{word: "w"}))
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
	})
}

// A handshake that waits for its turn ends after handshakeTimeout, or when the transport is closed.
func TestHandshakeWithoutTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, secured(password{word: "w"}), func(o *Options) { o.handshakes = 1 })
		require.True(t, a.Transport.turns.acquire(t.Context(), "busy", false))
		r := m.raw(t, "192.0.2.1:1", a.addr)
		_, err := r.Write([]byte("\x16\x01\x00w"))
		require.NoError(t, err)
		testkit.Advance(handshakeTimeout)
		synctest.Wait()
		require.Equal(t, map[string]uint64{"slow hello": 1}, a.counted("closed."))
		require.Zero(t, a.open())

		m.listen("n2")
		a.Dial(Target{ID: id(2), Addr: "n2"})
		synctest.Wait()
		start := time.Now()
		require.NoError(t, a.Close(t.Context()))
		require.Zero(t, time.Since(start))
	})
}

// Methods that the loop of a node calls do not wait for the lock of new connections, and new connections do not wait
// for the lock that the loop takes.
func TestLoopDoesNotWaitForNewConnections(t *testing.T) {
	m := newMemory()
	a := m.start(t, 1, 1, secured(password{word: "w"}), func(o *Options) { o.MaxPeers = 4 })
	b := m.start(t, 2, 1, secured(password{word: "w"}))
	a.Dial(Target{ID: b.id, Addr: b.addr})
	a.untilLine(t, "up 2/1")
	without := func(lock *sync.Mutex, f func()) {
		t.Helper()
		lock.Lock()
		defer lock.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("it waits for the lock")
		}
	}
	without(&a.pool.mu, func() {
		a.Send(b.id, body("x"))
		a.SetAddrs(map[ID]string{b.id: b.addr})
		a.Dial(Target{ID: id(3), Addr: "n3"})
		a.Counters()
		a.Disconnect(b.id, io.EOF)
	})
	without(&a.Transport.mu, func() {
		for range 100 {
			m.raw(t, "192.0.2.1:1", a.addr)
		}
		for _, says := range []string{"\x16\x01\x00x", "plain text"} { // a wrong password, and none
			r := m.raw(t, "192.0.2.2:1", a.addr)
			go r.Write([]byte(says))
			_, _ = io.ReadAll(r)
		}
	})
}

// A flood evicts no connection from a member's host. The transport knows the hosts from the address book, or from an
// earlier connection if the book has names.
func TestFloodFromManyAddressesSparesMembers(t *testing.T) {
	for name, book := range map[string]string{"address": "10.0.0.2:1", "name": "n2.example.com:1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1, func(o *Options) { o.MaxPeers = 4 })
				a.SetAddrs(map[ID]string{id(2): book})
				first := m.raw(t, "10.0.0.2:1", a.addr)
				first.greet(id(2), 1, false)
				synctest.Wait()
				first.Close()
				synctest.Wait()

				slow := m.raw(t, "10.0.0.2:2", a.addr)
				for i := range 100 {
					m.raw(t, fmt.Sprintf("198.51.%d.1:1", i), a.addr)
					synctest.Wait()
				}
				slow.greet(id(2), 2, false)
				synctest.Wait()
				require.Equal(t, []string{"up 2/1", "down 2/1 EOF", "up 2/2"}, a.all())
				require.Equal(t, 3, a.pending(), "the member has a session")
			})
		})
	}
}

// The log quotes a peer only if the peer has proved that it is a node, or, without Security, if it is up as a node.
func TestUnprovedPeerIsNotQuoted(t *testing.T) {
	for _, test := range []struct {
		name   string
		secure bool // of the listener
		says   func(r raw)
		quoted bool
	}{
		{"before hello", false, func(r raw) {}, false},
		{"client", false, func(r raw) { r.greet(id(6), 1, true) }, false},
		{"node where no node proves anything", false, func(r raw) { r.greet(id(6), 1, false) }, true},
		{"migration", true, func(r raw) { r.greet(id(6), 1, false) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1, func(o *Options) {
					if test.secure {
						secured(password{word: "w", migrate: true})(o)
					}
				})
				r := m.raw(t, "192.0.2.1:1", a.addr)
				test.says(r)
				r.drain()
				r.say(append([]byte{controlClose}, "duplicate id: leader n1 has left"...)...)
				testkit.Advance(time.Second)
				require.Len(t, a.log.Lines(), 1)
				require.Equal(t, test.quoted, strings.Contains(a.log.Lines()[0], "n1 has left"), a.log.Lines())
			})
		})
	}
}

// Members connect although many connections send a recorded start of a handshake, whole or truncated, and wait. Only
// one handshake computes at a time.
func TestTCPMembersConnectDuringFlood(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(tlsauth.NewSecret()+"\n"), 0o600))
	closed := func(o *Options) {
		e, err := tlsauth.New(tlsauth.Config{Cluster: "demo", SecretFile: file})
		require.NoError(t, err)
		o.handshakes = 1
		o.Security = func(nc net.Conn, dialed bool) (net.Conn, any, error) {
			if dialed {
				return ofEndpoint(e.Client(nc))
			}
			return ofEndpoint(e.Server(nc))
		}
	}
	hello := make(chan []byte, 1)
	a, b := startTCP(t, 1, 1, closed), startTCP(t, 2, 1, closed, func(o *Options) {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			return &recording{Conn: c, first: hello}, err
		}
	})
	b.Dial(Target{ID: a.id, Addr: a.addr})
	b.untilLine(t, "up 1/1")
	recorded := <-hello
	for i := range 200 {
		_, err := rawTCP(t, a.addr).Write(recorded[:len(recorded)-i%2])
		require.NoError(t, err)
	}
	c := startTCP(t, 3, 1, closed)
	c.Dial(Target{ID: a.id, Addr: a.addr})
	c.untilLine(t, "up 1/1")
	a.untilLine(t, "up 3/1")
	a.Dial(Target{Addr: a.addr}) // both ends in one transport
	a.untilLine(t, "failed 0 self")
}

func ofEndpoint(nc net.Conn, id tlsauth.Identity, err error) (net.Conn, any, error) {
	return nc, id, err
}

// recording is a connection that sends the bytes of its first write to first.
type recording struct {
	net.Conn
	once  sync.Once
	first chan []byte
}

func (r *recording) Write(b []byte) (int, error) {
	r.once.Do(func() { r.first <- slices.Clone(b) })
	return r.Conn.Write(b)
}
