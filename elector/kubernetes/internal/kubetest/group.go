package kubetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes"
)

// LeaseDuration is that of the contenders of a group. It is long enough for a machine that has little time for a test.
const LeaseDuration = 5 * time.Second

// Group is the contenders of one election. It is an electortest.Group.
type Group struct {
	T    *testing.T
	Host Host
	// New makes an elector.
	New func(kubernetes.Config) (*kubernetes.Elector, error)
	// Lease is the name of the Lease in the namespace "default".
	Lease   string
	names   []string
	members map[string]*Member
}

// Member is a contender that was started.
type Member struct {
	*kubernetes.Elector
	*enginetest.Running
	Link *Link
}

// NewGroup returns a group in which a number of contenders run: n1, n2 and so on.
func NewGroup(t *testing.T, h Host, newElector func(kubernetes.Config) (*kubernetes.Elector, error), contenders int) *Group {
	name := strings.NewReplacer("/", "-", " ", "-", "_", "-").Replace(strings.ToLower(t.Name()))
	g := &Group{T: t, Host: h, New: newElector, Lease: name, members: make(map[string]*Member)}
	t.Cleanup(func() {
		for name := range g.members {
			_ = g.members[name].Stop()
		}
	})
	for i := range contenders {
		g.Start(fmt.Sprintf("n%d", i+1))
	}
	return g
}

// Config returns the configuration of a contender.
func (g *Group) Config(name string) kubernetes.Config {
	return kubernetes.Config{REST: g.Host.Config(), Namespace: "default", Lease: g.Lease, Name: name, LeaseDuration: LeaseDuration, DrainTimeout: time.Minute}
}

// Names returns the names of all contenders.
func (g *Group) Names() []string { return g.names }

// Member returns a contender as it was last started.
func (g *Group) Member(name string) *Member { return g.members[name] }

// Elector returns the elector of a contender.
func (g *Group) Elector(name string) elector.Elector { return g.members[name].Elector }

// RecoveryTimeout is enough for a real API server to start.
func (g *Group) RecoveryTimeout() time.Duration { return enginetest.EventTimeout }

// Start starts a contender.
func (g *Group) Start(name string) { g.StartWith(g.Config(name), nil) }

// StartWith starts a contender with a configuration of its own, and a function that handles its requests: see
// Link.Intercept.
func (g *Group) StartWith(c kubernetes.Config, intercept Intercept) *Member {
	g.T.Helper()
	l := NewLink()
	l.Intercept(intercept)
	c.REST = l.Wrap(c.REST)
	e, err := g.New(c)
	require.NoError(g.T, err)
	m := &Member{e, enginetest.Run(e), l}
	if g.members[c.Name] == nil {
		g.names = append(g.names, c.Name)
	}
	g.members[c.Name] = m
	return m
}

// Stop ends the context of Run, and requires that Run returns nil.
func (g *Group) Stop(name string) {
	g.T.Helper()
	require.NoError(g.T, g.members[name].Stop())
}

// Inject injects a fault.
func (g *Group) Inject(fault electortest.Fault, name string) (end func()) {
	switch fault {
	case electortest.Kill:
		g.members[name].Link.Kill()
		_ = g.members[name].Stop()
		return func() { g.Start(name) }
	case electortest.CutOff:
		g.members[name].Link.Cut()
		return g.members[name].Link.Heal
	case electortest.RestartServer:
		g.Host.Kill()
		g.Host.Start()
		return func() {}
	case electortest.LoseMajority:
		g.Host.Kill()
		return g.Host.Start
	case electortest.FullDisk, electortest.SlowDisk:
		if s, isLocal := g.Host.(*Local); isLocal { // a real API server has an etcd of its own, which package etcd tests
			return g.faultDisk(s.Server, fault)
		}
	}
	return nil // there is one server, and a paused process is a test of its own
}

// errNoSpace is the error of etcd without space.
var errNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// faultDisk injects a fault of the disk into a server. The end of FullDisk waits until a write was rejected.
func (g *Group) faultDisk(s *Server, fault electortest.Fault) (end func()) {
	if fault == electortest.SlowDisk {
		s.BeforeWrite(func() error {
			time.Sleep(LeaseDuration / 5)
			return nil
		})
		return func() { s.BeforeWrite(nil) }
	}
	rejected := make(chan struct{}, 1)
	s.BeforeWrite(func() error {
		select {
		case rejected <- struct{}{}:
		default:
		}
		return errNoSpace
	})
	return func() {
		select {
		case <-rejected:
		case <-time.After(g.RecoveryTimeout()):
			g.T.Error("the server has rejected no write")
		}
		s.BeforeWrite(nil)
	}
}
