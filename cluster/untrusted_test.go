package cluster_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
)

var randomFor = flag.Duration("random.for", 200*time.Millisecond, "for how long random bytes are sent to a node")

// target is a cluster of three members on TCP. The tests attack its leader.
type target struct {
	t       testing.TB
	members []*member
	leader  *member
	addr    string
}

func newTarget(t testing.TB) *target {
	g := &target{t: t, members: overTCP(t, 3)}
	g.leader = g.members[2]
	leader, _ := g.leader.Leader()
	g.addr = leader.Addr
	return g
}

// overTCP starts members 1 to n at free ports, until all follow the highest. Before the next one starts, the lists of
// all earlier ones name it. All lists name malloryAt, too. The options apply to the highest member.
func overTCP(t testing.TB, n int, highest ...option) (members []*member) {
	t.Helper()
	const own = "127.0.0.1:0"
	list := []string{malloryAt}
	for i := 1; i <= n; i++ {
		var options []option
		if i == n {
			options = highest
		}
		m := run(t, cluster.Config{Name: nameOf(i), Listen: own, Members: append(slices.Clone(list), own), Priority: i, Lease: lease.Off}, options...)
		list = append(list, addressOf(t, m))
		for k, before := range members {
			others := slices.Clone(list)
			others[k+1] = own
			require.NoError(t, before.SetMembers(t.Context(), others))
		}
		members = append(members, m)
		m.follows(t, nameOf(i), patience)
	}
	for _, m := range members {
		m.follows(t, nameOf(n), patience)
	}
	return members
}

// addressOf waits until a node listens, and returns its address.
func addressOf(t testing.TB, m *member) string {
	t.Helper()
	addr := ""
	until(t, "it listens", func() bool {
		for _, seen := range m.Members() {
			if seen.State == "self" {
				addr = seen.Addr
			}
		}
		return addr != ""
	})
	return addr
}

func (g *target) dial() raw {
	g.t.Helper()
	r := g.dialMany()
	g.t.Cleanup(func() { r.Close() })
	return r
}

// dialMany dials without a cleanup, because many cleanups would take memory themselves. The caller closes the
// connection.
func (g *target) dialMany() raw {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	require.NoError(g.t, err)
	return raw{g.t, c}
}

func (g *target) counter(name string) uint64 {
	g.t.Helper()
	status, err := g.leader.Status(g.t.Context())
	require.NoError(g.t, err)
	return status.Counters[name]
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// withstands runs an attack, and fails the test if the cluster changes its leader, stops serving or grows in memory.
func (g *target) withstands(attack func()) {
	g.t.Helper()
	g.awaitLeader()
	start, memory := time.Now(), heap()
	_, before := testkit.Scheduled(os.Getpid())
	attack()
	if _, waited := testkit.Scheduled(os.Getpid()); waited-before < algo.LAN().Timeout-2*algo.LAN().Heartbeat {
		for _, m := range g.members {
			for _, s := range m.seen() {
				require.True(g.t, s.At.Before(start), "%s has seen a change: %+v", m.name, s)
			}
		}
	} else { // the machine was so busy that a member may have suspected another
		g.awaitLeader()
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	status, err := client.Client{}.Status(ctx, g.addr)
	require.NoError(g.t, err, "the leader does not serve")
	require.Equal(g.t, status.Node, *status.Leader)
	require.Less(g.t, heap(), memory+16<<20, "the heap has grown")
}

// awaitLeader waits until all members follow n3.
func (g *target) awaitLeader() {
	g.t.Helper()
	until(g.t, "one leader", func() bool {
		now, _ := g.leader.Leader()
		for _, m := range g.members {
			if l, _ := m.Leader(); l != now || l.Name != "n3" {
				return false
			}
		}
		return true
	})
}

// patience is the time limit of a wait on a real network. It only ends a test that hangs.
const patience = 2 * time.Minute

// until waits until ok returns true, for at most patience.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			require.FailNow(t, "not seen in time: "+what)
		}
	}
}

func TestInvalidInputClosesOnlyItsConnection(t *testing.T) {
	nested := bytes.Repeat([]byte{0x91}, 2<<20)
	cases := []struct {
		name    string
		attack  func(g *target, r raw)
		line    string // in the log
		counter string
	}{
		{"five bytes of a huge array", func(_ *target, r raw) { r.write([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}) }, "frame of 3724541951 bytes", "closed"},
		{"five bytes in a frame", func(_ *target, r raw) { r.frame([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}) }, "handshake", "closed"},
		{"five bytes after a hello", func(_ *target, r raw) {
			r.greet(hello())
			r.frame([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
		}, "reason=handler", "closed"},
		{"length ffffffff", func(_ *target, r raw) { r.write([]byte{0xff, 0xff, 0xff, 0xff}) }, "frame of 4294967295 bytes", "closed"},
		{"2 MB of nested arrays", func(_ *target, r raw) { r.frame(nested) }, "frame of 2097152 bytes", "closed"},
		{"nested arrays without a length", func(_ *target, r raw) { r.write(nested) }, "frame of 2442236305 bytes", "closed"},
		{"nested arrays after a hello", func(_ *target, r raw) {
			r.greet(hello())
			r.frame(nested[:64<<10])
		}, "reason=handler", "closed"},
		{"truncated frame", func(_ *target, r raw) {
			r.write([]byte{0, 0, 0, 99, 0x9d, 0xa5})
			require.NoError(r.t, r.Conn.(*net.TCPConn).CloseWrite())
		}, "truncated frame", "closed"},
		{"another cluster", func(_ *target, r raw) { r.say(hello(func(h *wire.Hello) { h.Cluster = "other" })) },
			`peer mallory has cluster name \"other\", this node has \"elect\"`, "closed"},
		{"another cluster of the same name", func(_ *target, r raw) { r.say(hello(func(h *wire.Hello) { h.ClusterID[0] = 9 })) },
			"peer mallory has cluster id 09000000-", "closed"},
		{"another algorithm", func(_ *target, r raw) { r.say(hello(func(h *wire.Hello) { h.Algorithm = "vote" })) },
			`peer mallory runs algorithm \"vote\", this node runs \"bully\"`, "closed"},
		{"another version", func(_ *target, r raw) { r.say(hello(func(h *wire.Hello) { h.MinVersion, h.MaxVersion = 8, 9 })) },
			"peer mallory speaks protocol version 8 to 9, this node speaks 1", "closed"},
		{"hello with an invalid name", func(_ *target, r raw) { r.say(hello(func(h *wire.Hello) { h.Name = "a\nb" })) },
			"hello without an id or a valid name", "closed"},
		{"ID of a live member", func(g *target, r raw) {
			self, err := g.members[0].Status(g.t.Context())
			require.NoError(g.t, err)
			// The leader has a connection to that member.
			r.say(hello(func(h *wire.Hello) { h.ID = self.Node }))
		}, "is in use by another process", "closed"},
		{"ID of the receiver", func(g *target, r raw) {
			self, err := g.leader.Status(g.t.Context())
			require.NoError(g.t, err)
			r.say(hello(func(h *wire.Hello) { h.ID = self.Node }))
		}, "", "closed"},
		{"client that sends an election", func(_ *target, r raw) {
			r.greet(hello(func(h *wire.Hello) { h.Client = true }))
			r.say(bully.Election{Epoch: 100})
		}, "a client may only send a status request", "closed"},
		{"unlisted node", func(_ *target, r raw) {
			r.greet(hello(unlisted))
			r.hears("join-rejected")
		}, `peer=mallory`, "rejected"},
		{"epoch of 2^64-1", func(_ *target, r raw) {
			id := r.join()
			r.frame(append([]byte("\x93\xabcoordinator\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xc4\x10"), id[:]...))
		}, "is 18446744073709551615, want an epoch of at most 9223372036854775807", "closed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t)
			g.withstands(func() {
				before := g.counter(c.counter)
				r := g.dial()
				c.attack(g, r)
				r.closes(patience)
				until(t, "a counter that rises", func() bool { return g.counter(c.counter) > before })
				if c.line != "" {
					until(t, "a line in the log", func() bool { return len(g.leader.log.Lines("level=", "connection closed", c.line)) > 0 })
					require.Len(t, g.leader.log.Lines("connection closed", c.line), 1)
					require.NotEmpty(t, g.leader.log.Lines("connection closed", c.line)[0])
				}
			})
		})
	}
}

// unlisted sets an address that no list names.
func unlisted(h *wire.Hello) { h.Addr = "127.0.0.1:2" }

// A message of a non-member is dropped and counted.
func TestMessageOfNonMemberIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = runs("vote")
		all := f.growTo(3)
		before := f.leader(bound)
		conn, err := f.net.Process("mallory").Dial(t.Context(), addrOf(1))
		require.NoError(t, err)
		defer conn.Close()
		r := raw{t, conn}
		r.greet(hello(func(h *wire.Hello) { h.Algorithm = "vote" }))
		r.say(vote.Lead{Term: 100, Msg: 1})
		r.say(fd.Heartbeat{Digest: 1})
		testkit.Advance(bound)
		status, err := all[0].Status(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, status.Counters["nonmembers"], status.Counters)
		require.Equal(t, before, f.leader(0))
		f.members(0, "n1", "n2", "n3")
	})
}

// A node answers an outdated announcement with the current leadership.
func TestReplayedCoordinatorIsNotFollowed(t *testing.T) {
	g := newTarget(t)
	old := g.members[0].seen()
	g.withstands(func() {
		r := g.dial()
		r.join()
		for _, s := range old {
			if s.IsLeader { // n1 led once
				r.say(bully.Coordinator{Epoch: s.Leader.Epoch, Leader: s.Leader.ID})
			}
		}
		answer := r.hears("coordinator").(bully.Coordinator)
		now, _ := g.leader.Leader()
		require.Equal(t, now.Epoch, answer.Epoch)
		require.Equal(t, now.ID, answer.Leader)
	})
}

func TestRandomBytes(t *testing.T) {
	g := newTarget(t)
	g.withstands(func() {
		random := rand.NewChaCha8([32]byte{})
		end := time.Now().Add(*randomFor)
		for i := 0; time.Now().Before(end); i++ {
			r := g.dialMany()
			b := make([]byte, 1+random.Uint64()%2000)
			_, _ = random.Read(b)
			switch i % 3 {
			case 0:
				r.write(b)
			case 1:
				r.frame(append([]byte{0x9e}, b[:min(len(b), 1000)]...))
			case 2:
				r.greet(hello())
				r.frame(append([]byte{0x93}, b...))
			}
			require.NoError(t, r.Conn.(*net.TCPConn).CloseWrite())
			r.closes(patience)
			r.Close()
		}
	})
}

func TestFloodIsCountedButLogsLittle(t *testing.T) {
	g := newTarget(t)
	const attempts = 200
	g.withstands(func() {
		for _, attack := range []func(r raw){
			func(r raw) { r.write([]byte{0xff, 0xff, 0xff, 0xff}) },
			func(r raw) {
				r.greet(hello(unlisted))
			},
		} {
			before, lines, start := g.counter("closed"), len(g.leader.log.Lines("level=")), time.Now()
			for range attempts {
				r := g.dial()
				attack(r)
				r.closes(patience)
				r.Close()
			}
			until(t, "all counted", func() bool { return g.counter("closed") >= before+attempts })
			allowed := 20 + int(time.Since(start)/time.Second) + 1
			require.LessOrEqual(t, len(g.leader.log.Lines("level="))-lines, allowed)
		}
	})
}

func TestThousandsOfConnections(t *testing.T) {
	connections := testkit.Rounds(1500, 5000)
	if limit := openFileLimit(); limit < 2*connections+500 {
		t.Skipf("%d files may be open, the test needs %d", limit, 2*connections+500)
	}
	g := newTarget(t)
	g.withstands(func() {
		before := g.counter("closed")
		var conns []net.Conn
		for range connections {
			c, err := net.Dial("tcp", g.addr)
			require.NoError(t, err)
			conns = append(conns, c)
		}
		until(t, "the oldest are closed", func() bool { return g.counter("closed") >= before+uint64(connections-200) })
		for _, c := range conns {
			c.Close()
		}
	})
}

func TestSlowPeersAreClosed(t *testing.T) {
	cases := map[string]struct {
		attack func(r raw)
		line   string
	}{
		"silence": {func(raw) {}, "slow hello"},
		"byte a second": {func(r raw) {
			for _, b := range []byte{0, 0, 0, 200, 0x9d, 0xa5} {
				if _, err := r.Write([]byte{b}); err != nil {
					return
				}
				testkit.Advance(time.Second)
			}
		}, "slow hello"},
		"byte a second after the hello": {func(r raw) {
			r.greet(hello())
			for _, b := range []byte{0, 0, 0, 200, 0x9d, 0xa5} {
				if _, err := r.Write([]byte{b}); err != nil {
					return
				}
				testkit.Advance(time.Second)
			}
		}, "slow frame"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) { c.Members = append(listOf(3), malloryAt) }
				members := f.grow(3)
				conn, err := f.net.Process("mallory").Dial(t.Context(), "n3:7400")
				require.NoError(t, err)
				start := time.Now()
				r := raw{t, conn}
				c.attack(r)
				_, _ = io.Copy(io.Discard, r)
				r.Close()
				require.Less(t, time.Since(start), 10*time.Second)
				synctest.Wait()
				require.Len(t, members[2].log.Lines("connection closed", c.line, "mallory"), 1)
				status, err := members[2].Status(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 1, status.Counters["closed"])
				f.quiet(time.Minute)
			})
		})
	}
}

func TestMismatchIsLoggedByBothNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		first := f.start(1)
		f.agree("n1", bound)
		f.config = func(c *cluster.Config) { c.Cluster = "other" }
		second := f.start(2)
		testkit.Advance(100 * time.Millisecond)
		for _, m := range []*member{first, second} {
			lines := m.log.Lines("level=WARN", "other", "elect", "cluster name")
			require.NotEmpty(t, lines, m.name)
			for _, line := range lines {
				require.Equal(t, 1, strings.Count(line, "cluster name"))
			}
		}
	})
}

func TestDifferentOptionsAreLoggedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		first := f.start(1)
		f.agree("n1", bound)
		f.config = func(c *cluster.Config) {
			c.Algorithm = bully.With(func(o *bully.Options) { o.SkipSuspected = false })
		}
		second := f.start(2)
		f.agree("n2", bound)
		require.NotEmpty(t, first.log.Lines("algorithm options differ", "peer=n2", "options=skip_suspected"))
		require.NotEmpty(t, second.log.Lines("algorithm options differ", "peer=n1", "options=skip_suspected"))
	})
}

// A reason that a node receives ends up in its log and in the error that elect prints on a terminal. It must not
// contain control characters.
func TestReceivedReasonHasNoControlCharacters(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := raw{t, c}
		r.hears("hello")
		r.say(hello(func(h *wire.Hello) { h.Algorithm = "vote" }))
		r.say(membership.Reject{Reason: "\x1b[2Jgo away\n"})
		_, _ = io.Copy(io.Discard, r)
	}()
	m := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Algorithm: builtin.Lookup("vote"), DataDir: t.TempDir(), Join: []string{l.Addr().String()}, Lease: lease.Off})
	<-m.done
	l.Close()
	<-done
	require.ErrorIs(t, m.err, cluster.ErrJoinRejected)
	require.EqualError(t, m.err, "cluster: join rejected: \ufffd[2Jgo away\ufffd")
}
