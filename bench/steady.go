package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wait"
)

// Steady is what a whole cluster costs while nothing happens: all its nodes together.
type Steady struct {
	Algorithm string
	Nodes     int
	Frames    float64 // sent, a heartbeat interval
	Bytes     float64 // sent, a second
	CPU       float64 // cores, those of the measurement included
	// Heap is bytes in use after a collection, those of the connections too, less what was in
	// use before the first node.
	Heap float64
}

// ErrFiles says that this process may not open as many files as a measurement takes.
var ErrFiles = errors.New("bench: not enough open files are allowed")

// Resting is a cluster of nodes in this process, over TCP on the loopback, each with a
// store in memory. It is to be stopped.
type Resting struct {
	algorithm string
	nodes     []*cluster.Node
	stop      context.CancelFunc
	ended     chan error
	heap      float64 // of this process before
}

// Rest starts such a cluster and returns when all its nodes have followed one leader for
// two seconds. Each pair of them may have a connection.
func Rest(ctx context.Context, algorithm string, nodes int) (*Resting, error) {
	if err := allowFiles(uint64(nodes*nodes + 100)); err != nil {
		return nil, fmt.Errorf("%w for %d nodes: %w", ErrFiles, nodes, err)
	}
	heap := heapInUse()
	var listeners []net.Listener
	var members []string
	for range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			for _, unused := range listeners {
				_ = unused.Close()
			}
			return nil, err
		}
		listeners = append(listeners, l)
		members = append(members, l.Addr().String())
	}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Resting{algorithm: algorithm, stop: stop, ended: make(chan error, nodes), heap: heap}
	for i, l := range listeners {
		node, err := cluster.New(cluster.Config{
			Name: "n" + strconv.Itoa(i+1), Algorithm: algorithm, Listen: members[i], Members: members, Priority: i + 1, Lesson: true,
		}, cluster.WithStore(store.NewMemory()), cluster.WithNetwork(func(string) (net.Listener, error) { return l, nil }, nil))
		if err != nil {
			for _, unused := range listeners[i:] {
				_ = unused.Close()
			}
			return nil, errors.Join(err, r.Stop())
		}
		r.nodes = append(r.nodes, node)
		go func() { r.ended <- node.Run(living) }()
	}
	for _, node := range r.nodes {
		if err := follow(ctx, node, nodes); err != nil {
			return nil, errors.Join(err, r.Stop())
		}
	}
	if err := r.settle(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// settle waits until nothing has changed for two seconds: the elections of the start are over, and
// the leases stand.
func (r *Resting) settle(ctx context.Context) error {
	var before sum
	for {
		now, err := r.read(ctx)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return err
		case err == nil && now.leader == before.leader:
			return nil
		}
		before = now
		if ended := wait.For(ctx, 2*time.Second); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// follow waits until a node follows somebody and knows all the others.
func follow(ctx context.Context, node *cluster.Node, members int) error {
	for s := range node.Watch(ctx) {
		if s.Known() && len(node.Members()) == members {
			return nil
		}
	}
	return fmt.Errorf("bench: %s follows nobody: %w", node.Config().Name, context.Cause(ctx))
}

// Stop stops the nodes.
func (r *Resting) Stop() error {
	r.stop()
	var errs []error
	for range r.nodes {
		errs = append(errs, <-r.ended)
	}
	return errors.Join(errs...)
}

// Measure looks at the cluster for a while.
func (r *Resting) Measure(ctx context.Context, span time.Duration) (Steady, error) {
	s := Steady{Algorithm: r.algorithm, Nodes: len(r.nodes)}
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

func (r *Resting) read(ctx context.Context) (all sum, err error) {
	for i, node := range r.nodes {
		status, err := node.Status(ctx)
		if err != nil {
			return all, err
		}
		leader, known := node.Leader()
		if !known || i > 0 && leader != all.leader {
			err := fmt.Errorf("bench: %s follows %+v, want %+v", node.Config().Name, leader, all.leader)
			return sum{}, err
		}
		all.leader = leader
		all.frames += status.Counters["frames.out"]
		all.bytes += status.Counters["bytes.out"]
	}
	all.at = time.Now()
	all.cpu, err = processTime(os.Getpid())
	return all, err
}
