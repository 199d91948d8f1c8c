package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

const (
	// maxWatchers is the number of clients that may watch one node.
	maxWatchers = 512
	// watcherDelay is the time between a change and the first watcher that learns of it. The members elect the next leader
	// in that time, undisturbed, and watchers learn of both changes at once.
	watcherDelay = 50 * time.Millisecond
	// watcherBatch is the number of watchers that are informed at once, and watcherPause the time between two batches.
	watcherBatch, watcherPause = 16, time.Millisecond
)

// watchers are the clients that watch the leadership of a node.
type watchers struct {
	mu    sync.Mutex
	ids   map[transport.ID]struct{}
	epoch algo.Epoch // highest epoch of a known leader
}

// addWatcher adds a client and sends it the current leadership. The error rejects the request.
func (n *Node) addWatcher(id transport.ID) error {
	w := &n.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	switch _, known := w.ids[id]; {
	case known:
		return errors.New("this client watches already")
	case len(w.ids) >= maxWatchers:
		return fmt.Errorf("this node has %d watchers already: watch another member", len(w.ids))
	}
	if w.ids == nil {
		w.ids = make(map[transport.ID]struct{})
	}
	w.ids[id] = struct{}{}
	n.informWatchers(id)
	return nil
}

func (w *watchers) remove(id transport.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ids, id)
}

func (w *watchers) all() []transport.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.ids))
}

// serveWatchers informs all watchers after each change of the leadership and every wire.WatchInterval. It runs beside
// the loop, so that watchers delay no election. A node that stops tells them nothing more: they connect to another
// member when the connection ends.
func (n *Node) serveWatchers(ctx context.Context) {
	ticker := time.NewTicker(wire.WatchInterval)
	defer ticker.Stop()
	for {
		_, changed, ended := n.leadership.snapshot()
		if ended {
			return
		}
		for batch := range slices.Chunk(n.watchers.all(), watcherBatch) {
			n.watchers.mu.Lock()
			n.informWatchers(batch...)
			n.watchers.mu.Unlock()
			if pause(ctx, watcherPause) != nil {
				return
			}
		}
		select {
		case <-changed:
			if pause(ctx, watcherDelay) != nil {
				return
			}
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// pause returns after d, or the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// informWatchers sends the current leadership to some watchers. The caller holds watchers.mu, so each watcher receives
// the states in order.
func (n *Node) informWatchers(ids ...transport.ID) {
	s, _, ended := n.leadership.snapshot()
	if ended {
		return
	}
	frame := n.frameOf(n.watchReply(s))
	for _, id := range ids {
		n.net.Send(id, frame)
	}
}

func (n *Node) watchReply(s State) wire.WatchReply {
	w := &n.watchers
	w.epoch = max(w.epoch, s.Leader.Epoch)
	r := wire.WatchReply{Cluster: n.hello.Load().ClusterID, Epoch: w.epoch, Watchers: uint32(len(w.ids))}
	if s.HasLeader() {
		leader := wire.WatchLeader{ID: s.Leader.ID, Name: s.Leader.Name, Addr: s.Leader.Addr}
		meta := s.Leader.Meta()
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			leader.Meta = append(leader.Meta, wire.StatusMeta{Key: key, Value: meta[key]})
		}
		r.Leader = append(r.Leader, leader)
	}
	for m := range n.view.Load().All() {
		if len(r.Addrs) < wire.MaxWatchAddrs {
			r.Addrs = append(r.Addrs, m.Addr)
		}
	}
	return r
}
