package electortest_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a cluster in virtual time.
type group struct {
	*clustertest.Cluster
	t       *testing.T
	names   []string
	started map[string]*cluster.Node
	disk    atomic.Pointer[func() error] // called before each save; nil without a fault
}

// beforeSave returns the error of the injected disk fault, if any.
func (g *group) beforeSave([]byte) error {
	if disk := g.disk.Load(); disk != nil {
		return (*disk)()
	}
	return nil
}

func (g *group) Names() []string                     { return g.names }
func (g *group) Elector(name string) elector.Elector { return g.started[name].Elector() }
func (g *group) Start(name string)                   { g.started[name] = g.Cluster.Start(name) }

// RecoveryTimeout is longer than the suspicion of a paused node, an election and the time for which a node that has
// resigned is ineligible.
func (g *group) RecoveryTimeout() time.Duration { return time.Minute }

func (g *group) Inject(fault electortest.Fault, name string) (end func()) {
	switch fault {
	case electortest.Kill:
		g.Kill(name)
		return func() { g.Start(name) }
	case electortest.Pause:
		g.Pause(name)
		return func() { g.Resume(name) }
	case electortest.CutOff:
		g.Partition([]string{name})
		return g.Heal
	case electortest.LoseMajority:
		var alone [][]string
		for _, name := range g.names {
			alone = append(alone, []string{name})
		}
		g.Partition(alone...)
		return g.Heal
	case electortest.FullDisk:
		return g.fillDisks()
	case electortest.SlowDisk:
		g.disk.Store(new(func() error {
			g.Advance(slowSave)
			return nil
		}))
		return func() { g.disk.Store(nil) }
	}
	return nil // there are no servers
}

// slowSave is the time of a save on a slow disk: a quarter of the lease duration.
const slowSave = 240 * time.Millisecond

// fillDisks makes each save fail, so a node stops when it must save. The returned function waits for such nodes. Then
// it kills all nodes, and starts them with space on their disks: data that a node has sent but not saved is lost.
func (g *group) fillDisks() (free func()) {
	var failed atomic.Int32
	g.disk.Store(new(func() error {
		failed.Add(1)
		return syscall.ENOSPC
	}))
	return func() {
		g.Advance(g.RecoveryTimeout() / 2)
		if failed.Load() == 0 {
			g.t.Error("no node had to save")
		}
		g.disk.Store(nil)
		for _, name := range g.names {
			g.Kill(name)
		}
		for _, name := range g.names {
			g.Start(name)
		}
	}
}

func TestNodeIsElector(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, suffix := range []string{lease.Suffix, ""} {
			t.Run(algorithm+suffix, func(t *testing.T) {
				electortest.Run(t, electortest.Engine{
					Within: synctest.Test,
					New: func(t *testing.T, contenders int) electortest.Group {
						g := &group{t: t, started: make(map[string]*cluster.Node)}
						g.Cluster = clustertest.New(t, clustertest.Config{Nodes: contenders, Configure: func(c *cluster.Config) {
							c.Algorithm = builtin.Lookup(algorithm)
							c.Store = &testkit.HookedStore{Store: c.Store, BeforeSave: g.beforeSave}
							if suffix == "" {
								c.Lease = lease.Off
							}
						}})
						for _, node := range g.Nodes() {
							g.names = append(g.names, node.Config().Name)
							g.started[node.Config().Name] = node
						}
						return g
					},
				})
			})
		}
	}
}

// The claims are those of docs/guarantees.md.
func TestClaimsOfNode(t *testing.T) {
	for name, want := range map[string]elector.Claims{
		"bully+lease": {Exclusive: true, RisingTokens: true, Preempts: true},
		"ring+lease":  {Exclusive: true, RisingTokens: true, Preempts: true},
		"vote+lease":  {Exclusive: true, RisingTokens: true},
		"bully":       {Preempts: true},
		"ring":        {Preempts: true},
		"vote":        {RisingTokens: true},
	} {
		algorithm, leased := strings.CutSuffix(name, lease.Suffix)
		c := cluster.Config{Listen: "127.0.0.1:7400", DataDir: t.TempDir(), Algorithm: builtin.Lookup(algorithm)}
		if !leased {
			c.Lease = lease.Off
			c.Members = slices.Repeat([]string{"127.0.0.1:7400"}, 1)
		}
		n, err := cluster.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Elector().Claims(); got != want {
			t.Errorf("%s claims %+v, want %+v", name, got, want)
		}
	}
}
