package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wait"
	"github.com/elect-go/elect/trace"
)

// local is a live cluster in this process: nodes on sockets of the loopback, which keep
// what they save in memory.
type local struct {
	nodes   []*resident // n1 first
	journal *journal
	kinds   map[string]bool
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	leaders map[string]fleet.Event // by node: its last word about a leader
	last    time.Time              // when something happened
	failed  error                  // a node ended of its own accord
}

// resident is a node of a local cluster.
type resident struct {
	name  string
	addr  string // set when it listens
	node  *cluster.Node
	heard chan struct{} // closed when it listens
}

// startLocal starts a cluster of an algorithm with messages of those kinds. What its nodes
// take off their sockets is counted by taps.
func (c WireCase) startLocal(ctx context.Context, n int, j *journal, taps *taps, kinds map[string]bool) (live, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &local{journal: j, kinds: kinds, stop: stop, leaders: make(map[string]fleet.Event)}
	for i := range n {
		config := cluster.Config{
			Name: nodeName(i + 1), Listen: "127.0.0.1:0", Algorithm: c.Algorithm, Priority: i + 1, Timing: cluster.Presets()[c.Preset],
			Options: withOptions(c.Options), Lesson: true,
		}
		if i > 0 {
			config.Join = []string{l.nodes[0].addr}
		}
		if err := l.start(ctx, running, config, taps); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

// start runs one node and returns when it listens.
func (l *local) start(ctx, running context.Context, config cluster.Config, taps *taps) error {
	r := &resident{name: config.Name, heard: make(chan struct{})}
	clock := fleet.NewStamper()
	var err error
	r.node, err = cluster.New(config,
		cluster.WithStore(store.NewMemory()),
		cluster.WithNetwork(func(addr string) (net.Listener, error) {
			inner, err := cluster.Listen(addr)
			if err != nil {
				return nil, err
			}
			r.addr = inner.Addr().String()
			close(r.heard)
			return taps.listener(inner), nil
		}, taps.dial),
		cluster.WithTrace(func(e trace.Event) {
			if e.Kind != trace.Send && e.Kind != trace.Deliver || !elects(e.Message, l.kinds) {
				return
			}
			what := fleet.Send
			if e.Kind == trace.Deliver {
				what = fleet.Deliver
			}
			l.see(r.name, fleet.Event{At: clock.Stamp(time.Now()), What: what, Kind: e.Message.Kind(), Peer: e.Peer.String()})
		}))
	if err != nil {
		return err
	}
	l.nodes = append(l.nodes, r)
	l.running.Go(func() {
		if err := r.node.Run(running); err != nil {
			l.fail(fmt.Errorf("bench: %s: %w", r.name, err))
		}
	})
	l.running.Go(func() {
		for s := range r.node.Watch(running) {
			if s.At.IsZero() {
				continue // before the first election
			}
			e := fleet.Event{At: clock.Stamp(s.At), What: fleet.Leader, Name: s.Leader.Name, Epoch: uint64(s.Leader.Epoch), Leads: s.Leads}
			l.see(r.name, e)
		}
	})
	select {
	case <-r.heard:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *local) see(name string, e fleet.Event) {
	l.journal.see(name, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	if e.What == fleet.Leader {
		l.leaders[name] = e
	}
}

func (l *local) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = errors.Join(l.failed, err)
}

func (l *local) addrs() map[string]string {
	addrs := make(map[string]string)
	for _, r := range l.nodes {
		addrs[r.name] = r.addr
	}
	return addrs
}

func (l *local) campaign(ctx context.Context, name string) error {
	return l.nodes[number(name)-1].node.Campaign(ctx)
}

func (l *local) crash(context.Context) error   { return errNoCrash }
func (l *local) restore(context.Context) error { return nil }

// rest is for how long nothing must happen until an election counts as over.
const rest = 100 * time.Millisecond

func (l *local) settle(ctx context.Context, above uint64) (uint64, error) {
	for {
		l.mu.Lock()
		epoch, agreed := l.agreement()
		quiet, failed := time.Since(l.last), l.failed
		l.mu.Unlock()
		switch {
		case failed != nil:
			return 0, failed
		case !agreed || epoch <= above:
			quiet = 0
		case quiet >= rest:
			return epoch, nil
		}
		if err := wait.For(ctx, rest-quiet); err != nil {
			return 0, fmt.Errorf("bench: the nodes do not agree: %w", err)
		}
	}
}

// agreement returns the epoch in which all nodes follow one leader.
func (l *local) agreement() (epoch uint64, agreed bool) {
	first := l.leaders[l.nodes[0].name]
	for _, r := range l.nodes {
		e, known := l.leaders[r.name]
		if !known || e.Name == "" || e.Name != first.Name || e.Epoch != first.Epoch {
			return 0, false
		}
	}
	return first.Epoch, true
}

func (l *local) close() error {
	l.stop()
	l.running.Wait()
	return l.failed
}
