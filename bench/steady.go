package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/wait"
)

// steady is what a whole cluster costs while nothing happens: all its nodes together.
type steady struct {
	Algorithm string
	Nodes     int
	Frames    float64 // sent, a heartbeat interval
	Bytes     float64 // sent, a second
	CPU       float64 // cores, those of the measurement included
	// Heap is bytes in use after a collection, those of the connections too, less what was in
	// use before the first node.
	Heap float64
}

// errFiles says that this process may not open as many files as a measurement takes.
var errFiles = errors.New("bench: not enough open files are allowed")

// resting is a local cluster to which nothing happens.
type resting struct {
	*local
	algorithm string
	heap      float64 // of this process before
}

// startResting starts such a cluster and returns when all its nodes have followed one leader
// for two seconds: the elections of the start are over, and the leases stand. Each pair of
// them may have a connection.
func startResting(ctx context.Context, registry algo.Registry, algorithm string, nodes int) (*resting, error) {
	if err := allowFiles(uint64(nodes*nodes + 100)); err != nil {
		return nil, fmt.Errorf("%w for %d nodes: %w", errFiles, nodes, err)
	}
	if _, err := processTime(os.Getpid()); err != nil {
		return nil, err
	}
	heap := heapInUse()
	l, err := startLocal(ctx, registry, cluster.Config{Algorithm: algorithm, Lesson: true}, nodes, false, nil, func(_ *local, _ string, socket net.Listener) []cluster.Option {
		return []cluster.Option{cluster.WithNetwork(func(string) (net.Listener, error) { return socket, nil }, nil)}
	})
	if err != nil {
		return nil, err
	}
	r := &resting{l, algorithm, heap}
	for {
		if _, err := l.quiet(ctx, 0, 2*time.Second); err != nil {
			return nil, errors.Join(err, l.close())
		}
		if !slices.ContainsFunc(l.nodes, func(n *cluster.Node) bool { return len(n.Members()) < nodes }) {
			return r, nil
		}
		if err := wait.For(ctx, rest); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
}

// measure looks at the cluster for a while.
func (r *resting) measure(ctx context.Context, span time.Duration) (steady, error) {
	s := steady{Algorithm: r.algorithm, Nodes: len(r.nodes)}
	before, err := r.read(ctx)
	if err != nil {
		return s, err
	}
	if err := wait.For(ctx, span); err != nil {
		return s, err
	}
	after, err := r.read(ctx)
	if err != nil {
		return s, err
	}
	if after.leader != before.leader {
		return s, fmt.Errorf("bench: it was not at rest: %+v, then %+v", before.leader, after.leader)
	}
	elapsed := after.at.Sub(before.at).Seconds()
	s.Frames = float64(after.frames-before.frames) / elapsed * cluster.LAN().Heartbeat.Seconds()
	s.Bytes = float64(after.bytes-before.bytes) / elapsed
	s.CPU = (after.cpu - before.cpu).Seconds() / elapsed
	s.Heap = max(0, heapInUse()-r.heap)
	return s, nil
}

// heapInUse is the bytes in use after a collection.
func heapInUse() float64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc)
}

// sum is what all nodes have sent until a moment.
type sum struct {
	at            time.Time
	leader        cluster.Leadership
	frames, bytes uint64
	cpu           time.Duration
}

func (r *resting) read(ctx context.Context) (all sum, err error) {
	statuses, err := r.statuses(ctx)
	if err != nil {
		return all, err
	}
	for i, node := range r.nodes {
		leader, known := node.Leader()
		if !known || i > 0 && leader != all.leader {
			return sum{}, fmt.Errorf("bench: %s follows %+v, want %+v", node.Config().Name, leader, all.leader)
		}
		counters := statuses[node.Config().Name].Counters
		all.leader = leader
		all.frames += counters["frames.out"]
		all.bytes += counters["bytes.out"]
	}
	all.at = time.Now()
	all.cpu, err = processTime(os.Getpid())
	return all, err
}

// values is s by metric.
func (s steady) values() map[string]float64 {
	each := float64(s.Nodes)
	return map[string]float64{
		result.MetricFrames: s.Frames / each, result.MetricTraffic: s.Bytes / each,
		result.MetricProcessor: 100 * s.CPU / each, result.MetricHeap: s.Heap / each / 1024,
	}
}
