package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// errFiles reports that this process may not open as many files as a measurement needs.
var errFiles = errors.New("not enough open files are allowed")

// idleCluster is a local cluster without faults and elections.
type idleCluster struct {
	*local
	heap float64 // heap of this process before the start
}

// startIdle starts an idle cluster. It returns when all nodes have followed one leader for that long.
// After two seconds the elections of the start have ended, and the leases are granted. After twelve
// each node has also dialed the address of each peer once, which it does ten seconds after it was
// dialed. Each pair of nodes may have a connection.
func startIdle(ctx context.Context, registry algo.Registry, variant string, nodes int, quiet time.Duration) (*idleCluster, error) {
	if err := allowFiles(uint64(nodes*nodes + 100)); err != nil {
		return nil, fmt.Errorf("bench: %d nodes at rest: %w", nodes, err)
	}
	heap := heapInUse()
	word, isLeased := strings.CutSuffix(variant, lease.Suffix)
	config := cluster.Config{Algorithm: registry.Lookup(word), AllowTextbook: true, Lease: lease.Off}
	if isLeased {
		config.Lease = lease.Options{}
	}
	l, err := startLocal(ctx, config, nodes, nil)
	if err != nil {
		return nil, err
	}
	r := &idleCluster{l, heap}
	for {
		if _, err := l.quiet(ctx, 0, quiet); err != nil {
			return nil, errors.Join(err, l.close())
		}
		if !slices.ContainsFunc(l.nodes, func(n *cluster.Node) bool { return len(n.Members()) < nodes }) {
			return r, nil
		}
		if err := proccluster.Sleep(ctx, rest); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
}

// measure returns the cost per node over span, the measurement included. The heap is the bytes in
// use after a collection, with the connections, minus the bytes in use before the first node.
func (r *idleCluster) measure(ctx context.Context, span time.Duration) (figures, error) {
	before, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := proccluster.Sleep(ctx, span); err != nil {
		return nil, err
	}
	after, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if after.leader != before.leader {
		return nil, fmt.Errorf("bench: the cluster was not idle: %+v, then %+v", before.leader, after.leader)
	}
	nodes := float64(len(r.nodes))
	each := after.at.Sub(before.at).Seconds() * nodes
	return figures{
		result.MetricFrames:    float64(after.frames-before.frames) / each * algo.LAN().Heartbeat.Seconds(),
		result.MetricTraffic:   float64(after.bytes-before.bytes) / each,
		result.MetricProcessor: 100 * (after.cpu - before.cpu).Seconds() / each,
		result.MetricHeap:      max(0, heapInUse()-r.heap) / nodes / 1024,
	}, nil
}

// heapInUse returns the bytes in use after a collection.
func heapInUse() float64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc)
}

// sum contains the totals of all nodes at one time.
type sum struct {
	at            time.Time
	leader        cluster.Leadership
	frames, bytes uint64
	cpu           time.Duration
}

func (r *idleCluster) read(ctx context.Context) (all sum, err error) {
	statuses, err := r.statuses(ctx)
	if err != nil {
		return all, err
	}
	for _, status := range statuses {
		all.frames += status.Counters["frames.out"]
		all.bytes += status.Counters["bytes.out"]
	}
	var agreed bool
	if all.leader, agreed = r.agreement(); !agreed {
		return all, errors.New("bench: the cluster was not idle: the nodes do not agree")
	}
	all.at, all.cpu = time.Now(), hostinfo.CPUTime()
	return all, nil
}
