package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

// group is a set of contenders for one election.
type group struct {
	t       *testing.T
	servers *etcdtest.Servers
	prefix  string
	names   []string
	members map[string]*member
	disks   atomic.Pointer[answerFunc] // nil without a fault of the disks
}

// answerFunc receives the answer to a write, and returns the answer that the contender gets.
type answerFunc func(ctx context.Context, answer error) error

// intercept is the gRPC interceptor of a contender. It passes the answers to writes to disks.
func (g *group) intercept(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
	err := next(ctx, method, req, reply, c, o...)
	disks := g.disks.Load()
	if disks == nil {
		return err
	}
	switch path.Base(method) {
	case "LeaseGrant", "LeaseRevoke", "Txn": // the writes of a contender
		return (*disks)(ctx, err)
	}
	return err
}

type member struct {
	*etcd.Elector
	*enginetest.Running
	link *enginetest.Link
}

func newGroup(t *testing.T, s *etcdtest.Servers, contenders int) *group {
	g := &group{t: t, servers: s, prefix: "/" + strings.ReplaceAll(t.Name(), " ", "-"), members: make(map[string]*member)}
	t.Cleanup(func() {
		for name := range g.members {
			_ = g.halt(name)
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
func (g *group) RecoveryTimeout() time.Duration      { return 90 * time.Second }

// ttl is in seconds, and long enough for a busy machine.
const ttl = 5

func (g *group) config(name string, l *enginetest.Link) etcd.Config {
	g.t.Helper()
	c := etcd.Config{Endpoints: g.servers.Proxies(l), Prefix: g.prefix, Name: name, TTL: ttl, DrainTimeout: time.Minute}
	c.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(g.intercept)}
	if files := g.servers.TLS; !files.Empty() {
		var err error
		c.TLS, err = files.ClientConfig()
		require.NoError(g.t, err)
	}
	return c
}

func (g *group) Start(name string) {
	g.t.Helper()
	l := enginetest.NewLink()
	e, err := etcd.New(g.config(name, l))
	require.NoError(g.t, err)
	g.members[name] = &member{e, enginetest.Run(e), l}
}

func (g *group) halt(name string) error {
	err := g.members[name].Stop()
	g.members[name].link.Kill() // Stop needs the link
	return err
}

func (g *group) Stop(name string) {
	g.t.Helper()
	require.NoError(g.t, g.halt(name))
}

func (g *group) Inject(fault electortest.Fault, name string) (end func()) {
	switch fault {
	case electortest.Kill:
		g.members[name].link.Kill()
		_ = g.halt(name)
		return func() { g.Start(name) }
	case electortest.CutOff:
		g.members[name].link.Cut()
		return g.members[name].link.Heal
	case electortest.RestartServer:
		for i := range g.servers.Len() {
			g.servers.Stop(i)
			g.servers.StartAll()
		}
		return func() {}
	case electortest.KillServer:
		g.servers.Stop(g.servers.Leader())
		return g.servers.StartAll
	case electortest.LoseMajority:
		g.servers.StopAll()
		return g.servers.StartAll
	case electortest.FullDisk:
		return g.fillDisks()
	case electortest.SlowDisk:
		g.disks.Store(new(answerFunc(answerLate)))
		return func() { g.disks.Store(nil) }
	}
	return nil // another test pauses a process
}

// answerLate delays an answer by a tenth of the TTL, because etcd has no place to delay a write to a disk.
func answerLate(ctx context.Context, answer error) error {
	select {
	case <-time.After(ttl * time.Second / 10):
		return answer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fillDisks fills the disks of the servers. The returned function waits until the servers have rejected a write, and
// frees the disks.
func (g *group) fillDisks() (end func()) {
	g.t.Helper()
	free := g.servers.Fill()
	rejected := make(chan struct{}, 1)
	g.disks.Store(new(answerFunc(func(_ context.Context, answer error) error {
		if errors.Is(rpctypes.Error(answer), rpctypes.ErrNoSpace) {
			select {
			case rejected <- struct{}{}:
			default:
			}
		}
		return answer
	})))
	return func() {
		g.t.Helper()
		select {
		case <-rejected:
		case <-time.After(g.RecoveryTimeout()):
			g.t.Error("the servers have rejected no write")
		}
		g.disks.Store(nil)
		free()
	}
}
