package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/trace"
)

// local is a cluster of live nodes in this process, n1 to nN, on loopback sockets. The nodes save
// in memory. If the algorithm uses priorities, the last node has the highest.
type local struct {
	nodes   []*cluster.Node // n1 first
	see     func(node string, e trace.Event)
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	last   time.Time // time of the last event
	flying int       // messages in transit
	failed error     // set if a node failed
}

// nodeOption changes the configuration of a node on its socket.
type nodeOption func(l *local, node string, socket net.Listener, c *cluster.Config)

// startLocal starts n nodes with static members. If see is set, it receives their announcements of
// leaders.
func startLocal(ctx context.Context, config cluster.Config, n int,
	see func(node string, e trace.Event), with ...nodeOption,
) (_ *local, err error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &local{see: see, stop: stop, last: time.Now()}
	var sockets []net.Listener
	defer func() {
		if err != nil {
			for _, unused := range sockets[len(l.nodes):] {
				_ = unused.Close()
			}
			err = errors.Join(err, l.close())
		}
	}()
	for range n {
		socket, err := cluster.Listen("127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, socket)
		config.Members = append(config.Members, socket.Addr().String())
	}
	for i, socket := range sockets {
		config.Name, config.Listen, config.Priority = proccluster.Name(i+1), socket.Addr().String(), i+1
		config.Store = store.NewMemory()
		config.Network.Listen = func(string) (net.Listener, error) { return socket, nil }
		for _, option := range with {
			option(l, config.Name, socket, &config)
		}
		node, err := cluster.New(config)
		if err != nil {
			return nil, err
		}
		l.run(running, node)
	}
	return l, nil
}

// run runs a node and handles its announcements of leaders.
func (l *local) run(ctx context.Context, node *cluster.Node) {
	l.nodes = append(l.nodes, node)
	name, clock := node.Config().Name, proccluster.NewClockConverter()
	l.running.Go(func() {
		if err := node.Run(ctx); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.failed = errors.Join(l.failed, fmt.Errorf("bench: %s: %w", name, err))
		}
	})
	l.running.Go(func() {
		for s := range node.Watch(ctx) {
			if !s.At.IsZero() { // zero before the first election
				l.handleEvent(name, trace.Event{At: time.Duration(clock.Convert(s.At)), Kind: trace.Announce, Leader: algo.Leader{Epoch: s.Leader.Epoch, ID: s.Leader.ID}})
			}
		}
	})
}

// handleEvent handles an event of a node.
func (l *local) handleEvent(name string, e trace.Event) {
	if l.see != nil {
		l.see(name, e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.last) > lost {
		l.flying = 0
	}
	l.last, l.flying = now, l.flying+map[trace.Kind]int{trace.Send: 1, trace.Deliver: -1}[e.Kind]
}

// statuses returns the statuses of all nodes, by name.
func (l *local) statuses(ctx context.Context) (map[string]cluster.Status, error) {
	all := make(map[string]cluster.Status)
	for _, node := range l.nodes {
		status, err := node.Status(ctx)
		if err != nil {
			return nil, err
		}
		all[node.Config().Name] = status
	}
	return all, nil
}

// prepare does nothing: a save in memory takes no time.
func (l *local) prepare(context.Context) error { return nil }

func (l *local) startElection(ctx context.Context, e theory.Election) error {
	return l.nodes[e.Initiators[0]-1].Campaign(ctx)
}

// rest is the time without events after which an election counts as ended. A message that does not
// arrive within lost counts as lost.
const (
	rest = 100 * time.Millisecond
	lost = 20 * rest
)

func (l *local) waitAgreed(ctx context.Context, above uint64) (uint64, error) {
	return l.quiet(ctx, above, rest)
}

// quiet waits until all nodes agree on a leader in an epoch above the given one, and no event has
// occurred for at least least. It returns that epoch.
func (l *local) quiet(ctx context.Context, above uint64, least time.Duration) (uint64, error) {
	for {
		l.mu.Lock()
		quiet, failed, flying := time.Since(l.last), l.failed, l.flying > 0
		l.mu.Unlock()
		leader, agreed := l.agreement()
		switch {
		case failed != nil:
			return 0, failed
		case !agreed || uint64(leader.Epoch) <= above || flying && quiet < lost:
			quiet = 0
		case quiet >= least:
			return uint64(leader.Epoch), nil
		}
		if err := proccluster.Sleep(ctx, least-quiet); err != nil {
			return 0, fmt.Errorf("bench: the nodes do not agree: %w", err)
		}
	}
}

// agreement returns the leadership that all nodes follow, if they agree.
func (l *local) agreement() (one cluster.Leadership, agreed bool) {
	for i, node := range l.nodes {
		leader, known := node.Leader()
		if !known || i > 0 && leader != one {
			return one, false
		}
		one = leader
	}
	return one, true
}

func (l *local) close() error {
	l.stop()
	l.running.Wait()
	return l.failed
}
