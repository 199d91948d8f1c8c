package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
)

// Config configures Watch.
type Config struct {
	Client
	// Addrs are addresses of members, host:port. Watch learns the addresses of the other members.
	Addrs []string
}

// State is the leadership of a cluster, as a watcher knows it.
type State struct {
	Leader Leader     // the zero value if no leader is known
	Epoch  algo.Epoch // epoch of the leader, or of the last known one; never decreases
	// Err is the reason why the watcher is cut off: no member replies, or only members that are behind. Leader and
	// Epoch are then the last known ones. Err is nil while a member replies.
	Err error
	// Addr is the address of the member from which the watcher learned this.
	Addr string
}

// Leader is a leader, as a watcher knows it.
type Leader struct {
	ID   algo.NodeID
	Name string
	Addr string
	Meta map[string]string // its Config.Meta
}

// HasLeader reports whether a leader is known. With s.Err, it may have been replaced.
func (s State) HasLeader() bool { return !s.Leader.ID.IsZero() }

// ErrOtherCluster: the node is a member of another cluster than the one that was watched before.
var ErrOtherCluster = errors.New("the node is in another cluster than before")

const (
	// memberTimeout is the shortest time without a reply that names a leader after which a watcher leaves a member. It is
	// up to twice as long, so that many watchers do not leave at once.
	memberTimeout = 2 * wire.WatchInterval
	// minRedial and maxRedial limit the delay before the members are tried again after none of them replied.
	minRedial, maxRedial = 100 * time.Millisecond, 2 * time.Second
	// redialDelay is the delay after the loss of a member. The others may elect a leader meanwhile. redialSpread is
	// multiplied with the number of watchers of that member: their redials are spread over that time, at most maxRedial.
	redialDelay, redialSpread = 50 * time.Millisecond, 10 * time.Millisecond
)

// Watch iterates over the leaderships of a cluster from outside: first the current one, then each change. It watches
// one member, and moves to another one if that member fails, is behind, or names no leader for 4 to 8 s. A slow reader
// skips all but the latest State. The iteration ends with ctx. Watchers do not delay elections.
//
// When no member replies, Watch yields a State with Err once, and dials them again, after at most 2 s each time.
func Watch(ctx context.Context, c Config) iter.Seq[State] {
	return func(yield func(State) bool) {
		w := watcher{config: c, addrs: slices.Clone(c.Addrs), yield: yield}
		rand.Shuffle(len(w.addrs), func(i, j int) { w.addrs[i], w.addrs[j] = w.addrs[j], w.addrs[i] })
		w.run(ctx)
	}
}

type watcher struct {
	config   Config
	yield    func(State) bool
	addrs    []string // configured and learned; the next one to dial is the first
	cluster  algo.NodeID
	state    State
	yielded  bool // the reader has received a State
	stopped  bool // the reader has ended the iteration
	watchers int  // number of watchers of the last member
}

func (w *watcher) run(ctx context.Context) {
	var failures []error // since the last reply
	for ctx.Err() == nil && !w.stopped {
		if len(w.addrs) == 0 {
			w.report(State{Err: errors.New("client: there is no address to watch")})
			<-ctx.Done()
			return
		}
		addr := w.addrs[0]
		w.addrs = append(w.addrs[1:], addr)
		start := time.Now()
		replied, err := w.follow(ctx, addr)
		if ctx.Err() != nil || w.stopped {
			return
		}
		delay := time.Duration(0)
		if replied {
			failures = nil
			delay = redialDelay + rand.N(min(time.Duration(w.watchers)*redialSpread, maxRedial)+1)
			delay = max(delay, minRedial-time.Since(start)) // the member may close each connection at once
		} else if failures = append(failures, failure(addr, err)); len(failures)%len(w.addrs) == 0 {
			cutOff := w.state
			cutOff.Err = errors.Join(failures[max(0, len(failures)-len(w.addrs)):]...)
			w.report(cutOff)
			delay = min(minRedial<<min(len(failures)/len(w.addrs), 10), maxRedial)
			delay = delay/2 + rand.N(delay/2)
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

// failure returns the error of an address, without the parts of err that repeat the address.
func failure(addr string, err error) error {
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		err = operation.Err
	}
	return fmt.Errorf("client: %s: %w", addr, err)
}

// follow watches one member until the connection ends, or the member is of no more use. It reports whether the member
// sent a valid reply.
func (w *watcher) follow(ctx context.Context, addr string) (replied bool, err error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return false, fmt.Errorf("want host:port: %w", err)
	}
	frame, err := clients.Append(nil, wire.WatchRequest{})
	if err != nil {
		return false, err
	}
	e := &exchange{request: frame, news: make(chan struct{}, 1)}
	if err := w.config.connect(e, addr, 0); err != nil {
		return false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 0)
		_ = e.network.Close(closing)
		cancel()
	}()
	memberTimer := time.NewTimer(memberTimeout + rand.N(memberTimeout))
	defer memberTimer.Stop()
	for {
		select {
		case <-ctx.Done():
			return replied, ctx.Err()
		case <-memberTimer.C:
			return replied, errors.New("the member does not reply, or knows no leader")
		case <-e.news:
		}
		reply, err := e.pop()
		if err != nil {
			return replied, err
		}
		switch reply := reply.(type) {
		case nil:
			continue
		case wire.AdminReply:
			return replied, errors.New(reply.Reason)
		case wire.WatchReply:
			if err := w.apply(addr, reply); err != nil || w.stopped {
				return replied, err
			}
			replied = true
			if w.state.HasLeader() {
				memberTimer.Reset(memberTimeout + rand.N(memberTimeout))
			}
		default:
			return replied, fmt.Errorf("%w: the reply is a %s", ErrNotNode, reply.Kind())
		}
	}
}

// apply handles a reply. The error rejects the reply of a member of another cluster, or of one that is behind.
func (w *watcher) apply(addr string, r wire.WatchReply) error {
	if !w.cluster.IsZero() && !r.Cluster.IsZero() && r.Cluster != w.cluster {
		return ErrOtherCluster
	}
	w.cluster = cmp.Or(w.cluster, r.Cluster)
	w.watchers = int(r.Watchers)
	w.updateAddrs(addr, r.Addrs)
	next := State{Epoch: r.Epoch, Addr: addr}
	if len(r.Leader) > 0 {
		l := r.Leader[0]
		next.Leader = Leader{ID: l.ID, Name: l.Name, Addr: l.Addr, Meta: make(map[string]string)}
		for _, m := range l.Meta {
			next.Leader.Meta[m.Key] = m.Value
		}
	}
	if next.Epoch < w.state.Epoch || next.HasLeader() && next.leader().OlderThan(w.state.leader()) {
		return fmt.Errorf("the member is behind: it knows epoch %d, and this watcher %d", next.Epoch, w.state.Epoch)
	}
	w.report(next)
	return nil
}

func (s State) leader() algo.Leader { return algo.Leader{Epoch: s.Epoch, ID: s.Leader.ID} }

// updateAddrs replaces the learned addresses, and keeps the configured ones. The address of the current member stays
// last.
func (w *watcher) updateAddrs(current string, members []string) {
	isKnown := func(addr string) bool { return slices.Contains(members, addr) || slices.Contains(w.config.Addrs, addr) }
	w.addrs = slices.DeleteFunc(w.addrs, func(addr string) bool { return addr != current && !isKnown(addr) })
	for _, addr := range members {
		if !slices.Contains(w.addrs, addr) {
			i := rand.IntN(len(w.addrs)) // not behind the current one
			w.addrs = slices.Insert(w.addrs, i, addr)
		}
	}
}

// report yields a state that differs from the last one.
func (w *watcher) report(s State) {
	o := w.state
	isNew := !w.yielded || s.Epoch != o.Epoch || s.Leader.ID != o.Leader.ID || s.Leader.Addr != o.Leader.Addr ||
		!maps.Equal(s.Leader.Meta, o.Leader.Meta) || (s.Err == nil) != (o.Err == nil)
	w.state = s
	if isNew && !w.stopped {
		w.yielded = true
		w.stopped = !w.yield(s)
	}
}
