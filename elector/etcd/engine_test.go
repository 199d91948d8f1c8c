package etcd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

// group is the contenders of one election.
type group struct {
	t       *testing.T
	servers *etcdtest.Servers
	prefix  string
	names   []string
	members map[string]*member
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

// ttl is long enough for a machine that has little time for the test.
const ttl = 5

func (g *group) config(name string, l *enginetest.Link) etcd.Config {
	g.t.Helper()
	c := etcd.Config{Endpoints: g.servers.Proxies(l), Prefix: g.prefix, Name: name, TTL: ttl, DrainTimeout: time.Minute}
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
	g.members[name].link.Kill() // it was needed until here
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
	}
	return nil // a paused process is a test of its own
}
