package electortest_test

import (
	"slices"
	"strings"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a cluster in virtual time.
type group struct {
	*clustertest.Cluster
	names   []string
	started map[string]*cluster.Node
}

func (g *group) Names() []string                     { return g.names }
func (g *group) Elector(name string) elector.Elector { return g.started[name].Elector() }
func (g *group) Start(name string)                   { g.started[name] = g.Cluster.Start(name) }

// RecoveryTimeout is longer than the suspicion of a paused node, an election and the time for which a node that has resigned
// is ineligible.
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
	}
	return nil // there are no servers
}

func TestNodeIsElector(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote"} {
		for _, suffix := range []string{lease.Suffix, ""} {
			t.Run(algorithm+suffix, func(t *testing.T) {
				electortest.Run(t, electortest.Engine{
					Within: synctest.Test,
					New: func(t *testing.T, contenders int) electortest.Group {
						g := &group{started: make(map[string]*cluster.Node)}
						g.Cluster = clustertest.New(t, clustertest.Config{Nodes: contenders, Configure: func(c *cluster.Config) {
							c.Algorithm = builtin.Lookup(algorithm)
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
