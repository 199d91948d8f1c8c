//go:build unix

package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

var chaosSeed = flag.Uint64("chaosseed", 0, "the seed of the faults; 0: one that is printed")

// TestChaos kills, pauses, stops and restarts processes at random, and checks the whole history of their announcements
// for each algorithm. For hours:
//
//	go test ./cli -run TestChaos -timeout 0 -v -long -count 100
func TestChaos(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for _, variant := range append(slices.Sorted(maps.Keys(builtin.ForUse())), "bully"+lease.Suffix) {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			t.Logf("go test ./cli -run 'TestChaos$/%s' -chaosseed %d -long=%v", regexp.QuoteMeta(variant), seed, testkit.Long())
			newChaos(t, variant, seed).run()
		})
	}
}

// chaos is a cluster with random faults.
type chaos struct {
	t       *testing.T
	random  *rand.Rand
	cluster *proccluster.Cluster
	history *history
	quorum  int // running nodes that an election needs
	faults  map[proccluster.Signal]int
	starts  int
	slowest time.Duration // from the last fault of a round until all agreed
}

const chaosNodes = 5

func newChaos(t *testing.T, variant string, seed uint64) *chaos {
	c := &chaos{t: t, random: rand.New(rand.NewPCG(seed, 0)), history: newHistory(), quorum: 1, faults: map[proccluster.Signal]int{}}
	spec, err := builtins.fields.Spec(variant, algo.Local(), algo.Local(), nil)
	require.NoError(t, err)
	if spec.Claims.NeedsQuorum {
		c.quorum = chaosNodes/2 + 1
	}
	c.history.oneLeaderPerEpoch = spec.Claims.OneLeaderPerEpoch
	c.cluster, err = proccluster.New(within(t), proccluster.Config{
		Command: []string{os.Args[0]}, Env: childEnv, Nodes: chaosNodes, Hosts: proccluster.Loopback(chaosNodes), Dir: t.TempDir(), StartTimeout: patience,
		Args: append(election.Flags(variant), "--preset", "local"), OnEvent: c.history.add,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.cluster.Close()) })
	return c
}

func (c *chaos) run() {
	c.waitAgreed()
	faults := testkit.Rounds(20, 200)
	for c.total() < faults {
		for range 1 + c.random.IntN(3) {
			c.disturb()
			c.moment()
		}
		// An election needs a quorum of running nodes.
		for c.count(proccluster.Up) < c.quorum {
			c.revive(c.pick(func(s proccluster.State) bool { return s.ProcState != proccluster.Up }))
		}
		c.waitAgreed()
	}
	for c.count(proccluster.Up) < chaosNodes {
		c.revive(c.pick(func(s proccluster.State) bool { return s.ProcState != proccluster.Up }))
	}
	c.waitAgreed()
	c.t.Logf("injected: %d killed, %d stopped, %d ended, %d gone on, %d restarted; %d announcements; at most %v until all agreed",
		c.faults[proccluster.Kill], c.faults[proccluster.Stop], c.faults[proccluster.Term], c.faults[proccluster.Cont], c.starts, c.history.announcements, c.slowest.Round(time.Millisecond))
	require.GreaterOrEqual(c.t, c.total(), faults, "too few faults were injected")
	require.NotZero(c.t, c.starts)
	require.Positive(c.t, c.history.announcements)
	require.Empty(c.t, c.history.wrong, "the history")
}

func (c *chaos) total() int {
	return c.faults[proccluster.Kill] + c.faults[proccluster.Stop] + c.faults[proccluster.Term] + c.starts
}

// moment lets a running election proceed for a random time.
func (c *chaos) moment() {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(c.random.Int64N(int64(60*time.Millisecond))))
	defer cancel()
	_ = c.cluster.WaitUntil(ctx, func([]proccluster.State) bool { return false })
}

// disturb injects a random fault into a random node.
func (c *chaos) disturb() {
	victim := c.pick(func(proccluster.State) bool { return true })
	switch {
	case victim.ProcState == proccluster.Down, victim.ProcState == proccluster.Paused && c.random.IntN(2) == 0:
		c.revive(victim)
	case victim.ProcState == proccluster.Paused:
		c.signal(victim, proccluster.Kill)
	default:
		c.signal(victim, []proccluster.Signal{proccluster.Kill, proccluster.Kill, proccluster.Stop, proccluster.Term}[c.random.IntN(4)])
	}
}

func (c *chaos) signal(victim proccluster.State, s proccluster.Signal) {
	c.faults[s]++
	_, err := c.cluster.Signal(victim.Name, s)
	require.NoError(c.t, err)
}

func (c *chaos) revive(n proccluster.State) {
	if n.ProcState == proccluster.Paused {
		c.signal(n, proccluster.Cont)
		return
	}
	c.starts++
	require.NoError(c.t, c.cluster.Restart(within(c.t), n.Name))
}

func (c *chaos) pick(fits func(proccluster.State) bool) proccluster.State {
	states := slices.DeleteFunc(c.cluster.States(), func(s proccluster.State) bool { return !fits(s) })
	return states[c.random.IntN(len(states))]
}

func (c *chaos) count(state proccluster.ProcState) int {
	return len(slices.DeleteFunc(c.cluster.States(), func(s proccluster.State) bool { return s.ProcState != state }))
}

// waitAgreed waits until all running nodes agree on a leader and no election is under way.
func (c *chaos) waitAgreed() {
	began := time.Now()
	_, err := c.cluster.WaitQuiet(within(c.t))
	require.NoError(c.t, err)
	c.slowest = max(c.slowest, time.Since(began))
}

// history records the announcements of all nodes over all their incarnations.
type history struct {
	oneLeaderPerEpoch bool

	mu            sync.Mutex
	ids           map[string]algo.NodeID // by node name, since its first incarnation
	epochs        map[string]uint64      // highest announced epoch, by node name
	led           map[uint64]string      // name of the leader, by epoch
	announcements int
	wrong         []string
}

func newHistory() *history {
	return &history{ids: map[string]algo.NodeID{}, epochs: map[string]uint64{}, led: map[uint64]string{}}
}

func (h *history) add(node string, e trace.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.Kind {
	case trace.Ready:
		if before := cmp.Or(h.ids[node], e.Node); before != e.Node {
			h.wrongs("%s was %s and is %s", node, before, e.Node)
		}
		h.ids[node] = e.Node
	case trace.Announce:
		if e.Leader.IsVacant() {
			return // the application sees no epoch of a vacancy
		}
		epoch := uint64(e.Leader.Epoch)
		h.announcements++
		if epoch < h.epochs[node] {
			h.wrongs("%s goes back from epoch %d to %d", node, h.epochs[node], epoch)
		}
		h.epochs[node] = epoch
		if !proccluster.IsOwnLeadership(e) {
			return
		}
		if other := cmp.Or(h.led[epoch], node); h.oneLeaderPerEpoch && other != node {
			h.wrongs("%s and %s lead in epoch %d", other, node, epoch)
		}
		h.led[epoch] = node
	}
}

func (h *history) wrongs(format string, args ...any) {
	h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
}

func TestHistoryDetectsViolations(t *testing.T) {
	h := newHistory()
	h.oneLeaderPerEpoch = true
	n1, n2, copied := sim.ID(1), sim.ID(2), sim.ID(3)
	follows := func(node string, id algo.NodeID, epoch algo.Epoch, leader algo.NodeID) {
		h.add(node, trace.Event{Kind: trace.Announce, Node: id, Leader: algo.Leader{Epoch: epoch, ID: leader}})
	}
	h.add("n1", trace.Event{Kind: trace.Ready, Node: n1})
	follows("n1", n1, 2, n1)
	follows("n1", n1, 3, n1)
	follows("n2", n2, 3, n1)
	require.Empty(t, h.wrong)
	follows("n2", n2, 3, n2)
	h.add("n1", trace.Event{Kind: trace.Ready, Node: copied})
	follows("n1", copied, 1, n2)
	require.Equal(t, fmt.Sprintf("n1 and n2 lead in epoch 3; n1 was %s and is %s; n1 goes back from epoch 3 to 1", n1, copied), strings.Join(h.wrong, "; "))
}
