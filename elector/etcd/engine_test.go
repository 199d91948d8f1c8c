package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/etcd"
)

// servers are three members of an etcd in this process. They keep their data over restarts.
type servers struct {
	t       *testing.T
	configs []embed.Config
	running []*embed.Etcd
}

func startServers(t *testing.T) *servers {
	s := &servers{t: t, running: make([]*embed.Etcd, 3)}
	var initial []string
	for i := range s.running {
		c := embed.NewConfig()
		c.Name, c.Dir = fmt.Sprintf("m%d", i+1), t.TempDir()
		c.ListenPeerUrls, c.ListenClientUrls = freeURL(t), freeURL(t)
		c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
		c.UnsafeNoFsync = true // no test ends the machine
		c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		initial = append(initial, c.Name+"="+c.ListenPeerUrls[0].String())
		s.configs = append(s.configs, *c)
	}
	for i := range s.configs {
		s.configs[i].InitialCluster = strings.Join(initial, ",")
	}
	s.startAll()
	t.Cleanup(func() {
		for i := range s.running {
			s.stop(i)
		}
	})
	return s
}

// freeURL returns the URL of a port that was free just now.
func freeURL(t *testing.T) []url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return []url.URL{{Scheme: "http", Host: l.Addr().String()}}
}

func (s *servers) endpoints() (list []string) {
	for _, c := range s.configs {
		list = append(list, c.ListenClientUrls[0].Host)
	}
	return list
}

// start starts a server. It does not wait until the server is ready.
func (s *servers) start(i int) {
	s.t.Helper()
	c := s.configs[i]
	server, err := embed.StartEtcd(&c)
	require.NoError(s.t, err)
	s.running[i] = server
	s.configs[i].ClusterState = embed.ClusterStateFlagExisting
}

// startAll starts the servers that do not run, and waits until all are ready.
func (s *servers) startAll() {
	s.t.Helper()
	for i, server := range s.running {
		if server == nil {
			s.start(i)
		}
	}
	for _, server := range s.running {
		<-server.Server.ReadyNotify()
	}
}

func (s *servers) stop(i int) {
	if server := s.running[i]; server != nil {
		server.Server.HardStop() // as a kill: it hands nothing over
		server.Close()
		s.running[i] = nil
	}
}

// leader returns the index of the server that leads the others.
func (s *servers) leader() int {
	for {
		for i, server := range s.running {
			if server != nil && server.Server.Leader() == server.Server.MemberID() {
				return i
			}
		}
		time.Sleep(10 * time.Millisecond) // it is being elected
	}
}

// link is the network of one contender.
type link struct {
	mu    sync.Mutex
	dead  bool
	whole chan struct{} // closed while the link is not cut
	conns map[*conn]struct{}
}

// conn is a connection. Its bytes wait while its link is cut.
type conn struct {
	net.Conn
	link   *link
	once   sync.Once
	closed chan struct{}
}

func newLink() *link {
	l := &link{whole: make(chan struct{}), conns: make(map[*conn]struct{})}
	close(l.whole)
	return l
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

// kill closes all connections, and refuses new ones.
func (l *link) kill() {
	l.mu.Lock()
	l.dead = true
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// pass waits until the link is not cut, or done is closed.
func (l *link) pass(done <-chan struct{}) error {
	l.mu.Lock()
	whole, dead := l.whole, l.dead
	l.mu.Unlock()
	if dead {
		return errors.New("the contender was killed")
	}
	select {
	case <-whole:
		return nil
	case <-done:
		return net.ErrClosed
	}
}

func (l *link) dial(ctx context.Context, addr string) (net.Conn, error) {
	if err := l.pass(ctx.Done()); err != nil {
		return nil, err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, link: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		raw.Close()
		return nil, net.ErrClosed
	}
	l.conns[c] = struct{}{}
	return c, nil
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.link.pass(c.closed); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}

// group is the contenders of one election.
type group struct {
	t       *testing.T
	servers *servers
	prefix  string
	names   []string
	members map[string]*member
}

type member struct {
	*etcd.Elector
	link  *link
	stop  context.CancelFunc
	ended chan error
}

func newGroup(t *testing.T, s *servers, contenders int) *group {
	g := &group{t: t, servers: s, prefix: "/" + strings.ReplaceAll(t.Name(), " ", "-"), members: make(map[string]*member)}
	t.Cleanup(func() {
		for name := range g.members {
			g.halt(name)
		}
	})
	for i := range contenders {
		g.names = append(g.names, fmt.Sprintf("n%d", i+1))
		g.Start(g.names[i])
	}
	return g
}

func (g *group) Names() []string                     { return g.names }
func (g *group) Elector(name string) elector.Elector { return g.members[name].Elector }
func (g *group) Patience() time.Duration             { return 90 * time.Second }

// ttl is long enough for a machine that has little time for the test.
const ttl = 5

func (g *group) config(name string, l *link) etcd.Config {
	return etcd.Config{
		Endpoints: g.servers.endpoints(), Prefix: g.prefix, Name: name, TTL: ttl, DrainTimeout: time.Minute,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(l.dial)},
	}
}

func (g *group) Start(name string) {
	g.t.Helper()
	m := &member{link: newLink(), ended: make(chan error, 1)}
	var err error
	m.Elector, err = etcd.New(g.config(name, m.link))
	require.NoError(g.t, err)
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	g.members[name] = m
	go func() { m.ended <- m.Run(ctx) }()
}

func (g *group) halt(name string) error {
	m := g.members[name]
	m.stop()
	err := <-m.ended
	m.ended <- err // for a second call
	return err
}

func (g *group) Stop(name string) {
	g.t.Helper()
	require.NoError(g.t, g.halt(name))
}

func (g *group) Inject(fault electortest.Fault, name string) (end func()) {
	switch fault {
	case electortest.Kill:
		g.members[name].link.kill()
		g.halt(name)
		return func() { g.Start(name) }
	case electortest.CutOff:
		g.members[name].link.cut()
		return g.members[name].link.heal
	case electortest.RestartServer:
		for i := range g.servers.running {
			g.servers.stop(i)
			g.servers.startAll()
		}
		return func() {}
	case electortest.KillServer:
		g.servers.stop(g.servers.leader())
		return g.servers.startAll
	case electortest.LoseMajority:
		for i := range g.servers.running {
			g.servers.stop(i)
		}
		return g.servers.startAll
	}
	return nil // a paused process is a test of its own
}
