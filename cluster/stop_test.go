package cluster_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

func TestStopTakesLessThanOneSecond(t *testing.T) {
	cases := map[string]func(f *fleet) (release func()){
		"undisturbed":                func(*fleet) func() { return func() {} },
		"paused peer":                func(f *fleet) func() { return f.pause(f.live["n1"]) },
		"unreachable peer":           func(f *fleet) func() { f.net.Partition([]string{"n1"}); return func() {} },
		"all peers dead":             func(f *fleet) func() { f.kill(f.live["n1"]); f.kill(f.live["n2"]); return func() {} },
		"non-member without a hello": func(f *fleet) func() { return f.outsider(func(raw) {}) },
		"non-member after its hello": func(f *fleet) func() { return f.outsider(func(r raw) { r.greet(hello()) }) },
		"peer that floods its inbox": func(f *fleet) func() { return f.flood() },
	}
	for name, disturb := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) { c.Members = append(listOf(3), malloryAt) }
				members := f.grow(3)
				release := disturb(f)
				start := time.Now()
				f.halt(members[2])
				require.Less(t, time.Since(start), time.Second)
				release()
			})
		})
	}
}

// outsider connects to n3 as a non-member, until release is called.
func (f *fleet) outsider(say func(r raw)) (release func()) {
	conn, err := f.net.Process("mallory").Dial(f.t.Context(), "n3:7400")
	require.NoError(f.t, err)
	say(raw{f.t, conn})
	synctest.Wait()
	return func() { conn.Close() }
}

// flood fills the inbox of n3 while its loop hangs, so that the readers of its connections wait for room. Then it stops
// n3.
func (f *fleet) flood() (release func()) {
	conn, err := f.net.Process("mallory").Dial(f.t.Context(), "n3:7400")
	require.NoError(f.t, err)
	r := raw{f.t, conn}
	r.join()
	resume := f.live["n3"].Hold()
	for range 3000 {
		r.say(bully.Answer{Epoch: 1})
	}
	synctest.Wait()
	f.live["n3"].stop()
	resume()
	return func() { conn.Close() }
}

func TestRestartsLeaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		f := newFleet(t)
		f.start(1)
		for range testkit.Rounds(200, 1000) {
			n := f.start(2)
			n.follows(t, "n2", bound)
			f.halt(n)
		}
	})
}

func TestRestartsLeaveNoFileOpen(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("open files cannot be counted here:", err)
		}
		return len(entries)
	}
	data, port0 := t.TempDir(), "127.0.0.1:0"
	other := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	first := other.follows(t, "n1", patience).Leader
	restart := func() {
		n := run(t, cluster.Config{Name: "n2", Listen: "127.0.0.1:0", Members: []string{first.Addr, port0}, DataDir: data, Priority: 1, Lease: lease.Off})
		require.NoError(t, other.SetMembers(t.Context(), []string{port0, addressOf(t, n)}))
		n.follows(t, "n2", patience)
		require.NoError(t, n.halt())
		other.follows(t, "n1", patience)
	}
	restart()
	var before int
	until(t, "the peer closes its connections", func() bool { before = files(); return before > 0 && len(connected(t, other)) == 0 })
	for range 20 {
		restart()
	}
	until(t, "no more files than before", func() bool { return files() <= before })
}

func connected(t *testing.T, m *member) []cluster.Member {
	var others []cluster.Member
	for _, o := range m.Members() {
		if o.State == "connected" || o.State == "alive" {
			others = append(others, o)
		}
	}
	return others
}

// brokenListener fails a number of times before it accepts.
type brokenListener struct {
	net.Listener
	mu       sync.Mutex
	failures int
}

func (l *brokenListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures > 0 {
		l.failures--
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

func TestFailingListenerIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		p := f.net.Process("n1")
		broken := func(addr string) (net.Listener, error) {
			l, err := p.Listen(addr)
			return &brokenListener{Listener: l, failures: 10}, err
		}
		n := f.start(1, withNetwork(broken, p.Dial))
		f.agree("n1", bound)
		f.start(2)
		f.agree("n2", time.Minute)
		require.NotEmpty(t, n.log.Lines("cannot accept connections"))
	})
}

func TestClosedListenerStopsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		p := f.net.Process("n1")
		var listener net.Listener
		keep := func(addr string) (_ net.Listener, err error) {
			listener, err = p.Listen(addr)
			return listener, err
		}
		n := f.start(1, withNetwork(keep, p.Dial))
		f.agree("n1", bound)
		require.NoError(t, listener.Close())
		<-n.done
		require.ErrorIs(t, n.err, cluster.ErrListenerClosed)
		require.ErrorIs(t, n.err, net.ErrClosed)
	})
}

func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: taken.Addr().String(), Members: []string{taken.Addr().String()}, Lease: lease.Off})
	require.NoError(t, err)
	err = n.Run(t.Context())
	require.ErrorContains(t, err, "cluster: listen on "+taken.Addr().String())
	for s := range n.Watch(t.Context()) {
		require.NoError(t, s.Cause, "the node never led")
	}
}

func TestDataOfOtherClusterIsRejected(t *testing.T) {
	data := t.TempDir()
	n := run(t, cluster.Config{Cluster: "blue", Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data, Lease: lease.Off})
	n.follows(t, "n1", patience)
	require.NoError(t, n.halt())
	again, err := cluster.New(cluster.Config{Cluster: "green", Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data, Lease: lease.Off})
	require.NoError(t, err)
	err = again.Run(t.Context())
	var mistake *algo.SettingError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "data_dir", mistake.Field)
	require.Contains(t, mistake.Got, data)
	require.Contains(t, mistake.Got, "blue")
	require.Contains(t, mistake.Want, "green")
}

func TestDataInUseIsRejected(t *testing.T) {
	data := t.TempDir()
	first := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data, Lease: lease.Off})
	first.follows(t, "n1", patience)
	second, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data, Lease: lease.Off})
	require.NoError(t, err)
	err = second.Run(t.Context())
	require.ErrorIs(t, err, store.ErrLocked)
	require.ErrorContains(t, err, data)
}

func TestUnwritableDataDirectoryIsRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: filepath.Join(file, "data"), Lease: lease.Off})
	require.NoError(t, err)
	require.ErrorContains(t, n.Run(t.Context()), file)
}

func TestDamagedRecordsAreRejected(t *testing.T) {
	id := string(make([]byte, 16))
	sized := func(record string) string { return string(rune(len(record))) + record }
	node := sized("\x94\xa4node\xc4\x10" + id + "\xa5elect\x01")
	stable := sized("\x95\xaahard-state\x01\xc4\x10" + id + "\xa0\xa5bully")
	cases := map[string]struct{ state, says string }{
		"invalid msgpack":             {"\x01\xc1", "record 1"},
		"record of unknown kind":      {"\x06\x91\xa4more", "record 1"},
		"truncated record":            {node + stable[:len(stable)-1], "record 2 of the store: of another version of elect, or damaged\nit is cut off"},
		"truncated length":            {node + "\xff", "it is cut off"},
		"overlong length":             {strings.Repeat("\xff", 11), "it is cut off"},
		"huge length":                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "it is cut off"},
		"two records of one kind":     {stable + stable, `it is the second of kind "hard-state"`},
		"second node record":          {sized("\x94\xa5node+\xc4\x10" + id + "\xa5elect\x01"), `it is the second of kind "node"`},
		"records without an identity": {stable, "the store has records but no identity"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := store.NewMemory()
			require.NoError(t, s.Save([]byte(c.state)))
			n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off, Store: s})
			require.NoError(t, err)
			err = n.Run(t.Context())
			require.ErrorIs(t, err, store.ErrDamaged)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestNodeWithoutDataWarnsOfRestart(t *testing.T) {
	n := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	n.follows(t, "n1", patience)
	require.Len(t, n.log.Lines("level=WARN", "a restart makes this a new member"), 1)

	kept := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}}, withStore(store.NewMemory()))
	kept.follows(t, "n1", patience)
	require.Empty(t, kept.log.Lines("level=WARN"))
}

// sockets uses TCP, and can close all its connections at once, as a kernel does for a killed process.
type sockets struct {
	mu   sync.Mutex
	open []interface{ Close() error }
}

func (s *sockets) add(c interface{ Close() error }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, c)
}

type socketListener struct {
	net.Listener
	s *sockets
}

func (l socketListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.s.add(c)
	}
	return c, err
}

func (s *sockets) option() option {
	listen := func(addr string) (net.Listener, error) {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			s.add(l)
		}
		return socketListener{l, s}, err
	}
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			s.add(c)
		}
		return c, err
	}
	return withNetwork(listen, dial)
}

func (s *sockets) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		c.Close()
	}
}

func TestKilledLeaderIsReplacedOverTCP(t *testing.T) {
	var s sockets
	members := overTCP(t, 3, s.option())
	var before algo.Epoch
	for _, m := range members {
		before = max(before, m.follows(t, "n3", patience).Leader.Epoch)
	}
	resume := members[2].Hold() // n3 sends no goodbye
	s.kill()
	members[2].stop()
	resume()
	for _, m := range members[:2] {
		after := m.follows(t, "n2", patience)
		require.Greater(t, after.Leader.Epoch, before)
	}
}
